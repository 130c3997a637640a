"""Which of the rows that have come are a thread's own.

Law: of the threads that share a side, each row is chosen by exactly one; of those that replicate it, by all.

Rows are dealt out in small blocks in the order of their arrival, so that all threads have work as rows come.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.intra_window.kernels.packed import HALF, LOW, UInt32s, spread
from dovetail.kernels.flags import kernel

UInt16s = NDArray[np.uint16]

DEALT = 6
"""Rows are dealt out by 64."""

_MIX = np.uint64(0x85EBCA6B)


@kernel
def _group_bits(key: np.uint64) -> np.uint64:
    """32 bits of a key by which groups are chosen. They are others than those of `spread`, by which a table
    finds a slot: else the keys of a group would crowd into a part of its thread's table."""
    mixed = spread(key)
    return ((mixed ^ (mixed >> np.uint64(15))) * _MIX) & LOW


@kernel
def dealt(start: int, stop: int, parts: int, part: int, out: UInt32s) -> int:
    """Rows of `start..stop` that fall to `part` of `parts`, whatever their keys."""
    chosen = 0
    while start < stop:
        until = min(stop, ((start >> DEALT) + 1) << DEALT)
        if (start >> DEALT) % parts == part:
            for row in range(start, until):
                out[chosen + row - start] = np.uint32(row)
            chosen += until - start
        start = until
    return chosen


@kernel
def grouped(
    keys: UInt32s, start: int, stop: int, groups: int, group: int, parts: int, part: int, out: UInt32s
) -> int:
    """Of those, the rows whose keys belong to `group` of `groups`."""
    chosen = 0
    many = np.uint64(groups)
    own = np.uint64(group)
    while start < stop:
        until = min(stop, ((start >> DEALT) + 1) << DEALT)
        if (start >> DEALT) % parts == part:
            for row in range(start, until):
                out[chosen] = np.uint32(row)
                chosen += (_group_bits(np.uint64(keys[row])) * many) >> HALF == own
        start = until
    return chosen


@kernel
def record_groups(keys: UInt32s, start: int, stop: int, groups: int, record: UInt16s) -> None:
    """Write down the group of each row."""
    for row in range(start, stop):
        record[row] = np.uint16((_group_bits(np.uint64(keys[row])) * np.uint64(groups)) >> HALF)


@kernel
def recorded(record: UInt16s, start: int, stop: int, group: int, parts: int, part: int, out: UInt32s) -> int:
    """What `grouped` chooses, from the record."""
    chosen = 0
    while start < stop:
        until = min(stop, ((start >> DEALT) + 1) << DEALT)
        if (start >> DEALT) % parts == part:
            for row in range(start, until):
                out[chosen] = np.uint32(row)
                chosen += record[row] == group
        start = until
    return chosen


@kernel
def by_value(keys: UInt32s, rows: UInt32s, count: int, out: UInt32s) -> None:
    for i in range(count):
        out[i] = keys[rows[i]]
