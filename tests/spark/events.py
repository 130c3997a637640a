"""Seeded streams as Parquet files: rows in the order in which they arrive, dated with a bounded disorder."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SECOND_US = 1_000_000
START_US = 1_700_000_000 * SECOND_US
MOST_DELAY_US = 100 * SECOND_US  # below the default max_delay of two minutes


def events(rows: int, keys: int, seed: int, *, hours: float = 1.0, nulls: float = 0.005) -> pa.Table:
    """Columns `eventtime`, `k`, `id` (the order of arrival) and `v`; a few keys and times are null."""
    rng = np.random.default_rng(seed)
    clock = np.sort(rng.integers(0, int(hours * 3600 * SECOND_US), rows)) // 1000 * 1000
    delay = np.minimum(rng.exponential(10 * SECOND_US, rows).astype(np.int64), MOST_DELAY_US)
    return pa.table(
        {
            "eventtime": pa.array(START_US + clock - delay, mask=rng.random(rows) < nulls).cast(
                pa.timestamp("us", "UTC")
            ),
            "k": pa.array(rng.integers(0, keys, rows), mask=rng.random(rows) < nulls),
            "id": np.arange(rows),
            "v": rng.integers(0, 1000, rows).astype(np.int32),
        }
    )


def write_files(table: pa.Table, folder: Path, files: int, first: int = 0) -> None:
    """Cut a table into files, named and dated in the order of its rows: Spark takes older files first."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = [table.num_rows * n // files for n in range(files + 1)]
    for n, (low, high) in enumerate(pairwise(cuts), first):
        path = folder / f"part-{n:05d}.parquet"
        hidden = folder / f".{path.name}"
        pq.write_table(table.slice(low, high - low), hidden)
        os.utime(hidden, (1_700_000_000 + n, 1_700_000_000 + n))
        hidden.rename(path)
