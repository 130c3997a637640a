"""Join partitions that fit into the cache: a small hash table for the left rows of each, probed by its right.

Law: of the tasks that threads take, every pair of rows with equal keys comes out of exactly one.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, LOW, UInt32s, UInt64s
from dovetail.intra_window.kernels.table import Table, build, count, find, newest_at, slot_of
from dovetail.intra_window.kernels.tasks import NO_TASK, R0, R1, S0, S1, Counter, Cursor, Tasks, take
from dovetail.kernels.flags import kernel


@kernel
def bits_for(rows: int, skip: int) -> int:
    """A quarter full or less. A slot that is another key's cannot be foretold, and costs more than the
    memory: with half of the slots in use, joining took three times as long."""
    bits = 4
    while (1 << bits) < 4 * rows:
        bits += 1
    return min(bits, 32 - skip)


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
    row of `s`, and where in its chain we are."""
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
                slot = find(table, mask, slot_of(key, skipped, drop), key)
                if slot >= 0:
                    link = newest_at(table, slot)
            while link != 0 and filled < len(left):
                left[filled] = np.uint32(r[first + link - 1] & LOW)
                right[filled] = np.uint32(s[at] & LOW)
                filled += 1
                link = np.int64(table.older[link - 1])
            if link != 0:
                break
            at += 1
        cursor[1], cursor[2] = at, link
        if at < until:
            return filled
        cursor[0] = NO_TASK
