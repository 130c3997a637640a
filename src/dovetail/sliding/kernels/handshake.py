"""A core of handshake join: one link of a chain through which R flows to the right and S to the left.

Law: of two rows that pass each other in the chain, each pair meets on exactly one core, whatever the order in
which cores do what they can (`tests/laws/test_two_phase_forwarding.py` tries all orders).

Why: an S row that is sent on stays, marked as forwarded, until the left neighbour has acknowledged it. What
that neighbour sent before is ahead of the acknowledgement in the same channel, has not met the row there, and
meets its copy here; what it sends after has met it. R rows go at once: an S row that is under way to meet
them has its copy on the right.

What a core can do are five small deeds, each done whole or not at all, none of which waits. Reading from the
left needs no room anywhere but for results, so channels to the right always empty, and then so do those to
the left: nobody is stuck.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.kernels.machine import cycles, load, store
from dovetail.sliding.kernels.channel import Channel, message, room, send, slot_to_fill, take, waiting
from dovetail.sliding.kernels.ends import ACKNOWLEDGED, EXPIRED
from dovetail.sliding.kernels.layout import KIND, ROW, TIME, WHOLE, R, S
from dovetail.sliding.kernels.meeting import Kept, keep, meet_next, tell
from dovetail.sliding.kernels.merge_blocks import merge_block
from dovetail.sliding.kernels.stepping import (
    BLOCKED,
    COMPARED,
    CORES,
    FOUND,
    IDLE,
    LINE,
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
from dovetail.sliding.kernels.subwindow import BEGIN, END, Probe, Words, size
from dovetail.sliding.kernels.together import Pass

# A core's own state.
TURN = OWN  # the deed to begin with
FORWARDED = OWN + 1  # the first position of S that has not been sent on
OLDEST_ROW, OLDEST_TIME = OWN + 2, OWN + 4  # at the ends, of each side: what is older than either has expired

FROM_LEFT, FROM_RIGHT, FORWARD_S, FORWARD_R, EXPIRE = 0, 1, 2, 3, 4
DEEDS = 5


class Core(NamedTuple):
    r: Kept
    s: Kept
    probe: Probe
    meetings: Words
    pass_r: Pass
    pass_s: Pass
    state: Words


class Links(NamedTuple):
    """What a core shares with others. At the left end nobody listens to what goes left, and the same at the
    right end."""

    from_left: Channel
    to_left: Channel
    from_right: Channel
    to_right: Channel
    out: Channel
    sizes: Words  # of all cores' windows, in rows that are not on their way: side, then core
    gone: Words  # rows that have left the chain, by side


@borrowing_kernel
def run(core: Core, links: Links, rules: Rules, budget: int, stop: Words) -> int:
    """Do up to `budget` deeds at a time, until `stop` or a longer pause; what it came to."""
    return until_stopped(_step, core, links, rules, budget, stop)


@inner_borrowing_kernel
def _step(core: Core, links: Links, rules: Rules, budget: int) -> int:
    """Do up to `budget` deeds, of each kind in turn (Figure 9); what it came to."""
    worked, in_vain = False, 0
    while budget > 0 and in_vain < DEEDS:
        came_to = _act(core, links, rules, core.state[TURN])
        if came_to >= NEEDS_ROOM:
            return came_to
        if core.state[SENT_OUT] < core.state[FOUND]:
            return WORKED if worked else BLOCKED
        core.state[TURN] = (core.state[TURN] + 1) % DEEDS
        if came_to == WORKED:
            worked, in_vain = True, 0
            budget -= 1
        else:
            in_vain += 1
    return WORKED if worked else IDLE


@inner_borrowing_kernel
def _act(core: Core, links: Links, rules: Rules, deed: int) -> int:
    """Do one deed, if it can be done, and send out what was found; what it came to. Until that is out,
    nothing else is done."""
    state = core.state
    if state[SENT_OUT] < state[FOUND]:
        before = state[SENT_OUT]
        tell(core.meetings, state, links.out, rules.timed)
        return WORKED if state[SENT_OUT] > before else BLOCKED
    if deed == FROM_LEFT:
        came_to = _from_left(core, links, rules)
    elif deed == FROM_RIGHT:
        came_to = _from_right(core, links, rules)
    elif deed == FORWARD_S:
        came_to = _forward_s(core, links, rules)
    elif deed == FORWARD_R:
        came_to = _forward_r(core, links, rules)
    else:
        came_to = _expire(core, links, rules)
    if came_to == WORKED:
        _publish(core, links)
        tell(core.meetings, state, links.out, rules.timed)
    return came_to


@inner_borrowing_kernel
def _publish(core: Core, links: Links) -> None:
    """How many rows wait here, for the neighbours to compare with their own (4.3)."""
    state = core.state
    store(links.sizes, (R * state[CORES] + state[NUMBER]) * LINE, size(core.r.window))
    store(links.sizes, (S * state[CORES] + state[NUMBER]) * LINE, core.s.window.marks[END] - state[FORWARDED])


@inner_borrowing_kernel
def _has_room(window: Kept, block_rows: int) -> bool:
    return size(window.window) + block_rows <= window.window.rows.shape[0]


@inner_borrowing_kernel
def _from_left(core: Core, links: Links, rules: Rules) -> int:
    """`process_left` of Figure 9: an R row meets the S rows here, forwarded ones too; an acknowledgement lets
    one of those go."""
    if waiting(links.from_left) == 0:
        return IDLE
    item, state = message(links.from_left, 0), core.state
    if item[KIND] == ACKNOWLEDGED:
        core.s.window.marks[BEGIN] += rules.block_rows
    elif item[KIND] == EXPIRED:
        state[OLDEST_ROW + S], state[OLDEST_TIME + S] = item[ROW], item[TIME]
    else:
        if not _has_room(core.r, rules.block_rows):
            return NEEDS_WINDOW_R
        came_to = _meet(core, item, core.s, links.from_left, core.pass_r, rules)
        if came_to != WORKED:
            return came_to
        _keep(item, core.r, rules)
    take(links.from_left, 1)
    return WORKED


@inner_borrowing_kernel
def _from_right(core: Core, links: Links, rules: Rules) -> int:
    """`process_right`: an S row meets the R rows here, and is acknowledged. At the right end the driver says
    what of R has expired (Figure 13)."""
    if waiting(links.from_right) == 0:
        return IDLE
    item, state = message(links.from_right, 0), core.state
    if item[KIND] == EXPIRED:
        state[OLDEST_ROW + R], state[OLDEST_TIME + R] = item[ROW], item[TIME]
        take(links.from_right, 1)
        return WORKED
    last = state[NUMBER] == state[CORES] - 1
    if not last and room(links.to_right) == 0:
        return BLOCKED
    if not _has_room(core.s, rules.block_rows):
        return NEEDS_WINDOW_S
    came_to = _meet(core, item, core.r, links.from_right, core.pass_s, rules)
    if came_to != WORKED:
        return came_to
    _keep(item, core.s, rules)
    if not last:
        slot_to_fill(links.to_right, 0)[KIND] = ACKNOWLEDGED
        send(links.to_right, 1)
    take(links.from_right, 1)
    return WORKED


@inner_borrowing_kernel
def _forward_s(core: Core, links: Links, rules: Rules) -> int:
    """If the left neighbour has fewer: send the oldest S row that has not been sent, and keep it until it is
    acknowledged."""
    state = core.state
    waits = core.s.window.marks[END] - state[FORWARDED]
    if state[NUMBER] == 0 or waits <= load(links.sizes, (S * state[CORES] + state[NUMBER] - 1) * LINE):
        return IDLE
    if room(links.to_left) == 0:
        return BLOCKED
    _send(core.s, state[FORWARDED], links.to_left, rules)
    state[FORWARDED] += rules.block_rows
    return WORKED


@inner_borrowing_kernel
def _forward_r(core: Core, links: Links, rules: Rules) -> int:
    """If the right neighbour has fewer: send the oldest R row, and let it go."""
    state = core.state
    last = state[NUMBER] == state[CORES] - 1
    if last or size(core.r.window) <= load(links.sizes, (R * state[CORES] + state[NUMBER] + 1) * LINE):
        return IDLE
    if room(links.to_right) == 0:
        return BLOCKED
    _send(core.r, core.r.window.marks[BEGIN], links.to_right, rules)
    core.r.window.marks[BEGIN] += rules.block_rows
    return WORKED


@inner_borrowing_kernel
def _expire(core: Core, links: Links, rules: Rules) -> int:
    """At the ends: what has expired leaves when it has come here, and no earlier."""
    state = core.state
    gone_r = gone_s = 0
    if state[NUMBER] == 0:
        gone_s = _let_go(core.s, state, S, rules)
        state[FORWARDED] = core.s.window.marks[BEGIN]  # S ends here: all of it waits
        store(links.gone, S * LINE, links.gone[S * LINE] + gone_s)
    if state[NUMBER] == state[CORES] - 1:
        gone_r = _let_go(core.r, state, R, rules)
        store(links.gone, R * LINE, links.gone[R * LINE] + gone_r)
    return WORKED if gone_r or gone_s else IDLE


@inner_borrowing_kernel
def _let_go(of: Kept, state: Words, side: int, rules: Rules) -> int:
    """Blocks go whole, when the last of their rows has expired; how many rows went."""
    marks, mask, words = of.window.marks, of.window.rows.shape[0] - 1, rules.layout.words
    gone = 0
    while marks[BEGIN] < marks[END]:
        rows = of.messages[marks[BEGIN] & mask, words]
        for n in range(rows):
            slot = (marks[BEGIN] + n) & mask
            row, time = of.window.rows[slot], of.window.times[slot]
            if row >= state[OLDEST_ROW + side] and time >= state[OLDEST_TIME + side]:
                return gone
        marks[BEGIN] += rules.block_rows
        gone += rows
    return gone


@inner_borrowing_kernel
def _meet(core: Core, item: Words, other: Kept, inbox: Channel, made: Pass, rules: Rules) -> int:
    """Write down whom the rows of `item`, the next of the inbox, meet in the other window; what it came
    to."""
    probe, meetings, state = core.probe, core.meetings, core.state
    words, at = rules.layout.words, 0
    if rules.block_rows == 1:
        at = meet_next(other, item[:words], inbox, made, WHOLE, rules, probe, meetings, state)
    else:
        if rules.timed:
            state[TAKEN_AT] = cycles()
        position, end = other.window.marks[BEGIN], other.window.marks[END]
        while at >= 0 and position < end:
            at = merge_block(other, position, item, rules, probe, meetings, at)
            position += rules.block_rows
        if at >= 0:
            state[COMPARED] += item[rules.block_rows * words] * size(other.window)
    if at < 0:
        return NEEDS_ROOM if at == -1 else NEEDS_PASS
    state[FOUND], state[SENT_OUT] = at, 0
    return WORKED


@inner_borrowing_kernel
def _keep(item: Words, own: Kept, rules: Rules) -> None:
    """A block begins at a multiple of its length, so a short one leaves a gap. Beside its first row is how
    many it has."""
    words, begin = rules.layout.words, own.window.marks[END]
    rows = item[rules.block_rows * words]
    for n in range(rows):
        keep(own, item[n * words : (n + 1) * words + 1], rules.layout)
    own.messages[begin & (own.window.rows.shape[0] - 1), words] = rows
    own.window.marks[END] = begin + rules.block_rows


@inner_borrowing_kernel
def _send(of: Kept, position: int, to: Channel, rules: Rules) -> None:
    words, mask = rules.layout.words, of.window.rows.shape[0] - 1
    rows = of.messages[position & mask, words]
    item = slot_to_fill(to, 0)
    for n in range(rows):
        for word in range(words):
            item[n * words + word] = of.messages[(position + n) & mask, word]
    item[rules.block_rows * words] = rows
    send(to, 1)
