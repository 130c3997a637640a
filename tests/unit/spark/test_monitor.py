"""What the monitor counts, also where retention has been at work."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.slicing.write_rows import bucket_of, time_of
from dovetail.spark.monitor import rows_and_waiting


def test_rows_and_backlog_of_a_trimmed_category(tmp_path: Path) -> None:
    home = str(tmp_path)
    category = Category.create(home, "c", pa.schema([("x", pa.int64())]), buckets=1)
    assert rows_and_waiting(home, "c", 0) == (0, 0)
    for batch in range(4):
        rows = pa.record_batch({"x": pa.array(range(batch + 1), pa.int64())})
        infos = category.write_segments([rows], bucket_of(None, 1), time_of(None))
        category.append(infos, producer="p", batch=batch)
    assert rows_and_waiting(home, "c", 0) == (10, 10)
    assert rows_and_waiting(home, "c", 3) == (10, 4)
    assert rows_and_waiting(home, "c", 4) == (10, 0)
    category.set_reader("join", 2)
    category.retain()
    assert rows_and_waiting(home, "c", 0) == (10, 7)  # a run that has not read its offset yet
