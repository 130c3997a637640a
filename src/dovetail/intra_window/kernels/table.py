"""A hash table of the rows of one side: a slot a key, rows of one key in a chain, newest first.

Law: looking up a key finds every row inserted under it, once, and how many they are in one step.

    slots   key (32 bits) | many (1) | row + 1 (31)    0: empty; linear probing, a power of two of them
    older   row -> the row of the same key before it, plus 1; 0: none
    more    slot -> rows of the key besides the first; only where `many` is set, so it needs no clearing

Slots are the upper bits of the key's spread, after the `skip` bits by which rows were partitioned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail.intra_window.kernels.machine import prefetch
from dovetail.intra_window.kernels.packed import HALF, LOW, UInt32s, UInt64s, spread
from dovetail.kernels.flags import kernel

MANY = np.uint64(1 << 31)
ROW = np.uint64((1 << 31) - 1)
MOST_ROWS = (1 << 31) - 2
AHEAD = 24
"""How many rows ahead slots are fetched. Each is a cache miss, and a core can wait for about so many."""


class Table(NamedTuple):
    slots: UInt64s
    older: UInt32s
    more: UInt32s


def table_bits(rows: int, skip: int = 0) -> int:
    """Half full or less, where so many bits of the key's spread are left."""
    return min(max(4, (2 * rows - 1).bit_length()), 32 - skip)


def new_table(rows: int, skip: int = 0) -> Table:
    slots = 1 << table_bits(rows, skip)
    return Table(np.zeros(slots, np.uint64), np.empty(max(rows, 1), np.uint32), np.empty(slots, np.uint32))


@kernel
def slot_of(key: np.uint64, skip: np.uint64, drop: np.uint64) -> Any:
    """`drop`: 32 less the bits of the table."""
    return np.int64(((spread(key) << skip) & LOW) >> drop)


@kernel
def find(table: Table, mask: int, slot: int, key: np.uint64) -> int:
    """The slot of a key, or -1."""
    while True:
        there = table.slots[slot]
        if there >> HALF == key and there != 0:
            return slot
        if there == 0:
            return -1
        slot = (slot + 1) & mask


@kernel
def newest_at(table: Table, slot: int) -> Any:
    """The newest row of a slot's key, plus 1."""
    return np.int64(table.slots[slot] & ROW)


@kernel
def build(table: Table, bits: int, skip: int, rows: UInt64s, start: int, stop: int) -> None:
    """A small table, made anew in the first slots of the arrays: rows are known by their place after
    `start`.

    Arrays are taken out of the tuple, and the loop calls nothing that has them for an argument: else Numba
    counts references for every row, which doubles the time.
    """
    slots, older, more = table.slots, table.older, table.more
    mask, drop, skipped = (1 << bits) - 1, np.uint64(32 - bits), np.uint64(skip)
    slots[: mask + 1] = 0
    for i in range(start, stop):
        key = rows[i] >> HALF
        slot = slot_of(key, skipped, drop)
        there = slots[slot]
        while there != 0 and there >> HALF != key:
            slot = (slot + 1) & mask
            there = slots[slot]
        entry = (key << HALF) | np.uint64(i - start + 1)
        if there != 0:
            more[slot] = more[slot] + 1 if there & MANY else 1
            entry |= MANY
        older[i - start] = np.uint32(there & ROW)
        slots[slot] = entry


@kernel
def count(table: Table, bits: int, skip: int, rows: UInt64s, start: int, stop: int) -> int:
    """How many pairs packed rows make with those of the table."""
    slots, more = table.slots, table.more
    mask, drop, skipped = (1 << bits) - 1, np.uint64(32 - bits), np.uint64(skip)
    total: Any = 0
    for i in range(start, stop):
        key = rows[i] >> HALF
        slot = slot_of(key, skipped, drop)
        there = slots[slot]
        while there != 0 and there >> HALF != key:
            slot = (slot + 1) & mask
            there = slots[slot]
        if there != 0:
            total += 1 + np.int64(more[slot]) if there & MANY else 1
    return int(total)


@kernel
def count_keys(table: Table, bits: int, keys: UInt32s, start: int, stop: int) -> int:
    """As `count`, for a table too large for the cache."""
    slots, more = table.slots, table.more
    mask, drop, skipped = (1 << bits) - 1, np.uint64(32 - bits), np.uint64(0)
    total: Any = 0
    lately = False
    for i in range(start, stop):
        if i + AHEAD < stop:
            ahead = slot_of(np.uint64(keys[i + AHEAD]), skipped, drop)
            prefetch(slots, ahead)
            if lately:
                prefetch(more, ahead)
        key = np.uint64(keys[i])
        slot = slot_of(key, skipped, drop)
        there = slots[slot]
        while there != 0 and there >> HALF != key:
            slot = (slot + 1) & mask
            there = slots[slot]
        if there != 0:
            lately = there & MANY != 0
            total += 1 + np.int64(more[slot]) if lately else 1
    return int(total)
