"""Merge sorted runs of packed rows, two at a time.

Law: the result ascends and has the words of both. Words are unique, so there is one way to do it, and any
stretch of the result can be made without the rest (`split`): that is how threads share one merge.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import UInt64s
from dovetail.intra_window.kernels.tasks import Counter, Tasks, take
from dovetail.kernels.flags import kernel


@kernel
def merge_two(a: UInt64s, b: UInt64s, out: UInt64s) -> None:
    """The smaller head goes first. No processor can predict which one that is, so nothing branches on it."""
    i, j, at = 0, 0, 0
    if len(a) > 0 and len(b) > 0:
        last_a, last_b = len(a), len(b)
        while i < last_a and j < last_b:
            x, y = a[i], b[j]
            first = x < y
            out[at] = x if first else y
            i += first
            j += not first
            at += 1
    while i < len(a):
        out[at] = a[i]
        i += 1
        at += 1
    while j < len(b):
        out[at] = b[j]
        j += 1
        at += 1


@kernel
def split(a: UInt64s, b: UInt64s, count: int) -> int:
    """How many of the first `count` words of the merged result come from `a` (merge path)."""
    low, high = max(0, count - len(b)), min(count, len(a))
    while low < high:
        middle = (low + high) // 2
        if a[middle] < b[count - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def merge_pass(source: UInt64s, target: UInt64s, begins: Tasks, piece: int, counter: Counter) -> None:
    """One pass over adjacent runs, `source[begins[n]:begins[n + 1]]`: the first with the second,
    the third with the fourth and so on. Threads take pieces of the result."""
    rows, final = len(source), len(begins) - 1
    pieces = (rows + piece - 1) // piece
    while True:
        n = take(counter)
        if n >= pieces:
            return
        start, stop = n * piece, min(rows, (n + 1) * piece)
        pair = (int(np.searchsorted(begins, start, side="right")) - 1) // 2 * 2
        while start < stop:
            first, middle = begins[pair], begins[min(pair + 1, final)]
            last = begins[min(pair + 2, final)]
            until = min(stop, last)
            a, b = source[first:middle], source[middle:last]
            i = split(a, b, start - first)
            k = split(a, b, until - first)
            merge_two(a[i:k], b[start - first - i : until - first - k], target[start:until])
            start = until
            pair += 2


@kernel
def merge_in_cache(rows: UInt64s, spare: UInt64s, ends: Tasks) -> bool:
    """All runs of a stretch that fits into the cache, as a tree of two-way merges; `ends` (its own copy) has
    0 and where each run ends. True: the result is in `spare`."""
    source, target = rows, spare
    runs = len(ends) - 1
    swapped = False
    while runs > 1:
        left = 0
        for n in range(0, runs, 2):
            first, middle = ends[n], ends[n + 1]
            last = ends[n + 2] if n + 2 <= runs else middle
            merge_two(source[first:middle], source[middle:last], target[first:last])
            left += 1
            ends[left] = last
        runs = left
        source, target = target, source
        swapped = not swapped
    return swapped


@kernel
def merge_ranges(rows: UInt64s, spare: UInt64s, begins: Tasks, ways: int, counter: Counter) -> None:
    """Take ranges of `ways` runs each until there are none, and merge the runs of each in place.
    `spare` is the thread's own, as long as the longest range."""
    ends = np.empty(ways + 1, np.int64)
    while True:
        n = take(counter) * ways
        if n >= len(begins) - 1:
            return
        start, stop = begins[n], begins[n + ways]
        for way in range(ways + 1):
            ends[way] = begins[n + way] - start
        if merge_in_cache(rows[start:stop], spare[: stop - start], ends):
            rows[start:stop] = spare[: stop - start]
