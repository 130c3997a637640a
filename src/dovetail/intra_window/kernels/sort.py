"""Sort packed rows by key: a radix sort, digit by digit from the lowest (LSD), between two stretches of
memory.

Law: afterwards the words ascend; the result says which of the two stretches holds them.

Words are unique and come in the order of their row numbers, and the sort is stable: so only the key's bits
are sorted by, and of those only the ones in which keys may differ.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, UInt64s
from dovetail.intra_window.kernels.tasks import Counter, Tasks, take
from dovetail.kernels.flags import kernel

DIGIT_BITS = 8
_FEW = 48


@kernel
def key_bits(rows: UInt64s) -> int:
    """How many of the key's bits, from the lowest, are needed to distinguish these keys."""
    differ = np.uint64(0)
    for i in range(len(rows)):
        differ |= rows[i] ^ rows[0]
    differ >>= HALF
    bits = 0
    while differ != 0:
        differ >>= np.uint64(1)
        bits += 1
    return bits


@kernel
def _insertion(rows: UInt64s) -> None:
    for i in range(1, len(rows)):
        word = rows[i]
        at = i
        while at > 0 and rows[at - 1] > word:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = word


@kernel
def sort_words(rows: UInt64s, spare: UInt64s) -> bool:
    """Sort `rows`; True: the result is in `spare`, which has the same length."""
    if len(rows) <= _FEW:
        _insertion(rows)
        return False
    bits = key_bits(rows)
    passes = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    if passes == 0:
        return False
    width = (bits + passes - 1) // passes
    size = 1 << width
    mask = np.uint64(size - 1)
    ends = np.zeros((passes, size), np.int64)
    for i in range(len(rows)):
        key = rows[i] >> HALF
        for n in range(passes):
            ends[n, np.int64((key >> np.uint64(n * width)) & mask)] += 1
    source, target = rows, spare
    for n in range(passes):
        begin = 0
        for digit in range(size):
            count = ends[n, digit]
            ends[n, digit] = begin
            begin += count
        shift = HALF + np.uint64(n * width)
        places = ends[n]
        for i in range(len(source)):
            word = source[i]
            to = np.int64((word >> shift) & mask)
            target[places[to]] = word
            places[to] += 1
        source, target = target, source
    return passes % 2 == 1


@kernel
def sort_runs(rows: UInt64s, spare: UInt64s, begins: Tasks, counter: Counter) -> None:
    """Take stretches `rows[begins[n]:begins[n + 1]]` until there are none, and sort each in place.
    `spare` is the thread's own, as long as the longest: it stays in the cache, and no two threads fault its
    pages in."""
    while True:
        n = take(counter)
        if n >= len(begins) - 1:
            return
        start, stop = begins[n], begins[n + 1]
        if sort_words(rows[start:stop], spare[: stop - start]):
            rows[start:stop] = spare[: stop - start]
