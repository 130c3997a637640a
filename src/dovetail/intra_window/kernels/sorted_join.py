"""Join two sorted sides in one pass.

Law: rows of one key make a rectangle, left run by right run; its pairs come out once, and none else do.

Counting multiplies the lengths of the runs; writing pairs goes through the rectangle.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, LOW, UInt32s, UInt64s
from dovetail.intra_window.kernels.tasks import (
    NO_TASK,
    R0,
    R1,
    S0,
    S1,
    TASK_FIELDS,
    Counter,
    Cursor,
    Tasks,
    take,
)
from dovetail.kernels.flags import kernel


@kernel
def count_sorted(r: UInt64s, s: UInt64s) -> int:
    i, j, total = 0, 0, 0
    while i < len(r) and j < len(s):
        a, b = r[i] >> HALF, s[j] >> HALF
        if a < b:
            i += 1
        elif b < a:
            j += 1
        else:
            start, begin = i, j
            i += 1
            j += 1
            while i < len(r) and r[i] >> HALF == a:
                i += 1
            while j < len(s) and s[j] >> HALF == a:
                j += 1
            total += (i - start) * (j - begin)
    return total


@kernel
def pairs_sorted(r: UInt64s, s: UInt64s, cursor: Cursor, left: UInt32s, right: UInt32s, filled: int) -> int:
    """Write pairs after the `filled` first of the chunk, until it is full or there are no more. `cursor` from
    1 on: where both sides are, the ends of their runs (0: none begun), and where in the rectangle we are."""
    i, j, i_end, j_end, x, y = cursor[1], cursor[2], cursor[3], cursor[4], cursor[5], cursor[6]
    while i < len(r) and j < len(s):
        if i_end == 0:
            a, b = r[i] >> HALF, s[j] >> HALF
            if a < b:
                i += 1
                continue
            if b < a:
                j += 1
                continue
            i_end, j_end = i + 1, j + 1
            while i_end < len(r) and r[i_end] >> HALF == a:
                i_end += 1
            while j_end < len(s) and s[j_end] >> HALF == a:
                j_end += 1
            x, y = i, j
        while x < i_end and filled < len(left):
            row = np.uint32(r[x] & LOW)
            many = min(j_end - y, len(left) - filled)
            for n in range(many):
                left[filled + n] = row
                right[filled + n] = np.uint32(s[y + n] & LOW)
            filled += many
            y += many
            if y == j_end:
                y = j
                x += 1
        if x < i_end:
            break
        i, j, i_end, j_end = i_end, j_end, 0, 0
    cursor[1], cursor[2], cursor[3], cursor[4], cursor[5], cursor[6] = i, j, i_end, j_end, x, y
    return filled


@kernel
def has_more(cursor: Cursor, r: UInt64s, s: UInt64s) -> bool:
    return bool(cursor[1] < len(r) and cursor[2] < len(s))


@kernel
def count_tasks(r: UInt64s, s: UInt64s, tasks: Tasks, counter: Counter) -> int:
    total = 0
    while True:
        n = take(counter)
        if n >= len(tasks):
            return total
        total += count_sorted(r[tasks[n, R0] : tasks[n, R1]], s[tasks[n, S0] : tasks[n, S1]])


@kernel
def pairs_tasks(
    r: UInt64s, s: UInt64s, tasks: Tasks, counter: Counter, cursor: Cursor, left: UInt32s, right: UInt32s
) -> int:
    """Take tasks and write their pairs, until there are none or the chunk is full."""
    filled = 0
    while True:
        if cursor[0] == NO_TASK:
            n = take(counter)
            if n >= len(tasks):
                return filled
            cursor[0] = n
            cursor[1:7] = 0
        n = cursor[0]
        own_r, own_s = r[tasks[n, R0] : tasks[n, R1]], s[tasks[n, S0] : tasks[n, S1]]
        filled = pairs_sorted(own_r, own_s, cursor, left, right, filled)
        if has_more(cursor, own_r, own_s):
            return filled
        cursor[0] = NO_TASK


@kernel
def first_at_least(s: UInt64s, word: np.uint64) -> int:
    low, high = 0, len(s)
    while low < high:
        middle = (low + high) // 2
        if s[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def equal_shares(r: UInt64s, s: UInt64s, piece: int) -> Tasks:
    """Tasks of `piece` left rows each, with the right rows that may match them. A right run may be in
    several: left rows are not, so no pair is."""
    pieces = (len(r) + piece - 1) // piece
    tasks = np.empty((pieces, TASK_FIELDS), np.int64)
    for n in range(pieces):
        start, stop = n * piece, min(len(r), (n + 1) * piece)
        tasks[n, R0], tasks[n, R1] = start, stop
        tasks[n, S0] = first_at_least(s, (r[start] >> HALF) << HALF)
        tasks[n, S1] = first_at_least(s, r[stop - 1] | LOW)
    return tasks
