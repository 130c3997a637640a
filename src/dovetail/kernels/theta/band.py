"""Law: of the pairs (probe, position) with `starts <= position < stops`, exactly those come out for which
every dimension's value lies between the probe's bounds, both included.

All numbers are int64: floating-point ones are made so by `ordered_bits`, which keeps their order. So one
machine code serves every mix of types.

The rows looked at lie sorted by one dimension, of which `starts` and `stops` are the result of a search; the
others are checked, in a loop without branches that runs over neighbouring memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]


def ordered_bits(values: NDArray[np.float64]) -> Int64s:
    """Whole numbers in the order of these, which are no NaN; 0.0 and -0.0 are one."""
    bits = (values + 0.0).view(np.int64)
    ordered: Int64s = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return ordered


@kernel
def in_band(
    starts: Int64s, stops: Int64s, lows: Int64s, highs: Int64s, values: Int64s
) -> tuple[Int64s, Int64s]:
    """Pairs (probe, position). `lows` and `highs` have a row for each checked dimension and a column for each
    probe, `values` a column for each position."""
    # for i in probes: for j in range(starts[i], stops[i]):
    #     if all(lows[d, i] <= values[d, j] <= highs[d, i] for d in dimensions): found (i, j)
    dimensions = len(values)
    room = 1024
    probing = np.empty(room, np.int64)
    at = np.empty(room, np.int64)
    found = np.int64(0)
    for i in range(len(starts)):
        start, stop = starts[i], stops[i]
        if start >= stop:
            continue
        empty = False
        for d in range(dimensions):
            empty |= lows[d, i] > highs[d, i]
        if empty:
            continue
        if found + stop - start > room:
            room = max(2 * room, found + stop - start)
            wider = np.empty(room, np.int64)
            wider[:found] = probing[:found]
            probing = wider
            wider = np.empty(room, np.int64)
            wider[:found] = at[:found]
            at = wider
        first = found
        if dimensions == 0:
            for j in range(start, stop):
                at[found] = j
                found += 1
        elif dimensions == 1:
            low, span = lows[0, i], np.uint64(highs[0, i] - lows[0, i])
            for j in range(start, stop):
                at[found] = j
                found += np.int64(np.uint64(values[0, j] - low) <= span)
        elif dimensions == 2:
            low, span = lows[0, i], np.uint64(highs[0, i] - lows[0, i])
            low_1, span_1 = lows[1, i], np.uint64(highs[1, i] - lows[1, i])
            for j in range(start, stop):
                at[found] = j
                inside = np.uint64(values[0, j] - low) <= span
                found += np.int64(inside & (np.uint64(values[1, j] - low_1) <= span_1))
        else:
            for j in range(start, stop):
                at[found] = j
                outside = 0
                for d in range(dimensions):
                    reach = np.uint64(highs[d, i] - lows[d, i])
                    outside += int(np.uint64(values[d, j] - lows[d, i]) > reach)
                found += np.int64(outside == 0)
        for k in range(first, found):
            probing[k] = i
    return probing[:found], at[:found]
