"""Which stored rows a row meets: candidates from the sub-window, then the conditions as they are written.

The conditions are compiled by themselves and called by their address, with many candidates at a time: what is
compiled here does not depend on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.address import call
from dovetail.kernels.flags import inner_borrowing_kernel
from dovetail.sliding.kernels.layout import Layout, R
from dovetail.sliding.kernels.scan import Keys
from dovetail.sliding.kernels.subwindow import SubWindow, Words, candidates


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
    residual: int,
    probe: Probe,
) -> int:
    """Fill `probe.found` with the positions that `message`, a row of `side`, meets in the other side's
    window; their number, or -1 if there is no room. `residual` is an address, or 0."""
    take_box(message, layout, probe.low, probe.width)
    count = candidates(window, message, layout, probe.low, probe.width, access, probe.found)
    if count <= 0:
        return count
    return narrowed(window, message, side, layout, residual, probe, count)


@inner_borrowing_kernel
def narrowed(
    window: SubWindow,
    message: Words,
    side: int,
    layout: Layout,
    residual: int,
    probe: Probe,
    count: int,
) -> int:
    """Of the candidates in `probe.found`, those that meet all of the predicate."""
    values = message[layout.values_at : layout.values_at + layout.values]
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
