"""Many threads fill one hash table (`intra_window/kernels/table.py`) at once, without locks.

Law: whatever the order in which threads come, the table in the end holds every row once.

A slot is one word, so it is claimed, or its chain lengthened, by one atomic exchange; a thread that finds the
word changed looks again. A row's link to the older one is written by the thread that won, and read only after
all threads have met.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.machine import atomic_add, atomic_exchange, prefetch
from dovetail.intra_window.kernels.packed import HALF, UInt32s
from dovetail.intra_window.kernels.table import AHEAD, MANY, ROW, Table, find, newest_at, slot_of
from dovetail.kernels.flags import kernel


@kernel
def insert_shared(table: Table, bits: int, keys: UInt32s, start: int, stop: int) -> None:
    """Insert `keys[start:stop]` under their row numbers. `table.more` was cleared; it is fetched ahead, too,
    where the last row had others of its key."""
    mask, drop, skip = (1 << bits) - 1, np.uint64(32 - bits), np.uint64(0)
    slots, older, more = table.slots, table.older, table.more
    lately = False
    for row in range(start, stop):
        if row + AHEAD < stop:
            ahead = slot_of(np.uint64(keys[row + AHEAD]), skip, drop)
            prefetch(slots, ahead)
            if lately:
                prefetch(more, ahead)
        key = np.uint64(keys[row])
        entry = (key << HALF) | np.uint64(row + 1)
        slot = slot_of(key, skip, drop)
        there = slots[slot]
        while True:
            if there == 0:
                there = atomic_exchange(slots, slot, np.uint64(0), entry)
                if there == 0:
                    older[row] = 0
                    lately = False
                    break
            elif there >> HALF == key:
                found = atomic_exchange(slots, slot, there, entry | MANY)
                if found == there:
                    older[row] = np.uint32(there & ROW)
                    atomic_add(more, slot, np.uint32(1))
                    lately = True
                    break
                there = found
            else:
                slot = (slot + 1) & mask
                there = slots[slot]


@kernel
def pairs_keys(
    table: Table, bits: int, keys: UInt32s, cursor: np.ndarray, stop: int, left: UInt32s, right: UInt32s
) -> int:
    """Fill `left` and `right` with pairs of table rows and rows up to `stop`, from where `cursor` is: (row,
    place in its chain). Returns how many; fewer than fit means that there are no more."""
    mask, drop, skip = (1 << bits) - 1, np.uint64(32 - bits), np.uint64(0)
    row, link = cursor[0], cursor[1]
    filled = 0
    while row < stop:
        if link == 0:
            if row + AHEAD < stop:
                prefetch(table.slots, slot_of(np.uint64(keys[row + AHEAD]), skip, drop))
            key = np.uint64(keys[row])
            slot = find(table, mask, slot_of(key, skip, drop), key)
            if slot >= 0:
                link = newest_at(table, slot)
        while link != 0 and filled < len(left):
            left[filled] = np.uint32(link - 1)
            right[filled] = np.uint32(row)
            filled += 1
            link = np.int64(table.older[link - 1])
        if link != 0:
            break
        row += 1
    cursor[0], cursor[1] = row, link
    return filled
