"""The records of `bench connectors`, and its figures."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from bench import connectors
from bench.connectors import FILES, SCHEMA, SPARK, Figures, files, from_files, marks, rows_in, table, values
from bench.connectors_log import LogFigures


def test_records_are_json_of_two_hundred_bytes() -> None:
    made = list(values(0, 1000))
    assert {set(json.loads(value)) == set(SCHEMA.names) for value in made} == {True}
    assert all(190 <= len(value) <= 210 for value in made)


def test_files_have_the_same_rows(tmp_path: Path) -> None:
    files(tmp_path / "files", 500)
    found = [
        row["id"] for n in range(FILES) for row in pq.read_table(tmp_path / f"files/{n}.parquet").to_pylist()
    ]
    assert found == list(range(500))
    from_files(str(tmp_path / "home"), tmp_path / "files")
    assert rows_in(str(tmp_path / "home")) == 500


def test_the_ratio_is_that_of_rates() -> None:
    found = Figures(1000, {"kafka": [4.0, 2.0, 3.0], "parquet": [1.0, 1.5, 2.0]})
    assert found.rows_per_cpu_s("kafka") == 1000 / 3
    assert found.ratio == 0.5
    assert found.beside_spark is None
    assert table(found).row_count == 3
    with_spark = Figures(1000, {**found.cpu_s, SPARK: [6.0]})
    assert with_spark.beside_spark == 2.0
    assert table(with_spark).row_count == 5


@pytest.mark.parametrize(
    ("kafka_s", "log_s", "status"), [(1.4, 1.9, 0), (1.5, 1.9, 1), (1.4, 2.1, 1)], ids=["both", "in", "log"]
)
def test_it_fails_where_a_mark_is_missed(
    kafka_s: float,
    log_s: float,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kafka in at 0.7 of Parquet in, the log on Kafka at half of that on disk."""
    into = Figures(1000, {"kafka": [kafka_s, kafka_s * 2, kafka_s], "parquet": [1.0, 1.0, 1.0]})
    log = LogFigures("wide", 1000, 84_000, {"kafka": [log_s], "disk": [1.0]}, {"kafka": [1.0], "disk": [1.0]})
    monkeypatch.setattr(connectors, "started", lambda folder: nullcontext("nowhere"))
    monkeypatch.setattr(connectors, "measured", lambda *given: into)
    monkeypatch.setattr(connectors, "log_rates", lambda *given: log)
    assert connectors.main(["--spark", "0"]) == status
    said = capsys.readouterr().out
    assert said.count("DOES NOT HOLD") == (0 if status == 0 else 1 if kafka_s > 1.4 else 2)
    first = marks(into, [log])[0]
    assert first.words.startswith(f"Kafka in to Parquet in: {1 / kafka_s:.2f} ({0.5 / kafka_s:.2f} .. ")
    assert connectors.main(["--spark", "0", "--json"]) == status
    assert json.loads(capsys.readouterr().out)["holds"] is (status == 0)
