"""Comparisons of both sides beside a key, in joins that keep or pick rows by them: DuckDB's answers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dovetail.local

ROWS = 400
START_US = 1_700_000_000_000_000
PQL = """
CREATE APPLICATION app;
CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, x INT, id BIGINT) FROM FILES("{here}/l", format = "parquet");
CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, x INT, id BIGINT) FROM FILES("{here}/r", format = "parquet");
CREATE TABLE o AS SELECT {items} FROM l {how} JOIN r ON l.k = r.k AND {also}
    AND r.t BETWEEN l.t - INTERVAL '20 seconds' AND l.t + INTERVAL '40 seconds' {more} STORAGE NOOP;
"""
WINDOW = "r.t BETWEEN l.t - INTERVAL 20 SECOND AND l.t + INTERVAL 40 SECOND"
ALSO = ("l.x < r.x", "l.x + r.x = 7", "(abs(l.x - r.x) <= 1 OR l.x = r.x + 4)")


def rows(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    times = START_US + np.sort(rng.integers(0, 600_000_000, ROWS))
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array([None if n == 9 else int(n) for n in rng.integers(0, 10, ROWS)], pa.int64()),
            "x": pa.array([None if n == 9 else int(n) for n in rng.integers(0, 10, ROWS)], pa.int32()),
            "id": pa.array(range(ROWS), pa.int64()),
        }
    )


SIDES = {"l": rows(1), "r": rows(2)}


def joined(folder: Path, how: str, also: str, items: str, more: str = "") -> list[tuple[int | None, ...]]:
    for name, table in SIDES.items():
        (folder / name).mkdir()
        pq.write_table(table, folder / name / "0.parquet")
    text = PQL.format(here=folder, how=how, also=also, items=items, more=more)
    (table,) = dovetail.local.run(text, home=folder / "home").values()
    return sorted(map(tuple, (row.values() for row in table.to_pylist())), key=str)


def asked(sql: str) -> list[tuple[int | None, ...]]:
    with duckdb.connect() as db:
        for name, table in SIDES.items():
            db.register(name, table)
        return sorted(db.execute(sql).fetchall(), key=str)


@pytest.mark.parametrize("also", ALSO)
@pytest.mark.parametrize("how", ["LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
def test_rows_that_stay_alone(how: str, also: str, tmp_path: Path) -> None:
    alone = how in ("LEFT SEMI", "LEFT ANTI")
    items = "l.id AS a" if alone else "l.id AS a, r.id AS b"
    on = f"l.k = r.k AND {also} AND {WINDOW}"
    expected = asked(f"SELECT {items} FROM l {how.removeprefix('LEFT ') if alone else how} JOIN r ON {on}")
    assert expected
    assert joined(tmp_path, how, also, items) == expected


def test_a_pick_among_the_rows_that_pass(tmp_path: Path) -> None:
    on = f"l.k = r.k AND l.x < r.x AND {WINDOW}"
    expected = asked(f"SELECT l.id, arg_max(r.id, r.t) FROM l LEFT JOIN r ON {on} GROUP BY l.id")
    more = 'WITH (match = "one", pick = "latest")'
    assert joined(tmp_path, "LEFT", "l.x < r.x", "l.id AS a, r.id AS b", more) == expected
