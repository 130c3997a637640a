"""A core of low-latency handshake join: rows are sent on before anything else, and kept by one core, their
home.

Law: each pair of rows meets exactly once, whatever the speed of either.

Why: two rows that run through the chain in opposite directions cross at one place `c`: cores up to `c` have
had `r` before `s`, those beyond have had `s` first. `r` finds `s` at home if that is beyond `c`; `s` finds
`r` at home if that is not. So a pair would be found twice if `r` is at home on this side and `s` beyond, and
never the other way round.
- Not twice: an S row carries how many R rows had passed its home before it (PASSED); left of its home it
  meets only those, as the others have met it there.
- Not never: an S row that has its home still before it leaves a copy in the core that sends it on, until the
  next one acknowledges. What arrives from the left meanwhile has crossed it, just there; it meets the copy if
  its own home is not behind it.

Reading from the left needs room only to the right, so channels to the right always empty; reading from the
right needs room in both directions, so then those to the left do too.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.channel import Channel, message, room, send, slot_to_fill, take, waiting
from dovetail.sliding.kernels.ends import ACKNOWLEDGED, EXPIRED
from dovetail.sliding.kernels.layout import KIND, ROW, TIME, WHOLE
from dovetail.sliding.kernels.meeting import Kept, keep, meet, meet_next, tell
from dovetail.sliding.kernels.stepping import (
    BLOCKED,
    CORES,
    FOUND,
    IDLE,
    NEEDS_FLIGHT,
    NEEDS_PASS,
    NEEDS_ROOM,
    NEEDS_WINDOW_R,
    NEEDS_WINDOW_S,
    NUMBER,
    OWN,
    SENT_OUT,
    WORKED,
    Rules,
    until_stopped,
)
from dovetail.sliding.kernels.subwindow import BEGIN, SCAN, Probe, Words, full, let_go, size
from dovetail.sliding.kernels.together import Pass

# A core's own state.
TURN = OWN  # which side to look at next
SENT_ON = OWN + 1  # whether the row at hand has been sent on already
PASSED = OWN + 2  # R rows that have been here: all below this number


class Core(NamedTuple):
    r: Kept
    s: Kept
    flight: Kept  # S rows sent on and not acknowledged, whose home is further left
    probe: Probe
    meetings: Words
    pass_r: Pass
    pass_s: Pass
    state: Words


class Links(NamedTuple):
    from_left: Channel
    to_left: Channel
    from_right: Channel
    to_right: Channel
    out: Channel


@borrowing_kernel
def run(core: Core, links: Links, rules: Rules, budget: int, stop: Words) -> int:
    """Handle up to `budget` messages at a time, until `stop` or a longer pause; what it came to."""
    return until_stopped(_step, core, links, rules, budget, stop)


@inner_borrowing_kernel
def _step(core: Core, links: Links, rules: Rules, budget: int) -> int:
    """Handle up to `budget` messages from left and right in turn; what it came to."""
    state, worked, in_vain = core.state, False, 0
    while budget > 0 and in_vain < 2:
        if not tell(core.meetings, state, links.out, rules.timed):
            return WORKED if worked else BLOCKED
        came_to = _from_left(core, links, rules) if state[TURN] == 0 else _from_right(core, links, rules)
        if came_to >= NEEDS_ROOM:
            return came_to
        state[TURN] = 1 - state[TURN]
        if came_to == WORKED:
            worked, in_vain = True, 0
            budget -= 1
        else:
            in_vain += 1
    if not tell(core.meetings, state, links.out, rules.timed):
        return WORKED if worked else BLOCKED
    return WORKED if worked else IDLE


@inner_borrowing_kernel
def _copy(item: Words, to: Channel, words: int) -> None:
    target = slot_to_fill(to, 0)
    for word in range(words):
        target[word] = item[word]
    send(to, 1)


@inner_borrowing_kernel
def _expire(of: Kept, item: Words) -> None:
    let_go(of.window, of.window.rows, item[ROW])
    let_go(of.window, of.window.times, item[TIME])


@inner_borrowing_kernel
def _from_left(core: Core, links: Links, rules: Rules) -> int:
    if waiting(links.from_left) == 0:
        return IDLE
    item, state, words = message(links.from_left, 0), core.state, rules.layout.words
    if item[KIND] == ACKNOWLEDGED:
        core.flight.window.marks[BEGIN] += 1
        take(links.from_left, 1)
        return WORKED
    if not state[SENT_ON] and state[NUMBER] < state[CORES] - 1:
        if room(links.to_right) == 0:
            return BLOCKED
        _copy(item, links.to_right, words + 1)
        state[SENT_ON] = 1
    if item[KIND] == EXPIRED:
        _expire(core.s, item)
    else:
        came_to = _process_r(core, item[: words + 1], links.from_left, rules)
        if came_to != WORKED:
            return came_to
    take(links.from_left, 1)
    state[SENT_ON] = 0
    return WORKED


@inner_borrowing_kernel
def _process_r(core: Core, row: Words, inbox: Channel, rules: Rules) -> int:
    state = core.state
    home = row[ROW] % state[CORES]
    if home == state[NUMBER] and full(core.r.window):
        return NEEDS_WINDOW_R
    at = meet_next(core.s, row, inbox, core.pass_r, WHOLE, rules, core.probe, core.meetings, state)
    if at >= 0 and home >= state[NUMBER] and size(core.flight.window):
        at = meet(core.flight, row, SCAN, WHOLE, rules, core.probe, core.meetings, at, state)
    if at < 0:
        return NEEDS_ROOM if at == -1 else NEEDS_PASS
    state[FOUND], state[SENT_OUT] = at, 0
    state[PASSED] = row[ROW] + 1
    if home == state[NUMBER]:
        keep(core.r, row, rules.layout)
    return WORKED


@inner_borrowing_kernel
def _from_right(core: Core, links: Links, rules: Rules) -> int:
    if waiting(links.from_right) == 0:
        return IDLE
    item, state, words = message(links.from_right, 0), core.state, rules.layout.words
    if not state[SENT_ON]:
        came_to = _send_on_s(core, links, item[: words + 1], rules)
        if came_to != WORKED:
            return came_to
        state[SENT_ON] = 1
    if item[KIND] == EXPIRED:
        _expire(core.r, item)
    else:
        came_to = _process_s(core, item[: words + 1], links.from_right, rules)
        if came_to != WORKED:
            return came_to
    take(links.from_right, 1)
    state[SENT_ON] = 0
    return WORKED


@inner_borrowing_kernel
def _send_on_s(core: Core, links: Links, item: Words, rules: Rules) -> int:
    """Send on, leave a copy if its home is still ahead, and acknowledge where the sender has left one."""
    state, words = core.state, rules.layout.words
    number, row = state[NUMBER], item[KIND] != EXPIRED
    home = item[ROW] % state[CORES]
    acknowledges = row and home <= number and number < state[CORES] - 1
    copies = row and home < number
    if copies and full(core.flight.window):
        return NEEDS_FLIGHT
    if (number > 0 and room(links.to_left) == 0) or (acknowledges and room(links.to_right) == 0):
        return BLOCKED
    if row and home == number:
        item[words] = state[PASSED]
    if number > 0:
        _copy(item, links.to_left, words + 1)
    if copies:
        keep(core.flight, item, rules.layout)
    if acknowledges:
        slot_to_fill(links.to_right, 0)[KIND] = ACKNOWLEDGED
        send(links.to_right, 1)
    return WORKED


@inner_borrowing_kernel
def _process_s(core: Core, row: Words, inbox: Channel, rules: Rules) -> int:
    state = core.state
    home = row[ROW] % state[CORES]
    if home == state[NUMBER] and full(core.s.window):
        return NEEDS_WINDOW_S
    passed = row[rules.layout.words] if home > state[NUMBER] else WHOLE
    at = meet_next(core.r, row, inbox, core.pass_s, passed, rules, core.probe, core.meetings, state)
    if at < 0:
        return NEEDS_ROOM if at == -1 else NEEDS_PASS
    state[FOUND], state[SENT_OUT] = at, 0
    if home == state[NUMBER]:
        keep(core.s, row, rules.layout)
    return WORKED
