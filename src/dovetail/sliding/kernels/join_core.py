"""A join core as SplitJoin has it (and Kang's single one): it sees every row, probes its part of the other
window, and stores its share.

Law: stepped in any portions, a core puts out for each row of its inbox, in order, the pairs with the rows it
keeps that the row may meet, each once, and the punctuations due.

A core can stop between any two messages it sends: what it has found and not yet sent is in its state. So a
full channel never blocks a thread inside, and a test can run cores in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.atomic import cycles, load
from dovetail.sliding.kernels.channel import Channel, message, room, send, slot_to_fill, take, waiting
from dovetail.sliding.kernels.layout import (
    BLANK,
    FLAGS,
    KIND,
    PAIR_FOUND,
    PAIR_GROUP,
    PAIR_IN,
    PAIR_KIND,
    PAIR_ORDER,
    PAIR_R,
    PAIR_S,
    PAIR_TAKEN,
    ROW,
    SEEN,
    STAMP,
    STAR,
    STAR_R,
    TIME,
    WHOLE,
    Layout,
    R,
    S,
)
from dovetail.sliding.kernels.patience import FOR_LONG, pause
from dovetail.sliding.kernels.probe import Probe, meets, narrowed
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    SCAN,
    SubWindow,
    Words,
    expire_rows,
    expire_times,
    full,
    insert,
    size,
)
from dovetail.sliding.kernels.together import Pass, candidates_together

# What a step came to.
IDLE, WORKED, BLOCKED, NEEDS_ROOM, NEEDS_WINDOW_R, NEEDS_WINDOW_S = 0, 1, 2, 3, 4, 5
NEEDS_PASS = 7

# A core's state.
PHASE, FOUND, SENT_OUT, NEXT_GROUP, LAST_GROUP = 0, 1, 2, 3, 4
SEEN_R, SEEN_S = 5, 6
RANK, ALIVE = 7, 8  # its place among the cores that live, and their number
TAKEN_AT, COMPARED, NUMBER = 9, 10, 11
STATE_WORDS = 16
FRESH, SENDING = 0, 1

STEP_ROWS = 64

MEMBERS, CLOSE_BLOCK = 2, 3  # kinds of messages: which cores live; a punctuation is due now
MOST_CORES = 62


class Rules(NamedTuple):
    """What the join is: windows in rows or in time (-1 where the other holds), and how rows travel."""

    layout: Layout
    access: int
    rows_r: int
    rows_s: int
    time_r: int
    time_s: int
    group: int  # rows of the window that share a punctuation within a probe; 0: there are none
    timed: bool


class Core(NamedTuple):
    r: SubWindow
    s: SubWindow
    probe: Probe
    pass_r: Pass
    pass_s: Pass
    state: Words


@inner_borrowing_kernel
def expire(core: Core, rules: Rules, side: int, time: int) -> None:
    """Before a row of `side` is processed: what it cannot see leaves the other window (passively by count,
    actively by time; SplitJoin, 4.4), and so does what no later row can see leave its own, so that a silent
    stream does not keep the other's rows."""
    if rules.rows_r >= 0:
        expire_rows(core.r, core.state[SEEN_R] + (1 if side == R else 0) - rules.rows_r)
    else:
        expire_times(core.r, time - rules.time_r)
    if rules.rows_s >= 0:
        expire_rows(core.s, core.state[SEEN_S] + (1 if side == S else 0) - rules.rows_s)
    else:
        expire_times(core.s, time - rules.time_s)


@borrowing_kernel
def work(
    core: Core,
    inbox: Channel,
    out_r: Channel,
    out_s: Channel,
    rules: Rules,
    residual: int,
    budget: int,
    stop: Words,
) -> int:
    """Handle up to `budget` rows, or (FOR_LONG) as many as come until `stop` or a longer pause; what it came
    to. One kernel for both, as it takes long to compile."""
    idle = 0
    while load(stop, 0) == 0:
        rows = budget if budget != FOR_LONG else STEP_ROWS
        came_to = _step(core, inbox, out_r, out_s, rules, residual, rows)
        if budget != FOR_LONG or came_to >= NEEDS_ROOM:
            return came_to
        idle = 0 if came_to == WORKED else idle + 1
        if idle and not pause(idle):
            return IDLE
    return IDLE


@inner_borrowing_kernel
def _step(
    core: Core,
    inbox: Channel,
    out_r: Channel,
    out_s: Channel,
    rules: Rules,
    residual: int,
    budget: int,
) -> int:
    state = core.state
    worked = False
    for _ in range(budget):
        if state[PHASE] == FRESH:
            if waiting(inbox) == 0:
                return WORKED if worked else IDLE
            row = message(inbox, 0)
            if row[KIND] == MEMBERS:
                _learn_members(state, row)
                take(inbox, 1)
                worked = True
                continue
            if row[KIND] == CLOSE_BLOCK:
                if not _close_block(row, out_r, out_s):
                    return BLOCKED
                take(inbox, 1)
                worked = True
                continue
            came_to = _process(core, row, inbox, rules, residual)
            if came_to != WORKED:
                return came_to
        row = message(inbox, 0)
        if not _send_found(core, row, out_r if row[KIND] == R else out_s, rules):
            return BLOCKED
        take(inbox, 1)
        worked = True
    return WORKED


@inner_borrowing_kernel
def _learn_members(state: Words, row: Words) -> None:
    """Who lives is a set of bits: its place among them, and their number."""
    living, number = row[ROW], state[NUMBER]
    state[ALIVE], state[RANK] = 0, -1
    for core in range(MOST_CORES):
        if (living >> core) & 1:
            if core == number:
                state[RANK] = state[ALIVE]
            state[ALIVE] += 1


@inner_borrowing_kernel
def _close_block(row: Words, out_r: Channel, out_s: Channel) -> bool:
    """A punctuation for both kinds of probes, so that what is out can be read though the next one is not
    due."""
    if room(out_r) < 2 or room(out_s) < 2:  # both may be the same channel
        return False
    for side in range(2):
        out = out_r if side == R else out_s
        star = slot_to_fill(out, 0)
        star[PAIR_KIND] = STAR_R + side
        star[PAIR_ORDER] = row[ROW]
        star[PAIR_GROUP] = WHOLE
        send(out, 1)
    return True


@inner_borrowing_kernel
def _process(core: Core, row: Words, inbox: Channel, rules: Rules, residual: int) -> int:
    """Expire, probe, store: all or nothing, so that it can be tried again with more room."""
    state, side = core.state, row[KIND]
    if rules.timed:
        state[TAKEN_AT] = cycles()
    expire(core, rules, side, row[TIME])
    own, other = (core.r, core.s) if side == R else (core.s, core.r)
    blank = row[FLAGS] & BLANK
    mine = not blank and row[ROW] % state[ALIVE] == state[RANK]
    if mine and full(own):
        return NEEDS_WINDOW_R if side == R else NEEDS_WINDOW_S
    count = 0
    if not blank:
        count = -2
        if rules.access == SCAN:
            made = core.pass_r if side == R else core.pass_s
            count = candidates_together(other, row, inbox, rules.layout, made, core.probe)
            if count > 0:
                count = narrowed(other, row, side, rules.layout, residual, core.probe, count)
        if count == -2:
            count = meets(other, row, side, rules.layout, rules.access, residual, core.probe)
        if count < 0:
            return NEEDS_ROOM if count == -1 else NEEDS_PASS
        state[COMPARED] += size(other)
        if rules.group:
            sort_positions(core.probe.found, count)
    mask = other.rows.shape[0] - 1
    if rules.group:
        begin, end = other.marks[BEGIN], other.marks[BEGIN] + size(other)
        state[NEXT_GROUP] = other.rows[begin & mask] // rules.group if end > begin else 0
        state[LAST_GROUP] = other.rows[(end - 1) & mask] // rules.group if end > begin else -1
    for n in range(count):
        core.probe.found[n] = other.rows[core.probe.found[n] & mask]
    if mine:
        insert(own, row, rules.layout)
    state[SEEN_R if side == R else SEEN_S] += 1
    state[FOUND], state[SENT_OUT], state[PHASE] = count, 0, SENDING
    return WORKED


@inner_borrowing_kernel
def sort_positions(found: Words, count: int) -> None:
    """In place: by Shell's gaps."""
    gap = max(count // 2, 1)
    while gap > 0:
        for n in range(gap, count):
            moved, at = found[n], n
            while at >= gap and found[at - gap] > moved:
                found[at] = found[at - gap]
                at -= gap
            found[at] = moved
        gap = 1 if gap == 2 else gap * 5 // 11


@inner_borrowing_kernel
def _send_found(core: Core, row: Words, out: Channel, rules: Rules) -> bool:
    """Send pairs and punctuations as far as there is room; whether all are out."""
    state, side = core.state, row[KIND]
    order = row[ROW] + row[SEEN]
    while state[SENT_OUT] < state[FOUND] or (rules.group and state[NEXT_GROUP] <= state[LAST_GROUP]):
        if room(out) == 0:
            return False
        pair = slot_to_fill(out, 0)
        pair[PAIR_ORDER] = order
        met = core.probe.found[state[SENT_OUT]] if state[SENT_OUT] < state[FOUND] else WHOLE
        if rules.group and met // rules.group > state[NEXT_GROUP]:
            pair[PAIR_KIND] = STAR_R + side
            pair[PAIR_GROUP] = state[NEXT_GROUP]
            state[NEXT_GROUP] += 1
        else:
            pair[PAIR_KIND] = side
            pair[PAIR_R] = row[ROW] if side == R else met
            pair[PAIR_S] = met if side == R else row[ROW]
            pair[PAIR_GROUP] = met // rules.group if rules.group else 0
            if rules.timed:
                pair[PAIR_IN] = row[STAMP]
                pair[PAIR_TAKEN] = state[TAKEN_AT]
                pair[PAIR_FOUND] = cycles()
            state[SENT_OUT] += 1
        send(out, 1)
    if row[FLAGS] & STAR:
        if room(out) == 0:
            return False
        pair = slot_to_fill(out, 0)
        pair[PAIR_KIND] = STAR_R + side
        pair[PAIR_ORDER] = order
        pair[PAIR_GROUP] = WHOLE
        send(out, 1)
    state[PHASE] = FRESH
    return True


def state_of(rank: int, alive: int) -> Words:
    state = np.zeros(STATE_WORDS, np.int64)
    state[RANK], state[ALIVE], state[NUMBER] = rank, alive, rank
    return state
