"""The rows of a sub-window in one row's box: by reading all keys, by the chains of cells, or by a search in
every sorted run."""

from __future__ import annotations

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.layout import Layout
from dovetail.sliding.kernels.scan import inside
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    CELLS,
    END,
    MOST_CELLS,
    RUN_ROWS,
    RUNS,
    Probe,
    SubWindow,
    Words,
    scan_positions,
    take_box,
)
from dovetail.sliding.kernels.walk import cells_of, walk


@borrowing_kernel
def candidates(window: SubWindow, message: Words, layout: Layout, access: int, probe: Probe) -> int:
    """Fill `probe.found` with the positions of the rows in the message's box; their number, or -1 if it has
    no room."""
    take_box(message, layout, probe.low, probe.width)
    if access == CELLS:
        cells = cells_of(message, layout)
        if cells <= MOST_CELLS:
            return walk(window, message, layout, cells, probe)
    elif access == RUNS:
        return _search(window, probe)
    return scan_positions(window, window.marks[BEGIN], window.marks[END], probe, 0)


@inner_borrowing_kernel
def _search(window: SubWindow, probe: Probe) -> int:
    found, low, width = probe.found, probe.low, probe.width
    begin, end, mask = window.marks[BEGIN], window.marks[END], window.rows.shape[0] - 1
    keys = window.keys[0]
    first_run, last_run = -(-begin // RUN_ROWS) * RUN_ROWS, end // RUN_ROWS * RUN_ROWS
    if first_run >= last_run:
        return scan_positions(window, begin, end, probe, 0)
    count = scan_positions(window, begin, first_run, probe, 0)
    for run in range(first_run, last_run, RUN_ROWS):
        if count < 0:
            return count
        base = run & mask
        below, above = base, base + RUN_ROWS
        while below < above:  # the first row of the run that is not below the box
            middle = (below + above) >> 1
            if keys[window.order[middle]] < low[0]:
                below = middle + 1
            else:
                above = middle
        while below < base + RUN_ROWS:
            slot = window.order[below]
            if keys.dtype.type(keys[slot] - low[0]) > width[0]:
                break
            if inside(window.keys, slot, low, width):
                if count == found.shape[0]:
                    return -1
                found[count] = run + (slot - base)
                count += 1
            below += 1
    if count < 0:
        return count
    return scan_positions(window, last_run, end, probe, count)
