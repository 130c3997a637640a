"""Parquet files of an input table without a list of columns, the first of which has fewer and narrower ones:
no value of the others is lost."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.application import Application

QUERY = """CREATE APPLICATION several;
CREATE INPUT TABLE l FROM FILES("{here}/l", format = "parquet");
CREATE INPUT TABLE r FROM FILES("{here}/r", format = "parquet");
CREATE VIEW joined AS SELECT l.id AS id, l.more AS more FROM %s AS l JOIN r ON l.k = r.k
    AND r.t BETWEEN l.t - INTERVAL '1 hour' AND l.t + INTERVAL '1 hour';
CREATE TABLE o AS SELECT id, more FROM joined STORAGE LOG(category = "o");"""
COMPUTED = "(SELECT t, k, id + 1 AS id, upper(more) AS more FROM l)"
MOMENT = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)


@pytest.mark.parametrize("slicing", ["resident", "spark"])
@pytest.mark.parametrize("read", ["l", COMPUTED])
def test_every_value_of_every_file(
    application: Application, monkeypatch: pytest.MonkeyPatch, slicing: str, read: str
) -> None:
    monkeypatch.setenv("DOVETAIL_SLICING", slicing)
    times = {"t": pa.array([MOMENT], pa.timestamp("us", "UTC")), "k": ["a"]}
    files = [
        ("l", times | {"id": pa.array([1], pa.int32())}),
        ("l", times | {"id": pa.array([1 << 40]), "more": ["x"]}),
        ("r", times),
    ]
    for number, (side, columns) in enumerate(files):
        (application.folder / side).mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), application.folder / side / f"{number}.parquet")
    application.run(QUERY % read)
    found = application.category("o").select(["id", "more"]).sort_by("id").to_pylist()
    plus, more = (0, "x") if read == "l" else (1, "X")
    assert found == [{"id": 1 + plus, "more": None}, {"id": (1 << 40) + plus, "more": more}]
