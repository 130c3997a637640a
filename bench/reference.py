"""The batch join that both systems must agree with, counted by DuckDB or, without it, NumPy."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.workload import Dataset, Side


@dataclass(frozen=True)
class Counts:
    """Matched pairs, and left rows without a partner, over the real rows."""

    matched: int
    unmatched: int


def batch_join(dataset: Dataset, window_us: int, join: str = "interval") -> Counts:
    if join == "tumbling":
        return by_windows(dataset, window_us)
    if importlib.util.find_spec("duckdb"):
        return by_duckdb(dataset, window_us)
    return by_sorting(dataset, window_us)


def by_duckdb(dataset: Dataset, window_us: int) -> Counts:
    import duckdb

    sql = f"""
        SELECT count(r.key), count(*) - count(r.key)
        FROM read_parquet('{dataset.files("left")}/*.parquet') AS l
        LEFT JOIN read_parquet('{dataset.files("right")}/*.parquet') AS r
          ON l.key = r.key AND r.eventtime BETWEEN l.eventtime - to_microseconds({window_us})
                                               AND l.eventtime + to_microseconds({window_us})
        WHERE l.key >= 0
        """
    with duckdb.connect() as database:
        found = database.execute(sql).fetchone()
    assert found is not None
    return Counts(int(found[0]), int(found[1]))


def by_sorting(dataset: Dataset, window_us: int) -> Counts:
    """Key and time packed into one number: a left row's partners are one run of the sorted right rows."""
    left, right = (_key_and_time(dataset, side) for side in ("left", "right"))
    base = min(left[1].min(), right[1].min()) - window_us
    stride = int(max(left[1].max(), right[1].max()) + window_us - base) + 1
    packed = np.sort(right[0] * stride + (right[1] - base))
    at = left[0] * stride + (left[1] - base)
    partners = np.searchsorted(packed, at + window_us, "right") - np.searchsorted(
        packed, at - window_us, "left"
    )
    return Counts(int(partners.sum()), int((partners == 0).sum()))


def by_windows(dataset: Dataset, window_us: int) -> Counts:
    """Key and the number of the window packed into one: a left row's partners are the equal right ones."""
    left, right = (_key_and_time(dataset, side) for side in ("left", "right"))
    windows = [time // window_us for _, time in (left, right)]
    base = min(numbers.min() for numbers in windows)
    stride = int(max(numbers.max() for numbers in windows) - base) + 1
    at, packed = (
        key * stride + (numbers - base) for (key, _), numbers in zip((left, right), windows, strict=True)
    )
    packed = np.sort(packed)
    partners = np.searchsorted(packed, at, "right") - np.searchsorted(packed, at, "left")
    return Counts(int(partners.sum()), int((partners == 0).sum()))


def _key_and_time(dataset: Dataset, side: Side) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(dataset.files(side), columns=["key", "eventtime"])
    key = table["key"].to_numpy()
    real = key >= 0
    return key[real], table["eventtime"].cast(pa.int64()).to_numpy()[real]
