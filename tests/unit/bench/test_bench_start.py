"""`bench start`: what its figures are made of."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bench.recovery_files import has_rows
from bench.start import Started, middles, ratios


def test_ratios_are_those_of_medians() -> None:
    started = [Started("dovetail", "cold", seconds) for seconds in (8.0, 30.0, 10.0)]
    started += [Started("dovetail", "again", 4.0), Started("spark", "cold", 20.0)]
    assert middles(started)["dovetail", "cold"] == 10.0
    assert ratios(started) == {"cold, beside Spark": 0.5, "again, beside cold": 0.4}
    assert ratios([*started, Started("dovetail", "bare", 16.0)])["again, beside bare"] == 0.25


@pytest.mark.parametrize("rows", [0, 3])
def test_a_file_counts_once_it_is_whole_and_has_rows(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "part.parquet"
    assert not has_rows(path)
    path.write_bytes(b"PAR1")
    assert not has_rows(path)
    pq.write_table(pa.table({"a": list(range(rows))}, schema=pa.schema([("a", pa.int64())])), path)
    assert has_rows(path) is (rows > 0)
