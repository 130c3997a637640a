"""Rows that meet somewhere on their way, maybe long after they came: whether the pair counts, and how it is
sent out.

Law: whenever `r` and `s` stand face to face, what their messages say of the moment of their arrival decides:
if `s` came first, `r` must have been able to see it (`s.row >= r.first`), and the other way round. So designs
in which rows travel need not have them meet in time, or expire them at once; they must have them meet once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels.flags import inner_borrowing_kernel
from dovetail.kernels.machine import cycles
from dovetail.sliding.kernels.channel import Channel, room
from dovetail.sliding.kernels.layout import FIRST, KIND, ROW, SEEN, STAMP, Layout, R
from dovetail.sliding.kernels.probe import meets, meets_together
from dovetail.sliding.kernels.results import send_pair
from dovetail.sliding.kernels.stepping import COMPARED, FOUND, SENT_OUT, TAKEN_AT, Rules
from dovetail.sliding.kernels.subwindow import (
    BEGIN,
    END,
    Probe,
    SubWindow,
    Words,
    insert,
    larger,
    size,
    sub_window,
)
from dovetail.sliding.kernels.together import Pass

# Of a meeting: the side of the later row, the rows, when the later one came and when it entered.
MEETING_WORDS = 5


class Kept(NamedTuple):
    """A sub-window that also knows what its rows' messages say, so that they can be asked, or sent on."""

    window: SubWindow
    messages: Words  # capacity x the words that are kept


def kept(layout: Layout, kind: type[np.unsignedinteger], capacity: int, access: int, words: int) -> Kept:
    return Kept(sub_window(layout, kind, capacity, access), np.zeros((capacity, words), np.int64))


def larger_kept(old: Kept, layout: Layout) -> Kept:
    """The same rows with twice the room."""
    capacity, words = old.messages.shape
    new = Kept(larger(old.window, layout), np.zeros((2 * capacity, words), np.int64))
    positions = np.arange(old.window.marks[BEGIN], old.window.marks[END])
    new.messages[positions & (2 * capacity - 1)] = old.messages[positions & (capacity - 1)]
    return new


@inner_borrowing_kernel
def keep(into: Kept, message: Words, layout: Layout) -> None:
    """Insert a row. There must be room."""
    slot = into.window.marks[END] & (into.window.rows.shape[0] - 1)
    for word in range(into.messages.shape[1]):
        into.messages[slot, word] = message[word]
    insert(into.window, message, layout)


@inner_borrowing_kernel
def comes_first(stored: Words, message: Words) -> bool:
    return stored[ROW] < message[SEEN]


@inner_borrowing_kernel
def counts(stored: Words, message: Words) -> bool:
    """Whether the earlier of two rows was in its window when the later one came."""
    if comes_first(stored, message):
        return stored[ROW] >= message[FIRST]
    return message[ROW] >= stored[FIRST]


@inner_borrowing_kernel
def note(of: Kept, message: Words, probe: Probe, found: int, below: int, meetings: Words, at: int) -> int:
    """Write down those of the rows found by `message` (`probe.found`) that count, from `at` on; the
    new count, or -1 if there is no room. Stored rows from number `below` on meet it elsewhere."""
    mask = of.window.rows.shape[0] - 1
    for n in range(found):
        stored = of.messages[probe.found[n] & mask]
        if stored[ROW] >= below or not counts(stored, message):
            continue
        if at == meetings.shape[0]:
            return -1
        later = message if comes_first(stored, message) else stored
        left, right = (message, stored) if message[KIND] == R else (stored, message)
        meetings[at, 0], meetings[at, 1], meetings[at, 2] = later[KIND], left[ROW], right[ROW]
        meetings[at, 3], meetings[at, 4] = later[ROW] + later[SEEN], later[STAMP]
        at += 1
    return at


@inner_borrowing_kernel
def meet(
    other: Kept,
    row: Words,
    access: int,
    below: int,
    rules: Rules,
    probe: Probe,
    meetings: Words,
    at: int,
    state: Words,
) -> int:
    """Write down whom a row meets in a window, from `at` on; the new count, or -1 if there is no room."""
    if rules.timed:
        state[TAKEN_AT] = cycles()
    found = meets(other.window, row, access, rules, probe)
    at = note(other, row, probe, found, below, meetings, at) if found >= 0 else -1
    if at >= 0:
        state[COMPARED] += size(other.window)
    return at


@inner_borrowing_kernel
def meet_next(
    other: Kept,
    row: Words,
    inbox: Channel,
    made: Pass,
    below: int,
    rules: Rules,
    probe: Probe,
    meetings: Words,
    state: Words,
) -> int:
    """Write down whom the next row of an inbox meets in a window; how many, -1 if there is no room, -3 if the
    pass over the window needs more."""
    if rules.timed:
        state[TAKEN_AT] = cycles()
    found = meets_together(other.window, row, inbox, rules, made, probe)
    if found < 0:
        return found
    at = note(other, row, probe, found, below, meetings, 0)
    if at >= 0:
        state[COMPARED] += size(other.window)
    return at


@inner_borrowing_kernel
def tell(meetings: Words, state: Words, out: Channel, timed: bool) -> bool:
    """Send the meetings that are not out yet, as far as there is room; whether all are."""
    while state[SENT_OUT] < state[FOUND] and room(out) > 0:
        met = meetings[state[SENT_OUT]]
        send_pair(out, met[0], met[1], met[2], met[3], 0, timed, met[4], state[TAKEN_AT])
        state[SENT_OUT] += 1
    return bool(state[SENT_OUT] == state[FOUND])
