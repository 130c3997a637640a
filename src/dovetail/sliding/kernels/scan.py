"""The band scan: which rows of a run of columns lie in a box, and the same for four boxes in one pass.

Keys are unsigned integers (`sliding/kernels/layout.py`), so `low <= x <= high` is `x - low <= high - low`:
one subtraction, which wraps around below `low`, and one comparison. A first loop over a block of rows, which
LLVM turns into vector code, only asks whether any row is inside; few blocks have one, and only those are
looked through again. Blocks begin at multiples of their size: as columns begin where a cache line does
(`keys_room`), no load of several keys lies across two lines. Two dimensions decide; further ones are checked
for the rows found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel

BLOCK, PIECE = 1024, 128
TOGETHER = 4
LINE_BYTES = 64

Keys = npt.NDArray[np.unsignedinteger]
Positions = npt.NDArray[np.int64]


def keys_room(dimensions: int, capacity: int, kind: type[np.unsignedinteger]) -> Keys:
    """Columns of keys, all zero. Each begins where a cache line does if a line divides their capacity."""
    size = dimensions * capacity * kind().itemsize
    raw = np.zeros(size + LINE_BYTES, np.uint8)
    skip = -raw.ctypes.data % LINE_BYTES
    return raw[skip : skip + size].view(kind).reshape(dimensions, capacity)


@inner_borrowing_kernel
def inside(keys: Keys, slot: int, low: Keys, width: Keys) -> bool:
    """Whether the row at `slot` is in the box, in every dimension."""
    for dimension in range(keys.shape[0]):
        if keys.dtype.type(keys[dimension, slot] - low[dimension]) > width[dimension]:
            return False
    return True


@inner_borrowing_kernel
def _any_in_range(xs: Keys, low: Any, width: Any) -> bool:
    kind = xs.dtype.type
    found = False
    for i in range(xs.shape[0]):
        found |= kind(xs[i] - low) <= width
    return found


@inner_borrowing_kernel
def _any_in_box(xs: Keys, ys: Keys, low_x: Any, width_x: Any, low_y: Any, width_y: Any) -> bool:
    kind = xs.dtype.type
    found = False
    for i in range(xs.shape[0]):
        found |= (kind(xs[i] - low_x) <= width_x) & (kind(ys[i] - low_y) <= width_y)
    return found


@inner_borrowing_kernel
def any_inside(keys: Keys, begin: int, end: int, low: Keys, width: Keys) -> bool:
    """Whether any row of `begin..end` may be in the box: no dimension beyond the second is asked."""
    if keys.shape[0] == 1:
        return _any_in_range(keys[0, begin:end], low[0], width[0])
    return _any_in_box(keys[0, begin:end], keys[1, begin:end], low[0], width[0], low[1], width[1])


@inner_borrowing_kernel
def any_inside_of_four(keys: Keys, begin: int, end: int, low: Keys, width: Keys) -> bool:
    """The same for four boxes, `low` and `width` having a row each: the window is read once for all."""
    kind = keys.dtype.type
    found = False
    xs = keys[0, begin:end]
    a, b, c, d = low[0, 0], low[1, 0], low[2, 0], low[3, 0]
    wide_a, wide_b, wide_c, wide_d = width[0, 0], width[1, 0], width[2, 0], width[3, 0]
    if keys.shape[0] == 1:
        for i in range(xs.shape[0]):
            x = xs[i]
            found |= (
                (kind(x - a) <= wide_a)
                | (kind(x - b) <= wide_b)
                | (kind(x - c) <= wide_c)
                | (kind(x - d) <= wide_d)
            )
        return found
    ys = keys[1, begin:end]
    e, f, g, h = low[0, 1], low[1, 1], low[2, 1], low[3, 1]
    wide_e, wide_f, wide_g, wide_h = width[0, 1], width[1, 1], width[2, 1], width[3, 1]
    for i in range(xs.shape[0]):
        x, y = xs[i], ys[i]
        found |= (
            ((kind(x - a) <= wide_a) & (kind(y - e) <= wide_e))
            | ((kind(x - b) <= wide_b) & (kind(y - f) <= wide_f))
            | ((kind(x - c) <= wide_c) & (kind(y - g) <= wide_g))
            | ((kind(x - d) <= wide_d) & (kind(y - h) <= wide_h))
        )
    return found


@inner_borrowing_kernel
def _write_down(
    keys: Keys, begin: int, end: int, low: Keys, width: Keys, offset: int, found: Positions, count: int
) -> int:
    """For a block that may have some: piece by piece, so that one match does not cost a look at every row."""
    for first in range(begin, end, PIECE):
        last = min(first + PIECE, end)
        if any_inside(keys, first, last, low, width):
            for slot in range(first, last):
                if inside(keys, slot, low, width):
                    if count == found.shape[0]:
                        return -1
                    found[count] = slot + offset
                    count += 1
    return count


@borrowing_kernel
def scan(
    keys: Keys, begin: int, end: int, low: Keys, width: Keys, offset: int, found: Positions, count: int
) -> int:
    """Append the positions (slot + `offset`) of the rows inside to `found`, which has `count` already; the
    new count, or -1 if there is no room."""
    flat, second = keys.shape[0] == 1, min(1, keys.shape[0] - 1)
    low_x, width_x, low_y, width_y = low[0], width[0], low[second], width[second]
    first = begin
    while first < end:
        last = min((first | (BLOCK - 1)) + 1, end)
        # As `any_inside`, which loads the box for every block: a twentieth of the time.
        if (
            _any_in_range(keys[0, first:last], low_x, width_x)
            if flat
            else _any_in_box(keys[0, first:last], keys[1, first:last], low_x, width_x, low_y, width_y)
        ):
            count = _write_down(keys, first, last, low, width, offset, found, count)
            if count < 0:
                return count
        first = last
    return count


@borrowing_kernel
def scan_four(
    keys: Keys,
    begin: int,
    end: int,
    low: Keys,
    width: Keys,
    offset: int,
    found: Positions,
    counts: Positions,
) -> bool:
    """The same for four boxes at once, each with a row of `found`; whether there was room."""
    first = begin
    while first < end:
        last = min((first | (BLOCK - 1)) + 1, end)
        if any_inside_of_four(keys, first, last, low, width):
            for box in range(TOGETHER):
                count = _write_down(keys, first, last, low[box], width[box], offset, found[box], counts[box])
                if count < 0:
                    return False
                counts[box] = count
        first = last
    return True
