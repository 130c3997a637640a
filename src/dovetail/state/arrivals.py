"""Law: what a bucket group reads of a commit is its buckets' rows, in log order, without touching payload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.interval import Arrivals
from dovetail.log.category import Category
from dovetail.log.commit import Commit

HASH, TIME = "_hash", "_time"


def arrivals(category: Category, commits: Sequence[Commit], low: int, high: int) -> Arrivals:
    """Hash, time and row number of the rows of buckets `low` to `high - 1`."""
    hashes, times, rows = [], [], []
    for commit in commits:
        for info in commit.segments:
            segment = category.open_segment(info)
            start, stop = segment.bucket_range(low, high)
            if start == stop:
                continue
            hashes.append(segment.mapped.column(HASH).to_numpy()[start:stop])
            times.append(segment.mapped.column(TIME).to_numpy()[start:stop])
            rows.append(np.arange(info.first_row + start, info.first_row + stop, dtype=np.int64))
    if not rows:
        empty = np.empty(0, np.int64)
        return Arrivals(empty, empty, empty)
    return Arrivals(np.concatenate(hashes), np.concatenate(times), np.concatenate(rows))


def buckets_of(category: Category, start: int, stop: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bucket of each row, by its number; the rows lie in commits `start` to `stop - 1`."""
    edges = []  # first row of every bucket of every segment, ascending: one binary search a row
    for commit in category.commits(start, stop):
        for info in commit.segments:
            counts = np.asarray(info.rows_per_bucket, np.int64)
            edges.append(info.first_row + np.cumsum(counts) - counts)
    if not edges:
        return np.empty(0, np.int64)
    return (np.searchsorted(np.concatenate(edges), rows, side="right") - 1) % category.buckets
