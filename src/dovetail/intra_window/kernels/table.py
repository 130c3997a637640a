"""A hash table of the rows of one side: one slot per key, the rows of a key in a chain, newest first.

Law: looking up a key finds every row inserted under it, once, and in one step how many there are.

    slots   key (32 bits) | many (1) | row + 1 (31)    0: empty; linear probing, a power of two of them
    older   row -> the row of the same key before it, plus 1; 0: none
    more    slot -> rows of the key besides the first; valid only where `many` is set, so it needs no clearing

The slot of a key is the upper bits of its spread, after the `skip` bits by which rows were partitioned.

Here are the table and its probes. Each algorithm fills it in its own way: `npj.py` from many threads at once,
`shj.py` block by block, `prj.py` again for every partition.

Hot loops take the arrays out of the tuple, and share code only by inlining. A call that is handed an array
counts references to it, for every row, which doubles the time of a loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, LOW, UInt32s, UInt64s, spread
from dovetail.intra_window.kernels.tasks import Cursor
from dovetail.kernels.flags import inlined_kernel, kernel
from dovetail.kernels.machine import prefetch

MANY = np.uint64(1 << 31)
ROW = np.uint64((1 << 31) - 1)
MOST_ROWS = (1 << 31) - 2
NO_SKIP = np.uint64(0)
NO_ROWS: UInt32s = np.empty(0, np.uint32)
AHEAD = 24
"""How many rows ahead slots are fetched. Each is a cache miss, and a core has about this many in flight."""


class Table(NamedTuple):
    slots: UInt64s
    older: UInt32s
    more: UInt32s


def table_bits(rows: int, skip: int = 0) -> int:
    """Half full or less, as long as the spread has enough bits left."""
    return min(max(4, (2 * rows - 1).bit_length()), 32 - skip)


def new_table(rows: int, skip: int = 0) -> Table:
    slots = 1 << table_bits(rows, skip)
    return Table(np.zeros(slots, np.uint64), np.empty(max(rows, 1), np.uint32), np.empty(slots, np.uint32))


@kernel
def slot_of(key: np.uint64, skip: np.uint64, drop: np.uint64) -> Any:
    """Where to begin looking for a key. `drop`: 32 less the bits of the table."""
    return np.int64(((spread(key) << skip) & LOW) >> drop)


@inlined_kernel
def seek(slots: UInt64s, mask: int, slot: int, key: np.uint64) -> int:
    """The slot of a key, or the empty slot where it would be. It ends: no table is ever full."""
    while slots[slot] != 0 and slots[slot] >> HALF != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def count_rows(table: Table, bits: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
    """How many pairs a block of rows makes with those of the table. `direct`: the rows are `rows`, and `keys`
    has the key of every row; else `keys` has those of the block, one after another."""
    slots, more = table.slots, table.more
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    block = len(rows) if direct else len(keys)
    total: Any = 0
    many = False
    for i in range(block):
        if i + AHEAD < block:
            ahead = slot_of(np.uint64(keys[rows[i + AHEAD] if direct else i + AHEAD]), NO_SKIP, drop)
            prefetch(slots, ahead)
            if many:  # where the last key had several rows, the next is likely to have some
                prefetch(more, ahead)
        key = np.uint64(keys[rows[i] if direct else i])
        slot = seek(slots, mask, slot_of(key, NO_SKIP, drop), key)
        there = slots[slot]
        if there != 0:
            many = there & MANY != 0
            total += 1 + np.int64(more[slot]) if many else 1
    return int(total)


@kernel
def pairs_rows(
    table: Table,
    bits: int,
    keys: UInt32s,
    rows: UInt32s,
    direct: bool,
    first: int,
    cursor: Cursor,
    table_rows: UInt32s,
    own_rows: UInt32s,
) -> int:
    """Write those pairs, from where `cursor` is: (place in the block, place in the chain). Without `rows` the
    block begins with row `first`. Returns how many; fewer than fit means that there are no more."""
    slots, older = table.slots, table.older
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    block = len(rows) if direct else len(keys)
    i, link = cursor[0], cursor[1]
    filled = 0
    while i < block:
        if link == 0:
            if i + AHEAD < block:
                prefetch(
                    slots, slot_of(np.uint64(keys[rows[i + AHEAD] if direct else i + AHEAD]), NO_SKIP, drop)
                )
            key = np.uint64(keys[rows[i] if direct else i])
            link = np.int64(slots[seek(slots, mask, slot_of(key, NO_SKIP, drop), key)] & ROW)
        row = rows[i] if len(rows) > 0 else np.uint32(first + i)
        while link != 0 and filled < len(own_rows):
            table_rows[filled] = np.uint32(link - 1)
            own_rows[filled] = row
            filled += 1
            link = np.int64(older[link - 1])
        if link != 0:
            break
        i += 1
    cursor[0], cursor[1] = i, link
    return filled
