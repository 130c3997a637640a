"""PRJ: join partitions that fit into the cache. The left rows of each fill a small hash table (`table.py`),
and its right rows probe it.

Law: every pair of rows with equal keys comes out of exactly one of the tasks that threads take.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, LOW, UInt32s, UInt64s
from dovetail.intra_window.kernels.table import MANY, ROW, Table, seek, slot_of
from dovetail.intra_window.kernels.tasks import NO_TASK, R0, R1, S0, S1, Counter, Cursor, Tasks, take
from dovetail.kernels.flags import kernel


@kernel
def bits_for(rows: int, skip: int) -> int:
    """A quarter full or less. The processor cannot predict a slot that another key took, and a wrong guess
    costs more than the memory: with half of the slots in use, joining took three times as long."""
    bits = 4
    while (1 << bits) < 4 * rows:
        bits += 1
    return min(bits, 32 - skip)


@kernel
def build(table: Table, bits: int, skip: int, rows: UInt64s, start: int, stop: int) -> None:
    """Clear the first slots of the arrays and fill them. Rows are known by their place after `start`."""
    slots, older, more = table.slots, table.older, table.more
    mask, drop, skipped = (1 << bits) - 1, np.uint64(32 - bits), np.uint64(skip)
    slots[: mask + 1] = 0
    for i in range(start, stop):
        key = rows[i] >> HALF
        slot = seek(slots, mask, slot_of(key, skipped, drop), key)
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
        slot = seek(slots, mask, slot_of(key, skipped, drop), key)
        there = slots[slot]
        if there != 0:
            total += 1 + np.int64(more[slot]) if there & MANY else 1
    return int(total)


@kernel
def count_tasks(r: UInt64s, s: UInt64s, tasks: Tasks, counter: Counter, table: Table, skip: int) -> int:
    """Take tasks until there are none, and count their pairs."""
    total = 0
    while True:
        n = take(counter)
        if n >= len(tasks):
            return total
        bits = bits_for(tasks[n, R1] - tasks[n, R0], skip)
        build(table, bits, skip, r, tasks[n, R0], tasks[n, R1])
        total += count(table, bits, skip, s, tasks[n, S0], tasks[n, S1])


@kernel
def pairs_tasks(
    r: UInt64s,
    s: UInt64s,
    tasks: Tasks,
    counter: Counter,
    table: Table,
    skip: int,
    cursor: Cursor,
    left: UInt32s,
    right: UInt32s,
) -> int:
    """Take tasks and write their pairs, until there are none or the chunk is full. `cursor`: the task, the
    row of `s`, and the place in its chain."""
    slots, older = table.slots, table.older
    filled = 0
    skipped = np.uint64(skip)
    while True:
        if cursor[0] == NO_TASK:
            n = take(counter)
            if n >= len(tasks):
                return filled
            cursor[0], cursor[1], cursor[2] = n, tasks[n, S0], 0
            bits = bits_for(tasks[n, R1] - tasks[n, R0], skip)
            build(table, bits, skip, r, tasks[n, R0], tasks[n, R1])
        first, until = tasks[cursor[0], R0], tasks[cursor[0], S1]
        bits = bits_for(tasks[cursor[0], R1] - first, skip)
        mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
        at, link = cursor[1], cursor[2]
        while at < until:
            if link == 0:
                key = s[at] >> HALF
                link = np.int64(slots[seek(slots, mask, slot_of(key, skipped, drop), key)] & ROW)
            while link != 0 and filled < len(left):
                left[filled] = np.uint32(r[first + link - 1] & LOW)
                right[filled] = np.uint32(s[at] & LOW)
                filled += 1
                link = np.int64(older[link - 1])
            if link != 0:
                break
            at += 1
        cursor[1], cursor[2] = at, link
        if at < until:
            return filled
        cursor[0] = NO_TASK
