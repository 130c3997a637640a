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
from dovetail.sliding.kernels.atomic import cycles
from dovetail.sliding.kernels.channel import Channel, room, send, slot_to_fill
from dovetail.sliding.kernels.layout import (
    FIRST,
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
    Layout,
    R,
)
from dovetail.sliding.kernels.probe import Probe
from dovetail.sliding.kernels.subwindow import BEGIN, END, SubWindow, Words, insert, move, sub_window

# Of a meeting: what a pair's message says up to its order, and when the later row entered.
MEETING_WORDS = 5
MEETING_IN = 4


class Kept(NamedTuple):
    """A sub-window that also knows what its rows' messages say, so that they can be asked, or sent on."""

    window: SubWindow
    messages: Words  # capacity x the words that are kept


def kept(layout: Layout, kind: type[np.unsignedinteger], capacity: int, access: int, words: int) -> Kept:
    return Kept(sub_window(layout, kind, capacity, access), np.zeros((capacity, words), np.int64))


def larger(old: Kept, layout: Layout, kind: type[np.unsignedinteger], access: int) -> Kept:
    """The same rows with twice the room."""
    capacity, words = old.messages.shape
    new = kept(layout, kind, 2 * capacity, access, words)
    begin, end = old.window.marks[BEGIN], old.window.marks[END]
    move(old.window, new.window)
    new.window.marks[END] = end
    positions = np.arange(begin, end)
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
    """Of the rows that `message` has found (`probe.found`), write down those that count, from `at` on; the
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
        meetings[at, PAIR_KIND] = later[KIND]
        meetings[at, PAIR_R] = left[ROW]
        meetings[at, PAIR_S] = right[ROW]
        meetings[at, PAIR_ORDER] = later[ROW] + later[SEEN]
        meetings[at, MEETING_IN] = later[STAMP]
        at += 1
    return at


@inner_borrowing_kernel
def tell(meetings: Words, first: int, last: int, out: Channel, taken_at: int, timed: bool) -> int:
    """Send meetings `first..last` as far as there is room; the first that is left."""
    while first < last and room(out) > 0:
        pair = slot_to_fill(out, 0)
        for word in range(PAIR_ORDER + 1):
            pair[word] = meetings[first, word]
        pair[PAIR_GROUP] = 0
        if timed:
            pair[PAIR_IN] = meetings[first, MEETING_IN]
            pair[PAIR_TAKEN] = taken_at
            pair[PAIR_FOUND] = cycles()
        send(out, 1)
        first += 1
    return first
