"""A hash table (`table.py`) of rows that come block by block: probed, filled, made larger.

Law: as that of the table. A block first probes the other side's table and then enters its own, so that of two
rows the later one finds the earlier one, and a pair is found once.

`keys` holds the key of every row (`direct`), or those of the chosen rows one after another. That choice
stands in every loop: a function for it would count references to the arrays, at ten times the cost of the
lookup.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.intra_window.kernels.machine import prefetch
from dovetail.intra_window.kernels.packed import HALF, UInt32s
from dovetail.intra_window.kernels.table import AHEAD, MANY, ROW, Table, find, newest_at, slot_of
from dovetail.intra_window.kernels.tasks import Cursor
from dovetail.kernels.flags import kernel

_NO_SKIP = np.uint64(0)


@kernel
def insert_rows(table: Table, bits: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
    """Enter rows; how many keys were new. The caller has seen to the room."""
    slots, older, more = table.slots, table.older, table.more
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    fresh = 0
    lately = False
    for i in range(len(rows)):
        if i + AHEAD < len(rows):
            ahead = slot_of(np.uint64(keys[rows[i + AHEAD] if direct else i + AHEAD]), _NO_SKIP, drop)
            prefetch(slots, ahead)
            if lately:
                prefetch(more, ahead)
        key, row = np.uint64(keys[rows[i] if direct else i]), rows[i]
        slot = slot_of(key, _NO_SKIP, drop)
        there = slots[slot]
        while there != 0 and there >> HALF != key:
            slot = (slot + 1) & mask
            there = slots[slot]
        lately = there != 0
        entry = (key << HALF) | np.uint64(row + 1)
        if lately:
            more[slot] = more[slot] + 1 if there & MANY else 1
            entry |= MANY
        else:
            fresh += 1
        older[row] = np.uint32(there & ROW)
        slots[slot] = entry
    return fresh


@kernel
def count_rows(table: Table, bits: int, keys: UInt32s, rows: UInt32s, direct: bool) -> int:
    """How many pairs these rows make with those of the table."""
    slots, more = table.slots, table.more
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    total: Any = 0
    lately = False
    for i in range(len(rows)):
        if i + AHEAD < len(rows):
            ahead = slot_of(np.uint64(keys[rows[i + AHEAD] if direct else i + AHEAD]), _NO_SKIP, drop)
            prefetch(slots, ahead)
            if lately:
                prefetch(more, ahead)
        key = np.uint64(keys[rows[i] if direct else i])
        slot = slot_of(key, _NO_SKIP, drop)
        there = slots[slot]
        while there != 0 and there >> HALF != key:
            slot = (slot + 1) & mask
            there = slots[slot]
        if there != 0:
            lately = there & MANY != 0
            total += 1 + np.int64(more[slot]) if lately else 1
    return int(total)


@kernel
def pairs_rows(
    table: Table,
    bits: int,
    keys: UInt32s,
    rows: UInt32s,
    direct: bool,
    cursor: Cursor,
    table_rows: UInt32s,
    own_rows: UInt32s,
) -> int:
    """Write those pairs, from where `cursor` is: (place in `rows`, place in the chain). Fewer than fit means
    that there are no more."""
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    i, link = cursor[0], cursor[1]
    filled = 0
    while i < len(rows):
        if link == 0:
            if i + AHEAD < len(rows):
                prefetch(
                    table.slots,
                    slot_of(np.uint64(keys[rows[i + AHEAD] if direct else i + AHEAD]), _NO_SKIP, drop),
                )
            key = np.uint64(keys[rows[i] if direct else i])
            slot = find(table, mask, slot_of(key, _NO_SKIP, drop), key)
            if slot >= 0:
                link = newest_at(table, slot)
        while link != 0 and filled < len(own_rows):
            table_rows[filled] = np.uint32(link - 1)
            own_rows[filled] = rows[i]
            filled += 1
            link = np.int64(table.older[link - 1])
        if link != 0:
            break
        i += 1
    cursor[0], cursor[1] = i, link
    return filled


@kernel
def rehash(source: Table, target: Table, bits: int) -> None:
    """Enter the slots of a table into a larger, empty one; chains stay as they are."""
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    for at in range(len(source.slots)):
        there = source.slots[at]
        if there != 0:
            slot = slot_of(there >> HALF, _NO_SKIP, drop)
            while target.slots[slot] != 0:
                slot = (slot + 1) & mask
            target.slots[slot] = there
            target.more[slot] = source.more[at]


@kernel
def pack_rows(keys: UInt32s, rows: UInt32s, direct: bool, out: np.ndarray, at: int) -> None:
    """Chosen rows as words, from `out[at]` on."""
    for i in range(len(rows)):
        out[at + i] = (np.uint64(keys[rows[i] if direct else i]) << HALF) | np.uint64(rows[i])
