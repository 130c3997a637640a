"""How results are sent: pairs, and the punctuations between them."""

from __future__ import annotations

from dovetail.kernels.flags import folded_kernel
from dovetail.kernels.machine import cycles
from dovetail.sliding.kernels.channel import Channel, send, slot_to_fill
from dovetail.sliding.kernels.layout import (
    PAIR_FOUND,
    PAIR_GROUP,
    PAIR_IN,
    PAIR_KIND,
    PAIR_ORDER,
    PAIR_R,
    PAIR_S,
    PAIR_TAKEN,
    STAR_R,
)


@folded_kernel
def send_pair(
    out: Channel, kind: int, r: int, s: int, order: int, group: int, timed: bool, entered: int, taken_at: int
) -> None:
    """`kind` is the side of the later row, `order` its arrival number. There must be room."""
    pair = slot_to_fill(out, 0)
    pair[PAIR_KIND], pair[PAIR_R], pair[PAIR_S] = kind, r, s
    pair[PAIR_ORDER], pair[PAIR_GROUP] = order, group
    if timed:
        pair[PAIR_IN], pair[PAIR_TAKEN], pair[PAIR_FOUND] = entered, taken_at, cycles()
    send(out, 1)


@folded_kernel
def send_star(out: Channel, side: int, order: int, group: int) -> None:
    """A punctuation: results of rows of that side are out up to this order, and of the last of these rows up
    to this group. There must be room."""
    star = slot_to_fill(out, 0)
    star[PAIR_KIND], star[PAIR_ORDER], star[PAIR_GROUP] = STAR_R + side, order, group
    send(out, 1)
