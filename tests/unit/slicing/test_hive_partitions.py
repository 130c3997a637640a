"""Folders that say the values of columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import dovetail.local
from dovetail.slicing.hive_partitions import values_of


def test_values() -> None:
    file = "/d/day=2026-01-02/country=D%20E/n=2/x=__HIVE_DEFAULT_PARTITION__/f.parquet"
    assert values_of("/d", file) == {"day": "2026-01-02", "country": "D E", "n": "2", "x": None}
    assert values_of("/d/day=1", "/d/day=1/f.parquet") == {}


def test_a_partitioned_input_without_spark(tmp_path: Path) -> None:
    at = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    for n in (1, 2):
        for side in ("l", "r"):
            folder = tmp_path / side / f"n={n}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"t": at, "k": pa.array([7], pa.int32())}), folder / "f.parquet")
    text = f"""CREATE APPLICATION app;
    CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT, n STRING) FROM FILES("{tmp_path}/l", format = "parquet");
    CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT, n STRING) FROM FILES("{tmp_path}/r", format = "parquet");
    CREATE VIEW v AS SELECT l.n AS a, r.n AS b FROM l JOIN r ON l.k = r.k
        AND r.t BETWEEN l.t AND l.t + INTERVAL '1 minute';
    CREATE TABLE o AS SELECT a, b FROM v STORAGE NOOP;"""
    (found,) = dovetail.local.run(text).values()
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [
        ("1", "1"),
        ("1", "2"),
        ("2", "1"),
        ("2", "2"),
    ]
