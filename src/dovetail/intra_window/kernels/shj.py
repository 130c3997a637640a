"""SHJ: a hash table (`table.py`) of rows that come block by block, which grows.

Law: as that of the table. A block first probes the other side's table and then enters its own, so that of two
rows the later one finds the earlier one, and a pair is found once.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, UInt32s
from dovetail.intra_window.kernels.table import AHEAD, MANY, NO_SKIP, ROW, Table, seek, slot_of
from dovetail.kernels.flags import kernel
from dovetail.kernels.machine import prefetch


@kernel
def insert_rows(table: Table, bits: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
    """Enter rows; how many keys were new. The caller has made sure of the room."""
    slots, older, more = table.slots, table.older, table.more
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    fresh = 0
    many = False
    for i in range(len(rows)):
        if i + AHEAD < len(rows):
            ahead = slot_of(np.uint64(keys[rows[i + AHEAD] if direct else i + AHEAD]), NO_SKIP, drop)
            prefetch(slots, ahead)
            if many:
                prefetch(more, ahead)
        key, row = np.uint64(keys[rows[i] if direct else i]), rows[i]
        slot = seek(slots, mask, slot_of(key, NO_SKIP, drop), key)
        there = slots[slot]
        many = there != 0
        entry = (key << HALF) | np.uint64(row + 1)
        if many:
            more[slot] = more[slot] + 1 if there & MANY else 1
            entry |= MANY
        else:
            fresh += 1
        older[row] = np.uint32(there & ROW)
        slots[slot] = entry
    return fresh


@kernel
def rehash(source: Table, target: Table, bits: int) -> None:
    """Enter the slots of a table into a larger, empty one. Chains stay as they are: they link row numbers."""
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    for at in range(len(source.slots)):
        there = source.slots[at]
        if there != 0:
            slot = slot_of(there >> HALF, NO_SKIP, drop)
            while target.slots[slot] != 0:
                slot = (slot + 1) & mask
            target.slots[slot] = there
            target.more[slot] = source.more[at]
