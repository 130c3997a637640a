"""A channel from one thread to one other: a bounded ring of fixed-width messages, without locks.

Law: messages come out whole, once, and in the order in which they went in.

The sender alone moves SENT, the receiver alone TAKEN. Each has a cache line of its own, with the sender's
last look at TAKEN beside SENT (and the other way round): while there is room, a side touches no line that the
other writes, but for the messages themselves.

Why it is safe. A message is filled before SENT is stored (release), and read after SENT is loaded (acquire):
the receiver sees it whole. A slot is filled again only after TAKEN is loaded (acquire), which the receiver
stored (release) after its last read of that slot: nobody reads a message that is being overwritten. A look at
the other's mark that is too old only shows less room, or fewer messages, than there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dovetail.kernels.flags import borrowing_kernel, folded_kernel, inlined_kernel
from dovetail.kernels.machine import load, store

SENT, SENT_SEES = 8, 9
TAKEN, TAKEN_SEES = 24, 25
CLOSED = 40  # by the receiver: nobody will take anything any more
_MARKS = 48
_LINE_WORDS = 8


class Channel(NamedTuple):
    slots: npt.NDArray[np.int64]  # capacity x width
    marks: npt.NDArray[np.int64]


class Bank(NamedTuple):
    """Channels of one shape, side by side, so that a kernel can have any number of them."""

    slots: npt.NDArray[np.int64]  # channels x capacity x width
    marks: npt.NDArray[np.int64]


def bank(channels: int, capacity: int, width: int) -> Bank:
    one = channel(capacity, width)
    return Bank(np.zeros((channels, *one.slots.shape), np.int64), np.zeros((channels, _MARKS), np.int64))


@inlined_kernel
def of_bank(bank: Bank, number: int) -> Channel:
    return Channel(bank.slots[number], bank.marks[number])


def channel(capacity: int, width: int) -> Channel:
    """A channel with room for `capacity` messages (a power of two) of `width` words."""
    if capacity & (capacity - 1):
        raise ValueError(f"a channel's capacity is a power of two, not {capacity}")
    whole_lines = -(-width // _LINE_WORDS) * _LINE_WORDS
    return Channel(np.zeros((capacity, whole_lines), np.int64), np.zeros(_MARKS, np.int64))


@folded_kernel
def room(to: Channel) -> int:
    """How many messages can be sent now, at least: the receiver is asked only when there seems to be none."""
    capacity = to.slots.shape[0]
    free = capacity - (to.marks[SENT] - to.marks[SENT_SEES])
    if free > 1:  # our own words only: TAKEN can only have grown since, so there is at least this room
        return free
    to.marks[SENT_SEES] = load(to.marks, TAKEN)
    return capacity - (to.marks[SENT] - to.marks[SENT_SEES])


@folded_kernel
def all_room(to: Channel) -> int:
    to.marks[SENT_SEES] = load(to.marks, TAKEN)
    return to.slots.shape[0] - (to.marks[SENT] - to.marks[SENT_SEES])


@inlined_kernel
def slot_to_fill(to: Channel, ahead: int) -> npt.NDArray[np.int64]:
    """The message that is `ahead` of those sent: fill it, then `send`. There must be room."""
    return to.slots[(to.marks[SENT] + ahead) & (to.slots.shape[0] - 1)]


@folded_kernel
def send(to: Channel, messages: int) -> None:
    # After the messages themselves: a release store, or the receiver could read slots half filled.
    store(to.marks, SENT, to.marks[SENT] + messages)


@folded_kernel
def waiting(of: Channel) -> int:
    """How many messages can be taken now, at least."""
    there = of.marks[TAKEN_SEES] - of.marks[TAKEN]
    if there > 0:
        return there
    of.marks[TAKEN_SEES] = load(of.marks, SENT)
    return of.marks[TAKEN_SEES] - of.marks[TAKEN]


@borrowing_kernel
def all_waiting(of: Channel) -> int:
    of.marks[TAKEN_SEES] = load(of.marks, SENT)
    return of.marks[TAKEN_SEES] - of.marks[TAKEN]


@inlined_kernel
def message(of: Channel, ahead: int) -> npt.NDArray[np.int64]:
    """The message that is `ahead` of those taken. It is the receiver's until `take`."""
    return of.slots[(of.marks[TAKEN] + ahead) & (of.slots.shape[0] - 1)]


@folded_kernel
def take(of: Channel, messages: int) -> None:
    # After the last read of these slots: from here on the sender may fill them again.
    store(of.marks, TAKEN, of.marks[TAKEN] + messages)


@borrowing_kernel
def close(of: Channel) -> None:
    """The receiver is gone: senders need not wait for room."""
    store(of.marks, CLOSED, 1)


@folded_kernel
def closed(to: Channel) -> bool:
    return load(to.marks, CLOSED) != 0


@borrowing_kernel
def send_rows(to: Channel, rows: npt.NDArray[np.int64], first: int) -> int:
    """Send as many of `rows[first:]` as there is room for; the number of them."""
    sent = min(all_room(to), rows.shape[0] - first)
    for ahead in range(sent):
        slot = slot_to_fill(to, ahead)
        for word in range(rows.shape[1]):
            slot[word] = rows[first + ahead, word]
    send(to, sent)
    return sent


@borrowing_kernel
def take_rows(of: Channel, rows: npt.NDArray[np.int64]) -> int:
    """Take as many messages as are waiting and `rows` has room for; the number of them."""
    taken = min(all_waiting(of), rows.shape[0])
    for ahead in range(taken):
        slot = message(of, ahead)
        for word in range(rows.shape[1]):
            rows[ahead, word] = slot[word]
    take(of, taken)
    return taken


def unread(of: Channel) -> list[npt.NDArray[np.int64]]:
    """The messages that wait, oldest first. For a channel whose receiver has stopped."""
    mask = of.slots.shape[0] - 1
    return [of.slots[at & mask] for at in range(int(of.marks[TAKEN]), int(of.marks[SENT]))]
