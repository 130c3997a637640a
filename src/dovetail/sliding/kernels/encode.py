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
from dovetail.predicates.bands import DOUBLE_DOUBT
from dovetail.predicates.kernels.order import LEAST, MOST, in_order, moved
from dovetail.sliding.kernels.layout import BLANK, FIRST, FLAGS, KIND, ROW, SEEN, STAR, TIME, R

Messages = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FARTHEST_CELL = 2.0**61
NO_CELL = -1


@kernel
def cell_of(value: float, width: float) -> int:
    cell = np.floor(value / width)
    return int(min(max(cell, -_FARTHEST_CELL), _FARTHEST_CELL))


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
        least, most = LEAST, MOST
    for row in range(values.shape[0]):
        value = values[row]
        lowest, low_beyond = moved(value, low) if bounded[0] else (least, 0)
        highest, high_beyond = moved(value, high) if bounded[1] else (most, 0)
        if low_beyond > 0 or high_beyond < 0 or lowest > most or highest < least or lowest > highest:
            made[row, FLAGS] |= BLANK
            continue
        lowest, highest = max(lowest, least), min(highest, most)
        if bits == 32:
            made[row, at[0]] = value - least
            made[row, at[1]] = lowest - least
        else:
            made[row, at[0]] = value ^ LEAST
            made[row, at[1]] = lowest ^ LEAST
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
    scale: float,
    like: npt.NDArray[np.floating],
    cell_width: float,
) -> None:
    """The same for floating-point numbers of the kind of `like`; bounds may be infinite. `scale`: the size of
    the constants that the conditions add."""
    kind = like.dtype.type
    rows = values.shape[0]
    points, lows, highs = np.empty(rows, like.dtype), np.empty(rows, like.dtype), np.empty(rows, like.dtype)
    for row in range(rows):
        value = values[row]
        if np.isnan(value):
            made[row, FLAGS] |= BLANK
            value = 0.0
        slack = DOUBLE_DOUBT * (abs(value) + scale) if np.isfinite(value) else 0.0
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
        _put_keys(made, at, points.view(np.int32), lows.view(np.int32), highs.view(np.int32))
    else:
        _put_keys(made, at, points.view(np.int64), lows.view(np.int64), highs.view(np.int64))


@kernel
def _put_keys(
    made: Messages,
    at: tuple[int, int, int, int, int, int],
    points: npt.NDArray[np.signedinteger],
    lows: npt.NDArray[np.signedinteger],
    highs: npt.NDArray[np.signedinteger],
) -> None:
    """From the bits of floats: a box one step wider on each side than its rounded bounds."""
    shift = 8 * points.itemsize - 1
    least = np.int64(LEAST) >> (63 - shift)
    most = ~least
    for row in range(points.shape[0]):
        lowest = in_order(np.int64(lows[row]), shift, most)
        highest = in_order(np.int64(highs[row]), shift, most)
        if lowest > least:
            lowest -= 1
        if highest < most:
            highest += 1
        made[row, at[0]] = in_order(np.int64(points[row]), shift, most) - least  # unsigned: from 0 on
        made[row, at[1]] = lowest - least
        made[row, at[2]] = highest - lowest


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
