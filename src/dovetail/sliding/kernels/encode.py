"""Columns as keys, boxes and cells of messages (`sliding/kernels/layout.py`).

Law: for values of one column, keys are in the order of the values (-0.0 is 0.0), as unsigned integers of 32
or 64 bits. The box of a row holds the key of every value of the other column that its range allows; of whole
numbers exactly those, of floating-point ones a few more, as sums are rounded. The same for cells. A row for
which nothing is allowed is blank.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dovetail.kernels.flags import kernel
from dovetail.sliding.kernels.layout import BLANK, FIRST, FLAGS, KIND, ROW, SEEN, STAR, TIME, R

Messages = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEAST, _MOST = -(2**63), 2**63 - 1
_ROUNDING = 1e-15  # more than four times what a sum of two doubles may be off, relative to the larger
_FARTHEST_CELL = 2.0**61
NO_CELL = -1


@kernel
def cell_of(value: float, width: float) -> int:
    cell = np.floor(value / width)
    return int(min(max(cell, -_FARTHEST_CELL), _FARTHEST_CELL))


@kernel
def _moved(value: int, by: int) -> tuple[int, int]:
    """The sum, and 1 or -1 if it is above or below what 64 bits hold."""
    if by > 0 and value > _MOST - by:
        return _MOST, 1
    if by < 0 and value < _LEAST - by:
        return _LEAST, -1
    return value + by, 0


@kernel
def put_integers(
    made: Messages,
    values: Integers,
    at: tuple[int, int, int, int, int, int],
    bounded: tuple[bool, bool],
    low: int,
    high: int,
    bits: int,
    cell_width: float,
) -> None:
    """One dimension; `at` are the words of key, low, width and of three cells (the first of those NO_CELL:
    there are none). A cell width of 0: every value is a cell."""
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if bits == 64:
        least, most = _LEAST, _MOST
    for row in range(values.shape[0]):
        value = values[row]
        lowest, low_beyond = _moved(value, low) if bounded[0] else (least, 0)
        highest, high_beyond = _moved(value, high) if bounded[1] else (most, 0)
        if low_beyond > 0 or high_beyond < 0 or lowest > most or highest < least or lowest > highest:
            made[row, FLAGS] |= BLANK
            continue
        lowest, highest = max(lowest, least), min(highest, most)
        if bits == 32:
            made[row, at[0]] = value - least
            made[row, at[1]] = lowest - least
        else:
            made[row, at[0]] = value ^ _LEAST
            made[row, at[1]] = lowest ^ _LEAST
        made[row, at[2]] = highest - lowest  # wraps as unsigned numbers do
        if at[3] != NO_CELL:
            if cell_width == 0.0:
                made[row, at[3]], made[row, at[4]], made[row, at[5]] = value, lowest, highest
            else:
                made[row, at[3]] = cell_of(float(value), cell_width)
                made[row, at[4]] = cell_of(float(lowest), cell_width)
                made[row, at[5]] = cell_of(float(highest), cell_width)


@kernel
def put_floats(
    made: Messages,
    values: Floats,
    at: tuple[int, int, int, int, int, int],
    low: float,
    high: float,
    like: npt.NDArray[np.floating],
    cell_width: float,
) -> None:
    """The same for floating-point numbers of the kind of `like`; bounds may be infinite."""
    kind = like.dtype.type
    rows = values.shape[0]
    points, lows, highs = np.empty(rows, like.dtype), np.empty(rows, like.dtype), np.empty(rows, like.dtype)
    reach = 0.0
    if np.isfinite(low):
        reach = max(reach, abs(low))
    if np.isfinite(high):
        reach = max(reach, abs(high))
    for row in range(rows):
        value = values[row]
        if np.isnan(value):
            made[row, FLAGS] |= BLANK
            value = 0.0
        slack = _ROUNDING * max(abs(value), reach) if np.isfinite(value) else 0.0
        lowest, highest = (value + low) - slack, (value + high) + slack
        if np.isnan(lowest):  # inf - inf bounds nothing
            lowest = -np.inf
        if np.isnan(highest):
            highest = np.inf
        points[row] = kind(value + 0.0)  # no -0.0
        lows[row], highs[row] = kind(lowest + 0.0), kind(highest + 0.0)
        if at[3] != NO_CELL:
            made[row, at[3]] = cell_of(value, cell_width)
            # As wide as the key's box, which is rounded to the kind.
            made[row, at[4]] = cell_of(min(lowest, float(lows[row])), cell_width)
            made[row, at[5]] = cell_of(max(highest, float(highs[row])), cell_width)
    if like.itemsize == 4:
        _put_keys(made, at, points.view(np.uint32), lows.view(np.uint32), highs.view(np.uint32))
    else:
        _put_keys(made, at, points.view(np.uint64), lows.view(np.uint64), highs.view(np.uint64))


@kernel
def _put_keys(
    made: Messages,
    at: tuple[int, int, int, int, int, int],
    points: npt.NDArray[np.unsignedinteger],
    lows: npt.NDArray[np.unsignedinteger],
    highs: npt.NDArray[np.unsignedinteger],
) -> None:
    """From the bits of floats: a box one step wider on each side than its rounded bounds."""
    kind = points.dtype.type
    top, most = kind(1) << kind(8 * points.itemsize - 1), ~kind(0)
    for row in range(points.shape[0]):
        lowest, highest = _in_order(lows[row], top), _in_order(highs[row], top)
        if lowest > 0:
            lowest = kind(lowest - kind(1))
        if highest < most:
            highest = kind(highest + kind(1))
        made[row, at[0]] = np.int64(_in_order(points[row], top))
        made[row, at[1]] = np.int64(lowest)
        made[row, at[2]] = np.int64(kind(highest - lowest))


@kernel
def _in_order(bits, top):  # type: ignore[no-untyped-def]
    """Bits of a float as an unsigned number in the order of the floats."""
    return ~bits if bits & top else bits | top


@kernel
def number_rows(
    messages: Messages, times: Integers, rows: Integers, since: Integers, every: int, last_time: int
) -> int:
    """Give rows their numbers, in the order in which they are; every `every` rows of a stream (0: never) a
    punctuation is due.

    `rows` and `since` (rows since the last punctuation) are of both streams and move on. Returns the first
    row whose time goes back, and then nothing has moved; else -1.
    """
    for row in range(messages.shape[0]):
        if times[row] < (last_time if row == 0 else times[row - 1]):
            return row
    for row in range(messages.shape[0]):
        side = messages[row, KIND]
        messages[row, ROW] = rows[side]
        messages[row, SEEN] = rows[1 - side]
        messages[row, TIME] = times[row]
        rows[side] += 1
        if every:
            since[side] += 1
            if since[side] >= every:
                messages[row, FLAGS] |= STAR
                since[side] = 0
    return -1


@kernel
def put_first_by_rows(messages: Messages, left_rows: int, right_rows: int) -> None:
    """Which row of the other stream is the oldest that each may meet, where that stream's window is one by
    count."""
    for row in range(messages.shape[0]):
        of_other = right_rows if messages[row, KIND] == R else left_rows
        if of_other >= 0:
            messages[row, FIRST] = max(messages[row, SEEN] - of_other, 0)
