"""What a slicer does to Arrow batches inside a task: choose buckets, read times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.joins.rows.key_hash import hash_keys
from dovetail.model.time_codes import NO_TIME, NULL_KEY
from dovetail.slicing.placement import HASH, TIME


def bucket_of(column: str | None, buckets: int) -> Callable[[pa.RecordBatch], NDArray[Any]]:
    def choose(batch: pa.RecordBatch) -> NDArray[Any]:
        if column is None:
            return np.zeros(batch.num_rows, np.int64)
        hashes = batch.column(column).to_numpy()
        if buckets & (buckets - 1) == 0:  # the same without a division a row
            chosen: NDArray[Any] = hashes & (buckets - 1)
        else:
            chosen = np.mod(hashes, buckets)
        return chosen

    return choose


def hash_of(column: str) -> Callable[[pa.RecordBatch], NDArray[np.int64]]:
    def read(batch: pa.RecordBatch) -> NDArray[np.int64]:
        hashes: NDArray[np.int64] = batch.column(column).to_numpy()
        return hashes

    return read


def time_of(column: str | None) -> Callable[[pa.RecordBatch], NDArray[np.int64] | None]:
    def read(batch: pa.RecordBatch) -> NDArray[np.int64] | None:
        if column is None:
            return None
        values = batch.column(column)
        if pa.types.is_timestamp(values.type):
            values = pc.fill_null(values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()), NO_TIME)
        times: NDArray[np.int64] = values.to_numpy(zero_copy_only=False)
        return times

    return read


def sliced_batch(
    rows: pa.Table, columns: Sequence[tuple[str, str]], keys: Sequence[str], time: str, schema: pa.Schema
) -> pa.RecordBatch:
    """A slicer's columns from a file's: `_hash` and `_time` computed here, the others taken over."""
    rows = rows.combine_chunks()
    taken = {name: one_array(rows, source, schema.field(name).type) for name, source in columns}
    moments = one_array(rows, time, pa.timestamp("us", "UTC"))
    key_columns = [taken[key] for key in keys]
    times = pc.fill_null(moments.cast(pa.int64()), NO_TIME)
    for key in key_columns:
        if key.null_count:
            times = pc.if_else(key.is_valid(), times, pa.scalar(NULL_KEY, pa.int64()))
    hashes = {HASH: pa.array(hash_keys(key_columns))} if keys else {}
    made = {**hashes, TIME: times, **taken}
    return pa.record_batch([made[name] for name in schema.names], schema=schema)


def one_array(rows: pa.Table, column: str, kind: pa.DataType) -> pa.Array:
    """A column as one array of a type. Finer times are cut to microseconds, times without a zone are UTC."""
    values = rows.column(column)
    array = values.chunk(0) if values.num_chunks else pa.array([], values.type)
    if array.type.equals(kind):
        return array
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = pc.floor_temporal(array, 1, "microsecond")
    return array.cast(kind)
