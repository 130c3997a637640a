"""Several rows a pass: where rows of one stream wait, four of them look through the other window at once.

Law: what a row finds is what it would find alone. The pass is made when the first of the four is processed;
for each that follows, what has expired since is left out, and what has been stored since is scanned for it
alone.

Reading a window from memory is what a scan costs once it does not fit the caches: four rows read it once.
Where cells have chains, each step waits for memory, and four rows wait together (`walk.py`). All designs look
this way, so that what is compared is the designs (`Rules.together` is off for one row a pass).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.flags import folded_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.channel import Channel, all_waiting, message
from dovetail.sliding.kernels.layout import BLANK, FLAGS, KIND, ROW, Layout
from dovetail.sliding.kernels.scan import TOGETHER, Keys, scan_four
from dovetail.sliding.kernels.stepping import Rules
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    CELLS,
    END,
    MOST_CELLS,
    SCAN,
    Probe,
    SubWindow,
    Words,
    scan_positions,
    take_box,
)
from dovetail.sliding.kernels.walk import cells_of, put_chains, walk_all

LEAST, LEAST_WALKS = 3, 2  # rows that make a pass for four worth it: of a scan, of walks
AHEAD = 16
FIRST_FOUND = 512
COUNT, SCANNED_TO, ROWS_AT, COUNTS_AT, AHEAD_AT = 0, 1, 2, 2 + TOGETHER, 2 + 2 * TOGETHER


class Pass(NamedTuple):
    """For one side's rows: which four, and what they found."""

    state: Words  # how many, up to which position, row numbers, numbers found, places in the inbox
    found: Words
    low: Keys
    width: Keys


def make_pass(dimensions: int, kind: type[np.unsignedinteger], found: int) -> Pass:
    """`found`: how many rows each of the four may find."""
    return Pass(
        np.zeros(2 + 3 * TOGETHER, np.int64),
        np.empty((TOGETHER, found), np.int64),
        np.empty((TOGETHER, dimensions), kind),
        np.empty((TOGETHER, dimensions), kind),
    )


@inner_borrowing_kernel
def look_ahead(inbox: Channel, side: int, made: Pass, layout: Layout) -> int:
    """Choose rows of that side that wait, in order; how many. What else waits between them may expire rows:
    those are left out when a row's turn comes."""
    chosen, ahead, there = 0, 0, min(all_waiting(inbox), AHEAD)
    while chosen < TOGETHER and ahead < there:
        row = message(inbox, ahead)
        ahead += 1
        if row[KIND] == side and not row[FLAGS] & BLANK:
            take_box(row, layout, made.low[chosen], made.width[chosen])
            made.state[ROWS_AT + chosen] = row[ROW]
            made.state[AHEAD_AT + chosen] = ahead - 1
            chosen += 1
    return chosen


@inner_borrowing_kernel
def scan_together(window: SubWindow, made: Pass, rows: int, begin: int, end: int) -> bool:
    """One pass over these positions for all; whether what they found had room."""
    for spare in range(rows, TOGETHER):  # boxes there are not: the last one again
        for dimension in range(made.low.shape[1]):
            made.low[spare, dimension] = made.low[rows - 1, dimension]
            made.width[spare, dimension] = made.width[rows - 1, dimension]
    counts = made.state[COUNTS_AT : COUNTS_AT + TOGETHER]
    for box in range(TOGETHER):
        counts[box] = 0
    capacity = window.rows.shape[0]
    made.state[COUNT], made.state[SCANNED_TO] = 0, end
    while begin < end:
        slot = begin & (capacity - 1)
        last = min(slot + (end - begin), capacity)
        if not scan_four(window.keys, slot, last, made.low, made.width, begin - slot, made.found, counts):
            return False
        begin += last - slot
    made.state[COUNT] = rows
    return True


@inner_borrowing_kernel
def walk_together(window: SubWindow, made: Pass, rows: int, inbox: Channel, layout: Layout) -> int:
    """The same by the chains of cells. 0, or -2 if the boxes reach into too many of them for a pass, or -3 if
    what they found had no room."""
    counts, chains = made.state[COUNTS_AT : COUNTS_AT + TOGETHER], 0
    made.state[COUNT], made.state[SCANNED_TO] = 0, window.marks[END]
    for box in range(rows):
        row = message(inbox, made.state[AHEAD_AT + box])
        cells = cells_of(row, layout)
        if chains + cells > MOST_CELLS:
            return -2
        chains = put_chains(window, row, layout, cells, box, chains)
        counts[box] = 0
    if not walk_all(window, chains, made.low, made.width, made.found, counts):
        return -3
    made.state[COUNT] = rows
    return 0


@folded_kernel
def found_between(row: Words, made: Pass, probe: Probe, begin: int, end: int) -> int:
    """What the row has found at these positions in a pass, in `probe.found`; -1 if there is no room, -2 if it
    was in no pass."""
    number = -1
    for n in range(made.state[COUNT]):
        if made.state[ROWS_AT + n] == row[ROW]:
            number = n
    if number < 0:
        return -2
    if made.state[COUNTS_AT + number] > probe.found.shape[0]:
        return -1
    count = 0
    for n in range(made.state[COUNTS_AT + number]):
        if begin <= made.found[number, n] < end:
            probe.found[count] = made.found[number, n]
            count += 1
    return count


@folded_kernel
def found_together(window: SubWindow, row: Words, made: Pass, probe: Probe, layout: Layout) -> int:
    """What the row has found in a pass, and since, in `probe.found`; -1 if there is no room, -2 if it was in
    no pass."""
    begin = window.marks[BEGIN]
    count = found_between(row, made, probe, begin, window.marks[END])
    if count < 0:
        return count
    take_box(row, layout, probe.low, probe.width)
    since = max(made.state[SCANNED_TO], begin)
    return scan_positions(window, since, window.marks[END], probe, count)


@folded_kernel
def candidates_together(
    window: SubWindow, row: Words, inbox: Channel, rules: Rules, made: Pass, probe: Probe
) -> int:
    """Candidates by a pass, an old one or one made now; -2 if too few rows wait for one, -3 if the pass needs
    more room. Then the caller makes room and comes back: a pass given up would cost more than none at all,
    for each of the four."""
    count = found_together(window, row, made, probe, rules.layout)
    if count != -2:
        return count
    rows = look_ahead(inbox, row[KIND], made, rules.layout)
    if rows < (LEAST if rules.access == SCAN else LEAST_WALKS):
        made.state[COUNT] = 0
        return -2
    if rules.access == CELLS:
        came_to = walk_together(window, made, rows, inbox, rules.layout)
        if came_to != 0:
            return came_to
    elif not scan_together(window, made, rows, window.marks[BEGIN], window.marks[END]):
        return -3
    return found_together(window, row, made, probe, rules.layout)
