"""Which stored rows a row meets: candidates from the sub-window, then what boxes cannot say.

Boxes over floating-point columns are a little too wide (`sliding/kernels/encode.py`), so the range is
checked once more with the values themselves, `right + low <= left <= right + high` in double precision.
Whatever else the predicate says is compiled by itself and called by its address, with many candidates at a
time: what is compiled here does not depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.kernels.address import call
from dovetail.kernels.flags import inner_borrowing_kernel
from dovetail.sliding.kernels.layout import Layout, R
from dovetail.sliding.kernels.scan import Keys
from dovetail.sliding.kernels.subwindow import SubWindow, Words, candidates


class Ranges(NamedTuple):
    """`right + low <= left <= right + high` for the first values of each row; open: `<`."""

    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    low_open: npt.NDArray[np.bool_]
    high_open: npt.NDArray[np.bool_]


class Probe(NamedTuple):
    """What a core needs to probe: a place for what is found, and one box."""

    found: Words
    low: Keys
    width: Keys


def probe_room(rows: int, dimensions: int, kind: type[np.unsignedinteger]) -> Probe:
    return Probe(
        np.empty(rows, np.int64),
        np.empty(dimensions, kind),
        np.empty(dimensions, kind),
    )


@inner_borrowing_kernel
def take_box(message: Words, layout: Layout, low: Keys, width: Keys) -> None:
    for dimension in range(layout.dimensions):
        low[dimension] = message[layout.lows_at + dimension]
        width[dimension] = message[layout.widths_at + dimension]


@inner_borrowing_kernel
def meets(
    window: SubWindow,
    message: Words,
    side: int,
    layout: Layout,
    access: int,
    ranges: Ranges,
    residual: int,
    probe: Probe,
) -> int:
    """Fill `probe.found` with the positions that `message`, a row of `side`, meets in the other side's
    window; their number, or -1 if there is no room. `residual` is an address, or 0."""
    take_box(message, layout, probe.low, probe.width)
    count = candidates(window, message, layout, probe.low, probe.width, access, probe.found)
    if count <= 0:
        return count
    return narrowed(window, message, side, layout, ranges, residual, probe, count)


@inner_borrowing_kernel
def narrowed(
    window: SubWindow,
    message: Words,
    side: int,
    layout: Layout,
    ranges: Ranges,
    residual: int,
    probe: Probe,
    count: int,
) -> int:
    """Of the candidates in `probe.found`, those that meet all of the predicate."""
    mask = window.rows.shape[0] - 1
    values = message[layout.values_at : layout.values_at + layout.values]
    if ranges.low.shape[0]:
        kept = 0
        numbers = values.view(np.float64)
        stored = window.values.view(np.float64)
        for n in range(count):
            position = probe.found[n]
            if _in_ranges(stored, position & mask, numbers, side, ranges):
                probe.found[kept] = position
                kept += 1
        count = kept
    if residual and count:
        count = call(
            residual,
            (
                window.values.ctypes.data,
                window.rows.shape[0],
                probe.found.ctypes.data,
                count,
                values.ctypes.data,
                np.int64(side != R),
            ),
        )
    return count


@inner_borrowing_kernel
def _in_ranges(
    stored: npt.NDArray[np.float64], slot: int, numbers: npt.NDArray[np.float64], side: int, ranges: Ranges
) -> bool:
    for n in range(ranges.low.shape[0]):
        left, right = numbers[n], stored[n, slot]
        if side != R:
            left, right = right, left
        low, high = right + ranges.low[n], right + ranges.high[n]
        if left < low or left > high:
            return False
        if (ranges.low_open[n] and left == low) or (ranges.high_open[n] and left == high):
            return False
    return True
