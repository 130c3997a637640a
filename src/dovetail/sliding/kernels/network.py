"""What lies between the driver and the cores, and between the cores and the reader: SplitJoin's distributors
(4.3), mergers (Algorithm 5) and the combiner (5.1), which is a merger that keeps no order."""

from __future__ import annotations

from dovetail.kernels.flags import borrowing_kernel, inner_borrowing_kernel
from dovetail.sliding.kernels.channel import (
    Bank,
    Channel,
    all_room,
    all_waiting,
    closed,
    message,
    of_bank,
    room,
    send,
    slot_to_fill,
    take,
    waiting,
)
from dovetail.sliding.kernels.layout import PAIR_GROUP, PAIR_KIND, PAIR_ORDER, STAR_R, WHOLE
from dovetail.sliding.kernels.results import send_star
from dovetail.sliding.kernels.subwindow import Words

# A merger's state: whose turn it is; the kind and order of the last star taken in this block (kind 0: none);
# and for
# each input the order and group of its last star.
TURN, DONE_AT, PASSED_AT = 0, 1, 3
NONE, OUTER, INNER = 0, 1, 2
_NEVER = 2**62 + 2


@borrowing_kernel
def distribute(inbox: Channel, children: Bank, first: int, last: int, words: int, budget: int) -> int:
    """Copy messages to children `first..last`, each to all that still listen, in order; how many."""
    copied = min(all_waiting(inbox), budget)
    for child in range(first, last):
        to = of_bank(children, child)
        if not closed(to):
            copied = min(copied, all_room(to))
    for child in range(first, last):
        to = of_bank(children, child)
        if closed(to):
            continue
        for ahead in range(copied):
            source, target = message(inbox, ahead), slot_to_fill(to, ahead)
            for word in range(words):
                target[word] = source[word]
        send(to, copied)
    take(inbox, copied)
    return copied


@inner_borrowing_kernel
def _forward(of: Channel, to: Channel) -> None:
    source, target = message(of, 0), slot_to_fill(to, 0)
    for word in range(source.shape[0]):
        target[word] = source[word]
    take(of, 1)
    send(to, 1)


@borrowing_kernel
def merge(
    inputs: Bank, first: int, last: int, out: Channel, order: int, state: Words, dead: Words, budget: int
) -> int:
    """Forward results of inputs `first..last` to `out`; how many messages were taken.

    Law: if every input has its results punctuated alike, so has the output, and between two of its
    punctuations are the results that are between the same two of each input. A dead input whose channel is
    empty is one that has punctuated everything.
    """
    taken = 0
    while taken < budget and room(out) > 0:
        if order == NONE:
            moved = _merge_any(inputs, first, last, out, state)
        elif order == OUTER:
            moved = _merge_in_turn(inputs, first, last, out, state, dead)
        else:
            moved = _merge_by_group(inputs, first, last, out, state, dead)
        if moved == 0:
            break
        taken += moved
    return taken


@inner_borrowing_kernel
def _merge_any(inputs: Bank, first: int, last: int, out: Channel, state: Words) -> int:
    """In turn, whatever there is; an input is read on while it has something, for as long as there is
    room."""
    for _ in range(first, last):
        source = of_bank(inputs, first + state[TURN])
        moved = 0
        while waiting(source) and room(out):
            _forward(source, out)
            moved += 1
        state[TURN] = (state[TURN] + 1) % (last - first)
        if moved:
            return moved
    return 0


@inner_borrowing_kernel
def _merge_in_turn(inputs: Bank, first: int, last: int, out: Channel, state: Words, dead: Words) -> int:
    """Algorithm 5: one input up to its star, then the next; one star for all when the last has had its."""
    number = first + state[TURN]
    source = of_bank(inputs, number)
    if waiting(source) == 0:
        if not dead[number] or all_waiting(source):
            return 0
        if number + 1 < last:
            state[TURN] += 1
            return 1
        # The last is dead: the star of another must stand for its own, and that has been taken. See below.
        return _end_block(state, out)
    head = message(source, 0)
    if head[PAIR_KIND] < STAR_R:
        _forward(source, out)
        return 1
    state[DONE_AT] = head[PAIR_KIND]
    state[DONE_AT + 1] = head[PAIR_ORDER]
    take(source, 1)
    if number + 1 < last:
        state[TURN] += 1
        return 1
    return _end_block(state, out)


@inner_borrowing_kernel
def _end_block(state: Words, out: Channel) -> int:
    """One star for the whole block, as the last input that had one said it; none if all are dead."""
    if state[DONE_AT] == 0:
        return 0
    send_star(out, state[DONE_AT] - STAR_R, state[DONE_AT + 1], WHOLE)
    state[TURN] = 0
    state[DONE_AT] = 0
    return 1


@inner_borrowing_kernel
def _merge_by_group(inputs: Bank, first: int, last: int, out: Channel, state: Words, dead: Words) -> int:
    """The head that is first by (probe, group); a star of a group goes on when no input can have more of it.

    An input that is empty still bounds what it may send next: more than the last star it sent.
    """
    best, best_order, best_group = -1, _NEVER, _NEVER
    second_order, second_group = _NEVER, _NEVER  # the first of the others
    bound_order, bound_group = _NEVER, _NEVER  # of those that have nothing now
    for number in range(first, last):
        source = of_bank(inputs, number)
        at = PASSED_AT + 2 * (number - first)
        if waiting(source) == 0:
            passed = (state[at], state[at + 1])
            if not (dead[number] and all_waiting(source) == 0) and passed < (bound_order, bound_group):
                bound_order, bound_group = passed
            continue
        head = message(source, 0)
        # Of one group, results come before the star.
        key = (head[PAIR_ORDER], 2 * head[PAIR_GROUP] + (1 if head[PAIR_KIND] >= STAR_R else 0))
        if key < (best_order, best_group):
            second_order, second_group = best_order, best_group
            best, (best_order, best_group) = number, key
        elif key < (second_order, second_group):
            second_order, second_group = key
    if best < 0 or (bound_order, bound_group) < (best_order, best_group):
        return 0
    source = of_bank(inputs, best)
    if message(source, 0)[PAIR_KIND] < STAR_R:
        _forward(source, out)
        return 1
    at = PASSED_AT + 2 * (best - first)
    state[at], state[at + 1] = best_order, best_group
    if (second_order, second_group) == (best_order, best_group):
        take(source, 1)  # another input has the same star yet to come
    else:
        _forward(source, out)
    return 1
