"""Law: `out[i]` is element `at[i]` of piece `piece[i]`; where `piece[i]` is negative there is none.

A column of the log is in as many pieces as there are segments, each mapped somewhere else. Arrow's `take`
would first copy them all into one, however few elements are wanted; these kernels go to the elements, by the
address of each piece. The caller keeps the pieces alive, and knows that `at` is within them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.address import copy, load
from dovetail.kernels.flags import kernel

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]


@kernel
def locate(
    starts: Int64s,
    end: int,
    rows: Int64s,
    piece: Int32s,
    at: Int64s,
    numbers: Int32s,
    met: Int64s,
    known: int,
    touched: NDArray[np.bool_],
) -> tuple[int, int]:
    """Where rows are, by number, in segments that follow each other: the first rows of the segments are
    `starts`, the last one ends before row `end`. A negative number is no row, and in piece -1.

    Pieces are the segments that were met, numbered as they were: `met` has the segment of each piece, and
    `numbers` of each segment its piece plus one, 0 if it has none. So what comes after costs as much as the
    segments that are met, however many there are. Returns the place of a number that no segment has, -1 if
    there is none; and how many pieces are known now.
    """
    last = len(starts) - 1
    number, low, high = -1, 0, 0
    for i in range(len(rows)):
        row = rows[i]
        if row < 0:
            piece[i], at[i] = -1, row
            continue
        if row < low or row >= high:  # neighbours are often in one segment
            if last < 0 or row < starts[0] or row >= end:
                return i, known
            found, above = 0, last
            while found < above:
                middle = (found + above + 1) >> 1
                if starts[middle] <= row:
                    found = middle
                else:
                    above = middle - 1
            low, high = starts[found], starts[found + 1] if found < last else end
            if numbers[found] == 0:
                met[known] = found
                known += 1
                numbers[found] = known
            number = numbers[found] - 1
            touched[number] = True
        piece[i], at[i] = number, row - low
    return -1, known


@kernel
def fixed(data: Int64s, piece: Int32s, at: Int64s, out: NDArray[Any]) -> None:
    """Elements of a fixed width, that of `out`; zero where there is none. `data`: the pieces' addresses."""
    width = out.itemsize
    nothing = out.dtype.type(0)
    for i in range(len(out)):
        if piece[i] >= 0:
            out[i] = load(data[piece[i]] + at[i] * width, nothing)
        else:
            out[i] = nothing


@kernel
def validity(bits: Int64s, piece: Int32s, at: Int64s, out: NDArray[np.uint8]) -> int:
    """Validity bits into `out`, which is all zero; returns the nulls. An address of 0: a piece without
    nulls."""
    nulls = 0
    for i in range(len(piece)):
        valid = piece[i] >= 0
        if valid and bits[piece[i]] != 0:
            byte = load(bits[piece[i]] + (at[i] >> 3), np.uint8(0))
            valid = (byte >> np.uint8(at[i] & 7)) & 1 != 0
        if valid:
            out[i >> 3] |= np.uint8(1 << (i & 7))
        else:
            nulls += 1
    return nulls


@kernel
def text_ends(offsets: Int64s, piece: Int32s, at: Int64s, ends: Int64s) -> None:
    """Where each text ends if all are laid end to end. `offsets`: addresses of the pieces' 32-bit offsets."""
    end = np.int64(0)
    for i in range(len(piece)):
        if piece[i] >= 0:
            place = offsets[piece[i]] + at[i] * 4
            end += load(place + 4, np.int32(0)) - load(place, np.int32(0))
        ends[i] = end


@kernel
def texts(offsets: Int64s, data: Int64s, piece: Int32s, at: Int64s, ends: Int64s, out: int) -> None:
    """The bytes of the texts, end to end, to the address `out`."""
    start = np.int64(0)
    for i in range(len(piece)):
        if piece[i] >= 0:
            first = load(offsets[piece[i]] + at[i] * 4, np.int32(0))
            copy(out + start, data[piece[i]] + first, ends[i] - start)
        start = ends[i]
