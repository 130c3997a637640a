"""Handshake join: two streams flow past each other through a chain of cores.

Idea
    R enters at the left end and moves right, S the other way. Whoever is in the same core at the same time
    meets there. Cores talk to their neighbours only, and decide by themselves when to pass rows on.
Paper
    Teubner, Mueller, *How Soccer Players Would Do Stream Joins*, SIGMOD 2011: cores and two-phase forwarding:
    4.2, Figure 9; load balancing: 4.3; driver: 4.4, Figures 12 and 13. Sorted basic blocks: section 5 of the
    earlier version.
Vocabulary
    left/rightRecvQueue, left/rightSendQueue -> `Links`; process_left, process_right, forward_tuples -> deeds
    of a core; immediate scan strategy -> `block_rows = 1`; driver -> `ChainEnds`; non-existent neighbour ->
    an end, where rows wait until they expire.
Differs
    - Rows carry what they may meet (`sliding/kernels/meeting.py`): the paper's rows expire when the driver
      says so, and here whether two rows meet does not depend on how fast they flow. So the pairs are exactly
      Kang's, also in bursts and while windows fill.
    - The driver names the oldest row or time that is left, where the paper's sends one acknowledgement a row:
      nothing is taken out that has not come yet (the paper's removes "the oldest tuple", whichever that is).
    - The window that is compared with the neighbour's has S rows that wait, not the copies of those under
      way.
    - A block goes when it is full or the other stream's is, and travels, is acknowledged and expires whole.
    - `finish` lets all rows expire, so that those that still face each other pass.
Law
    The pairs of Kang's procedure, each once, when `finish` is through; before that, pairs of rows that have
    passed each other.
Cost
    k cores hold 1/k of the windows each. A pair meets only when both rows have come to the same core: latency
    grows with the window. A row costs each core a message, S rows two.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from dovetail.sliding.chain import SIDES, Chain
from dovetail.sliding.kernels import handshake as kernels
from dovetail.sliding.kernels.handshake import Core, Links
from dovetail.sliding.kernels.layout import R
from dovetail.sliding.kernels.meeting import kept
from dovetail.sliding.kernels.stepping import LINE, Rules
from dovetail.sliding.kernels.subwindow import SCAN
from dovetail.sliding.release import Stage, taken_from
from dovetail.sliding.stepping import ChainCore, capacity_for
from dovetail.sliding.topology import Messages, SlidingJob


class HandshakeCore(ChainCore):
    kernel = kernels.run

    def __init__(self, job: SlidingJob, number: int, links: Links, rules: Rules, capacity: int) -> None:
        super().__init__(job, number, links, rules)
        r, s = (
            kept(self._layout, self._key_kind, capacity, rules.access, self._layout.words + 1) for _ in SIDES
        )
        self.core = Core(r=r, s=s, state=self._state, **self._room(), **self._passes())


class Handshake(Chain):
    """`block_rows` above 1 (128 in the earlier version of the paper): rows travel in sorted blocks, and cores
    merge them."""

    def __init__(self, job: SlidingJob, block_rows: int = 1, first_capacity: int = 0) -> None:
        rules = job.rules if block_rows == 1 else job.rules._replace(access=SCAN, block_rows=block_rows)
        super().__init__(job, rules)
        self.sizes = np.zeros(2 * job.cores * LINE, np.int64)
        self.gone = np.zeros(2 * LINE, np.int64)
        # Of each side, after each offer: how many rows had entered the chain (blank ones do not), and the
        # number of the next row.
        self._entered: list[deque[tuple[int, int]]] = [deque() for _ in SIDES]
        self._kept_from = [0 for _ in SIDES]
        capacity = max(first_capacity or capacity_for(0), 2 * block_rows)
        links = [Links(*self.links_of(number), self.sizes, self.gone) for number in range(job.cores)]
        self.cores: list[HandshakeCore] = [
            HandshakeCore(job, number, links[number], rules, capacity) for number in range(job.cores)
        ]

    def settled(self) -> bool:
        """While rows may still come: nothing moves any more. After `finish`: no row is left in the chain."""
        if self.ends.ended and any(self.gone[side * LINE] != self.ends.entered(side) for side in SIDES):
            return False
        return not any(self._flows(side) for side in SIDES) and super().settled()

    def _flows(self, side: int) -> bool:
        """Whether some core has more rows than the next."""
        sizes = self.sizes.reshape(2, -1, LINE)[side, :, 0]
        return bool((sizes[:-1] > sizes[1:]).any() if side == R else (sizes[1:] > sizes[:-1]).any())

    def finish(self) -> bool:
        return self.ends.end()

    def offer(self, messages: Messages, first: int) -> int:
        taken = super().offer(messages, first)
        for side, entered in zip(SIDES, self._entered, strict=True):
            next_row = self.ends.next_row(side)
            if not entered or entered[-1][1] < next_row:
                entered.append((self.ends.entered(side), next_row))
        return taken

    def kept_from(self, side: int) -> int:
        """Rows leave the chain in the order in which they entered it, by the end core."""
        entered, gone = self._entered[side], int(self.gone[side * LINE])
        while entered and entered[0][0] <= gone:
            self._kept_from[side] = entered.popleft()[1]
        return self._kept_from[side]

    def flow(self) -> list[Stage]:
        """A core has sent a row's pairs out before it sends the row on or lets it go. But of an S row that
        has left the chain, the last copy may still wait for its acknowledgement, and meet R rows that are
        ahead of that in the same channel: those channels come first."""
        return [taken_from(self.to_right), *self._idle_once(), *self._way_out()]
