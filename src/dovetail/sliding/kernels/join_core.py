"""A join core as SplitJoin has it (and Kang's single one): it sees every row, probes its part of the other
window, and stores its share.

Law: stepped in any portions, a core puts out for each row of its inbox, in order, the pairs with the rows it
keeps that the row may meet, each once, and the punctuations due.

A core can stop between any two messages it sends: what it has found and not yet sent is in its state. So a
full channel never blocks a thread inside, and a test can run cores in any order.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.kernels.flags import borrowing_kernel, folded_kernel, inner_borrowing_kernel
from dovetail.kernels.machine import cycles
from dovetail.sliding.kernels.channel import Channel, message, room, take, waiting
from dovetail.sliding.kernels.layout import (
    BLANK,
    COARSER,
    FLAGS,
    KIND,
    ROW,
    SEEN,
    STAMP,
    STAR,
    TIME,
    WHOLE,
    R,
    S,
)
from dovetail.sliding.kernels.probe import meets_together
from dovetail.sliding.kernels.results import send_pair, send_star
from dovetail.sliding.kernels.stepping import (
    BLOCKED,
    COMPARED,
    CORES,
    FOUND,
    IDLE,
    NEEDS_PASS,
    NEEDS_ROOM,
    NEEDS_WINDOW_R,
    NEEDS_WINDOW_S,
    NUMBER,
    OWN,
    SENT_OUT,
    TAKEN_AT,
    WORKED,
    Rules,
    until_stopped,
)
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    Probe,
    SubWindow,
    Words,
    expire,
    full,
    insert,
    size,
)
from dovetail.sliding.kernels.together import Pass

# A core's own state: whether the row at hand is processed, the next and the last group to punctuate, rows of
# both streams so far, its place among the cores that live.
PHASE, NEXT_GROUP, LAST_GROUP, SEEN_R, SEEN_S, RANK = OWN, OWN + 1, OWN + 2, OWN + 3, OWN + 4, OWN + 5
ALIVE = CORES  # not those that have failed
FRESH, SENDING = 0, 1

MEMBERS, CLOSE_BLOCK = 2, 3  # kinds of messages: which cores live; a punctuation is due now
MOST_CORES = 62


class Core(NamedTuple):
    r: SubWindow
    s: SubWindow
    probe: Probe
    pass_r: Pass
    pass_s: Pass
    state: Words


class Links(NamedTuple):
    inbox: Channel
    out_r: Channel
    out_s: Channel


@borrowing_kernel
def run(core: Core, links: Links, rules: Rules, budget: int, stop: Words) -> int:
    """Handle up to `budget` rows at a time, until `stop` or a longer pause; what it came to."""
    return until_stopped(_step, core, links, rules, budget, stop)


@inner_borrowing_kernel
def _step(core: Core, links: Links, rules: Rules, budget: int) -> int:
    state, inbox, worked = core.state, links.inbox, False
    for _ in range(budget):
        if waiting(inbox) == 0:
            return WORKED if worked else IDLE
        row = message(inbox, 0)
        if row[KIND] == MEMBERS:
            _learn_members(state, row)
        elif row[KIND] == CLOSE_BLOCK:
            if not _close_block(row, links.out_r, links.out_s):
                return BLOCKED
        else:
            if state[PHASE] == FRESH:
                came_to = _process(core, row, inbox, rules)
                if came_to != WORKED:
                    return came_to
            if not _send_found(core, row, links.out_r if row[KIND] == R else links.out_s, rules):
                return BLOCKED
        take(inbox, 1)
        worked = True
    return WORKED


@folded_kernel
def _learn_members(state: Words, row: Words) -> None:
    """Who lives is a set of bits: its place among them, and their number."""
    living, number = row[ROW], state[NUMBER]
    state[ALIVE], state[RANK] = 0, -1
    for core in range(MOST_CORES):
        if (living >> core) & 1:
            if core == number:
                state[RANK] = state[ALIVE]
            state[ALIVE] += 1


@folded_kernel
def _close_block(row: Words, out_r: Channel, out_s: Channel) -> bool:
    """A punctuation for both kinds of probes, so that what is out can be read though the next one is not
    due."""
    if room(out_r) < 2 or room(out_s) < 2:  # both may be the same channel
        return False
    for side in range(2):
        send_star(out_r if side == R else out_s, side, row[ROW], WHOLE)
    return True


@folded_kernel
def _process(core: Core, row: Words, inbox: Channel, rules: Rules) -> int:
    """Expire, probe, store: all or nothing, so that it can be tried again with more room.

    What the row cannot see leaves the other window (passively by count, actively by time; SplitJoin, 4.4),
    and so does what no later row can see leave its own, so that a silent stream does not keep the other's
    rows."""
    state, side = core.state, row[KIND]
    if rules.timed:
        state[TAKEN_AT] = cycles()
    expire(core.r, rules.rows_r, rules.time_r, state[SEEN_R] + (1 if side == R else 0), row[TIME])
    expire(core.s, rules.rows_s, rules.time_s, state[SEEN_S] + (1 if side == S else 0), row[TIME])
    own, other = (core.r, core.s) if side == R else (core.s, core.r)
    blank = row[FLAGS] & BLANK
    mine = not blank and row[ROW] // rules.deal_rows % state[ALIVE] == state[RANK]
    if mine and full(own):
        return NEEDS_WINDOW_R if side == R else NEEDS_WINDOW_S
    count = 0
    if not blank:
        made = core.pass_r if side == R else core.pass_s
        count = meets_together(other, row, inbox, rules, made, core.probe)
        if count < 0:
            return NEEDS_ROOM if count == -1 else NEEDS_PASS
        state[COMPARED] += size(other)
        if rules.group:
            sort_positions(core.probe.found, count)
    mask = other.rows.shape[0] - 1
    if rules.group:
        begin, end, group = other.marks[BEGIN], other.marks[BEGIN] + size(other), _group(row, rules)
        state[NEXT_GROUP] = other.rows[begin & mask] // group if end > begin else 0
        state[LAST_GROUP] = other.rows[(end - 1) & mask] // group if end > begin else -1
    for n in range(count):
        core.probe.found[n] = other.rows[core.probe.found[n] & mask]
    if mine:
        insert(own, row, rules.layout)
    state[SEEN_R if side == R else SEEN_S] += 1
    state[FOUND], state[SENT_OUT], state[PHASE] = count, 0, SENDING
    return WORKED


@folded_kernel
def _group(row: Words, rules: Rules) -> int:
    """Rows of the window that share a punctuation within this row's probe."""
    return rules.group << (row[FLAGS] >> COARSER)


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


@folded_kernel
def _send_found(core: Core, row: Words, out: Channel, rules: Rules) -> bool:
    """Send pairs and punctuations as far as there is room; whether all are out."""
    state, side = core.state, row[KIND]
    order = row[ROW] + row[SEEN]
    while state[SENT_OUT] < state[FOUND] or (rules.group and state[NEXT_GROUP] <= state[LAST_GROUP]):
        if room(out) == 0:
            return False
        met = core.probe.found[state[SENT_OUT]] if state[SENT_OUT] < state[FOUND] else WHOLE
        group = met // _group(row, rules) if rules.group else 0
        if rules.group and group > state[NEXT_GROUP]:
            send_star(out, side, order, state[NEXT_GROUP])
            state[NEXT_GROUP] += 1
        else:
            r, s = (row[ROW], met) if side == R else (met, row[ROW])
            send_pair(out, side, r, s, order, group, rules.timed, row[STAMP], state[TAKEN_AT])
            state[SENT_OUT] += 1
    if row[FLAGS] & STAR:
        if room(out) == 0:
            return False
        send_star(out, side, order, WHOLE)
    state[PHASE] = FRESH
    return True
