"""Parquet files whose columns a slicer computes on the short way."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.log.category import Category
from dovetail.model.validity import Validity
from dovetail.plan.evaluate import compile_select
from dovetail.slicing.direct import as_read, computed_slice
from dovetail.slicing.parquet_files import row_groups
from dovetail.slicing.sides import append_written

SIDE = pa.schema([("_hash", pa.int64()), ("_time", pa.int64()), ("k", pa.int64()), ("x", pa.string())])


def test_files_with_computed_columns_are_sliced_directly(tmp_path: Path) -> None:
    """Times of any unit are Spark's microseconds before anything is computed."""
    file = str(tmp_path / "in.parquet")
    times = pa.array([10_000, None, 30_000], pa.timestamp("ns"))
    table = pa.table({"k": [1, 2, None], "t": times, "x": ["a", "b", None]})
    pq.write_table(table, file)
    category = Category.create(str(tmp_path), "side", SIDE, buckets=4, role="side")
    select = "SELECT k * 2 AS k, t + INTERVAL '1' SECOND AS t, x FROM g WHERE x < 'b'"
    computed = compile_select(select, {"g": as_read(pq.read_schema(file))})
    assert computed is not None
    given = category, computed, ("k",), "t", Validity()
    assert computed_slice(table.schema.set(0, pa.field("k", pa.int32())), *given) is None
    short = computed_slice(table.schema, *given)
    assert short is not None
    append_written(category, [short.write(row_groups([file])).to_json()], "app.side", 0)
    (info,) = category.commit(0).segments
    rows = category.open_segment(info).batch.to_pylist()
    assert [(row["k"], row["_time"], row["x"]) for row in rows] == [(2, 1_000_010, "a")]
