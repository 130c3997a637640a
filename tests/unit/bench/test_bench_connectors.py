"""The records of `bench connectors`, and its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from bench.connectors import FILES, SCHEMA, SPARK, Figures, files, from_files, rows_in, table, values


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
