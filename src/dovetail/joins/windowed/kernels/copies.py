"""Rows once for every window that holds them, and labels by which equal windows and tags are equal numbers.

Law: a row comes once for each window numbered from `(time - length) // every + 1` to `time // every`, of
those from `first` to `last`; in the order of the rows, and of the windows of a row.

This is one pass over the columns, where NumPy takes a dozen: fresh memory for the intermediate results would
cost more than the work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]
UInt32s = NDArray[np.uint32]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


class InWindows(NamedTuple):
    """Rows in windows: tag, row number and window of each, and the lowest and the highest window."""

    tag: UInt32s
    row: Int64s
    window: Int64s
    low: int
    high: int


def in_windows(
    tags: UInt32s, times: Int64s, rows: Int64s, length: int, every: int, first: int, last: int
) -> InWindows:
    """`low` is above `high` where there are none."""
    count = len(times) if length == every else _count(times, length, every, first, last)
    tag, row, window = np.empty(count, np.uint32), np.empty(count, np.int64), np.empty(count, np.int64)
    count, low, high = _fill(tags, times, rows, length, every, first, last, tag, row, window)
    return InWindows(tag[:count], row[:count], window[:count], low, high)


@kernel
def _count(times: Int64s, length: int, every: int, first: int, last: int) -> int:
    count = 0
    for time in times:
        count += max(0, min(time // every, last) - max((time - length) // every + 1, first) + 1)
    return count


@kernel
def _fill(
    tags: UInt32s,
    times: Int64s,
    rows: Int64s,
    length: int,
    every: int,
    first: int,
    last: int,
    tag: UInt32s,
    row: Int64s,
    window: Int64s,
) -> tuple[int, int, int]:
    low, high = _HIGHEST, _LOWEST
    at = 0
    for i in range(len(times)):
        until = times[i] // every
        since = until if length == every else (times[i] - length) // every + 1
        for number in range(max(since, first), min(until, last) + 1):
            tag[at], row[at], window[at] = tags[i], rows[i], number
            low, high = min(low, number), max(high, number)
            at += 1
    return at, low, high


@kernel
def labels(tags: UInt32s, windows: Int64s, base: int) -> Int64s:
    """Windows are less than 2^31 above `base`."""
    made = np.empty(len(tags), np.int64)
    for i in range(len(tags)):
        made[i] = ((windows[i] - base) << 32) | np.int64(tags[i])
    return made


@kernel
def mark(windows: Int64s, base: int, seen: NDArray[np.bool_]) -> None:
    """Which windows there are, counted from `base`."""
    for window in windows:
        seen[window - base] = True
