"""Law: of the pairs (probe, position) with `starts <= position < stops`, exactly those come out for which
every dimension's value lies between the probe's bounds, both included.

All numbers are int64: floating-point ones become so by `ordered_bits`, which keeps their order. So one
machine code serves every mix of types.

The rows looked at lie sorted by one dimension, of which `starts` and `stops` are the result of a search; the
others are checked, block by block: a loop without branches writes a flag per row, so that the compiler can do
several rows at once, and a second loop collects the flagged rows, eight flags at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]
BLOCK = 1024
"""Rows that are looked at together: their flags stay near. A multiple of eight."""


@kernel
def in_band(
    starts: Int64s, stops: Int64s, lows: Int64s, highs: Int64s, values: Int64s
) -> tuple[Int64s, Int64s]:
    """Pairs (probe, position). `lows` and `highs` have a row for each checked dimension and a column for each
    probe, `values` a column for each position."""
    # for i in probes: for j in range(starts[i], stops[i]):
    #     if all(lows[d, i] <= values[d, j] <= highs[d, i] for d in dimensions): found (i, j)
    room = BLOCK
    probing, at = np.empty(room, np.int64), np.empty(room, np.int64)
    flags = np.empty(BLOCK, np.bool_)
    eights = flags.view(np.int64)
    found = 0
    for i in range(len(starts)):
        empty = False
        for d in range(len(values)):
            empty |= lows[d, i] > highs[d, i]
        if empty:
            continue
        for begin in range(starts[i], stops[i], BLOCK):
            count = min(BLOCK, stops[i] - begin)
            flags[:count] = True
            flags[count : (count + 7) & ~7] = False
            for d in range(len(values)):
                low, span = lows[d, i], np.uint64(highs[d, i] - lows[d, i])
                near = values[d, begin : begin + count]
                for j in range(count):
                    flags[j] &= np.uint64(near[j] - low) <= span
            if found + count > room:
                room = 2 * room + count
                probing, at = grown(probing, room), grown(at, room)
            for eight in range(0, count, 8):
                if eights[eight >> 3] != 0:
                    for j in range(eight, eight + 8):
                        if flags[j]:
                            probing[found], at[found] = i, begin + j
                            found += 1
    return probing[:found], at[:found]


@kernel
def grown(array: Int64s, size: int) -> Int64s:
    wider = np.empty(size, np.int64)
    wider[: len(array)] = array
    return wider
