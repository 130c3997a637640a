"""What a slicer does to Arrow batches inside a task: choose buckets, read times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NO_TIME = np.iinfo(np.int64).min


def bucket_of(column: str | None, buckets: int) -> Callable[[pa.RecordBatch], NDArray[Any]]:
    def choose(batch: pa.RecordBatch) -> NDArray[Any]:
        if column is None:
            return np.zeros(batch.num_rows, np.int64)
        return np.mod(batch.column(column).to_numpy(), buckets)

    return choose


def time_of(column: str | None) -> Callable[[pa.RecordBatch], NDArray[np.int64] | None]:
    def read(batch: pa.RecordBatch) -> NDArray[np.int64] | None:
        if column is None:
            return None
        values = batch.column(column)
        if pa.types.is_timestamp(values.type):
            values = pc.fill_null(values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64()), int(NO_TIME))
        times: NDArray[np.int64] = values.to_numpy(zero_copy_only=False)
        return times

    return read
