"""Which of the rows that have come are a thread's own.

Law: of the threads that share a side, each row is chosen by exactly one; of those that replicate it, by all.

Rows are dealt out in small blocks in the order of their arrival, so that all threads have work as rows come.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import UInt32s, spread
from dovetail.kernels.flags import kernel

DEALT = 6
"""Rows are dealt out by 64."""


@kernel
def dealt(start: int, stop: int, parts: int, part: int, out: UInt32s) -> int:
    """Rows of `start..stop` that fall to `part` of `parts`, whatever their keys."""
    chosen = 0
    for row in range(start, stop):
        out[chosen] = np.uint32(row)
        chosen += (row >> DEALT) % parts == part
    return chosen


@kernel
def grouped(
    keys: UInt32s, start: int, stop: int, groups: int, group: int, parts: int, part: int, out: UInt32s
) -> int:
    """Of those, the rows whose keys belong to `group` of `groups`."""
    chosen = 0
    many = np.uint64(groups)
    own = np.uint64(group)
    for row in range(start, stop):
        out[chosen] = np.uint32(row)
        here = (spread(np.uint64(keys[row])) * many) >> np.uint64(32) == own
        chosen += here and (row >> DEALT) % parts == part
    return chosen


@kernel
def by_value(keys: UInt32s, rows: UInt32s, count: int, out: UInt32s) -> None:
    for i in range(count):
        out[i] = keys[rows[i]]
