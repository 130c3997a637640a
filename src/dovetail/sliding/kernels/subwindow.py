"""The part of one stream's window that one core keeps: rows in the order of their arrival, oldest first out.

Law: what `candidates` (`candidates.py`) finds are the rows from BEGIN to END whose keys lie in the box, each
once, in no order that is promised; `expire` moves BEGIN, `insert` moves END, and nothing else changes what is
there.

A position counts the rows ever inserted; its slot is the position modulo the capacity. Three ways to the rows
in a box: *scan* reads all keys; *cells* chains rows by the cell of a grid they lie in (for an equality: by
the key itself), and as a chain leads from the newest position to older ones, it ends at the first that has
expired, so nothing is ever unlinked; *runs* keeps every whole block of rows sorted by the first key and
searches each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.kernels.flags import borrowing_kernel, folded_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.layout import ROW, TIME, Layout
from dovetail.sliding.kernels.scan import Keys, keys_room, scan

BEGIN, END = 0, 1
SCAN, CELLS, RUNS = 0, 1, 2
RUN_ROWS = 1024
MOST_CELLS = 64  # of the boxes that are looked for together; a box that covers more is scanned for
_NONE = -1
CHAINED, CHAINED_KEYS = 4, 3
"""Words of a row in its chain, half a cache line: a step of a walk waits for one line."""

Words = npt.NDArray[np.int64]


class Probe(NamedTuple):
    """What a core needs to probe: a place for what is found, and one box."""

    found: Words
    low: Keys
    width: Keys


def probe_room(rows: int, dimensions: int, kind: type[np.unsignedinteger]) -> Probe:
    return Probe(np.empty(rows, np.int64), np.empty(dimensions, kind), np.empty(dimensions, kind))


class SubWindow(NamedTuple):
    keys: Keys  # dimensions x capacity
    values: Words  # values x capacity
    rows: Words
    times: Words
    hashes: Words  # of each row's cell; empty but for cells
    # of each row side by side: the next older row of its chain, its first keys; empty but for cells
    chained: Words
    heads: Words
    order: npt.NDArray[np.int32]  # of each run: its slots by the first key; empty but for runs
    scratch: Words
    marks: Words


def sub_window(layout: Layout, kind: type[np.unsignedinteger], capacity: int, access: int) -> SubWindow:
    """An empty one with room for `capacity` rows, a power of two."""
    cells = capacity if access == CELLS else 0
    return SubWindow(
        keys_room(layout.dimensions, capacity, kind),
        np.zeros((layout.values, capacity), np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(cells, np.int64),
        np.zeros(CHAINED * cells, np.int64),
        np.full(2 * cells, _NONE, np.int64),
        np.zeros(capacity if access == RUNS else 0, np.int32),
        np.zeros(4 * MOST_CELLS, np.int64),
        np.zeros(8, np.int64),
    )


def larger(old: SubWindow, layout: Layout) -> SubWindow:
    """The same rows with twice the room."""
    access = CELLS if len(old.heads) else RUNS if len(old.order) else SCAN
    new = sub_window(layout, old.keys.dtype.type, 2 * len(old.rows), access)
    move(old, new)
    return new


@folded_kernel
def take_box(message: Words, layout: Layout, low: Keys, width: Keys) -> None:
    for dimension in range(layout.dimensions):
        low[dimension] = message[layout.lows_at + dimension]
        width[dimension] = message[layout.widths_at + dimension]


@folded_kernel
def size(window: SubWindow) -> int:
    return window.marks[END] - window.marks[BEGIN]


@folded_kernel
def full(window: SubWindow) -> bool:
    return size(window) == window.rows.shape[0]


@folded_kernel
def cell_hash(cells: Words, at: int, dimensions: int) -> int:
    mixed = np.uint64(0)
    for dimension in range(dimensions):
        mixed = (mixed ^ np.uint64(cells[at + dimension])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return int(mixed >> np.uint64(1))


@borrowing_kernel
def insert(window: SubWindow, message: Words, layout: Layout) -> None:
    """Keep a row. There must be room."""
    position = window.marks[END]
    slot = position & (window.rows.shape[0] - 1)
    for dimension in range(layout.dimensions):
        window.keys[dimension, slot] = message[layout.keys_at + dimension]
    for value in range(layout.values):
        window.values[value, slot] = message[layout.values_at + value]
    window.rows[slot] = message[ROW]
    window.times[slot] = message[TIME]
    if window.heads.shape[0]:
        window.hashes[slot] = cell_hash(message, layout.cells_at, layout.grid)
        _link(window, position, slot)
    # Nobody else reads this window while its core inserts, so END needs no release store: a window has one
    # thread. Where workers share one (`partition.py`), they read it only after a message that follows this.
    window.marks[END] = position + 1
    if window.order.shape[0] and (position + 1) % RUN_ROWS == 0:
        _sort_run(window, slot + 1 - RUN_ROWS)


@folded_kernel
def _link(window: SubWindow, position: int, slot: int) -> None:
    head = window.hashes[slot] & (window.heads.shape[0] - 1)
    at = CHAINED * slot
    window.chained[at] = window.heads[head]
    for dimension in range(min(window.keys.shape[0], CHAINED_KEYS)):
        window.chained[at + 1 + dimension] = np.int64(window.keys[dimension, slot])
    window.heads[head] = position


@inner_borrowing_kernel
def _sort_run(window: SubWindow, first: int) -> None:
    order, keys = window.order, window.keys
    for slot in range(first, first + RUN_ROWS):
        order[slot] = slot
    gap = RUN_ROWS // 2 - 1
    while gap > 0:  # Shell's sort: in place, and a run is short
        for n in range(first + gap, first + RUN_ROWS):
            moved = order[n]
            at = n
            while at >= first + gap and keys[0, order[at - gap]] > keys[0, moved]:
                order[at] = order[at - gap]
                at -= gap
            order[at] = moved
        gap = 1 if gap == 2 else gap * 5 // 11


@folded_kernel
def let_go(window: SubWindow, ages: Words, oldest: int) -> None:
    """For rows with a smaller number, or from before that time: `ages` are the window's rows or times."""
    begin, end, mask = window.marks[BEGIN], window.marks[END], window.rows.shape[0] - 1
    while begin < end and ages[begin & mask] < oldest:
        begin += 1
    window.marks[BEGIN] = begin


@folded_kernel
def expire(window: SubWindow, rows: int, time: int, came: int, now: int) -> None:
    """Let go of what is out of the window when `came` rows of its stream have come and it is `now`. The
    window is one of `rows`, or (-1) of `time`."""
    if rows >= 0:
        let_go(window, window.rows, came - rows)
    else:
        let_go(window, window.times, now - time)


@borrowing_kernel
def move(old: SubWindow, new: SubWindow) -> None:
    """Take over the rows of another one; `new` is empty and large enough."""
    old_mask, new_mask = old.rows.shape[0] - 1, new.rows.shape[0] - 1
    begin, end = old.marks[BEGIN], old.marks[END]
    new.marks[BEGIN] = begin
    for position in range(begin, end):
        source, slot = position & old_mask, position & new_mask
        for dimension in range(old.keys.shape[0]):
            new.keys[dimension, slot] = old.keys[dimension, source]
        for value in range(old.values.shape[0]):
            new.values[value, slot] = old.values[value, source]
        new.rows[slot] = old.rows[source]
        new.times[slot] = old.times[source]
        if new.heads.shape[0]:
            new.hashes[slot] = old.hashes[source]
            _link(new, position, slot)
        if new.order.shape[0] and (position + 1) % RUN_ROWS == 0 and position + 1 - begin >= RUN_ROWS:
            _sort_run(new, slot + 1 - RUN_ROWS)
    new.marks[END] = end


@inner_borrowing_kernel
def scan_positions(window: SubWindow, begin: int, end: int, probe: Probe, count: int) -> int:
    """Scan the rows at these positions: in one piece, or in two where they wrap around."""
    capacity = window.rows.shape[0]
    while begin < end and count >= 0:
        slot = begin & (capacity - 1)
        last = min(slot + (end - begin), capacity)
        count = scan(window.keys, slot, last, probe.low, probe.width, begin - slot, probe.found, count)
        begin += last - slot
    return count
