"""Which rows an eager thread is given: the join-matrix by their place, the join-biclique by their keys.

Law: every pair of rows with equal keys meets in exactly one thread.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.route import UInt16s, dealt, grouped, record_groups, recorded
from dovetail.intra_window.knobs import Knobs


class Route(Protocol):
    def share(self, side: int, thread: int) -> float:
        """How much of a side a thread sees."""

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int:
        """Write the thread's own rows of `start..stop` to `out`; returns how many."""


@dataclass(frozen=True)
class JoinMatrix:
    """JM, the join-matrix: rows are dealt out whatever their keys, and each pair of rows has one thread.

    Idea     Threads are the cells of a matrix. A left row goes to all cells of one row of it, a right row to
             all cells of one column: they meet in exactly one.
    Paper    Section 3.2.2, figure 2a; Elseidy et al., VLDB 2014.
    Vocabulary  replicate -> a row is chosen by several threads.
    Differs  The matrix is as square as the number of threads allows, which replicates least; the paper's has
             one row, so that R goes to all threads (section 5.5).
    Law      Every pair of rows meets in one thread.
    Cost     A thread sees 1 / rows of R and 1 / columns of S: with two threads three quarters of all rows.
    """

    threads: int
    knobs: Knobs

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, at most as many rows as columns."""
        rows = max(n for n in range(1, self.threads + 1) if self.threads % n == 0 and n * n <= self.threads)
        return rows, self.threads // rows

    def share(self, side: int, thread: int) -> float:
        return 1 / self.shape[side]

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int:
        parts = self.shape[side]
        part = thread // self.shape[1] if side == 0 else thread % self.shape[1]
        return dealt(start, stop, parts, part, out)


@dataclass(frozen=True)
class JoinBiclique:
    """JB, the join-biclique: keys are dealt out over groups of threads.

    Idea     A router sends a row to the group of its key. In a group, every thread gets the left rows, and
             one of them each right row.
    Paper    Section 3.2.2, figure 2b, and section 5.5, "Varying group size"; Lin et al., SIGMOD 2015.
    Vocabulary  core group -> group; g -> `Knobs.group_size`; status maintenance -> `Knobs.router`.
    Differs  There is no router and no record of where rows were sent, unless `Knobs.router` asks for them
             (`Router`): every thread looks at the keys of a block and chooses its own. The group of a key is
             a function of it, so nothing needs remembering. Threads that do not fill a group join the others.
    Law      Every pair of rows with equal keys meets in one thread.
    Cost     Every thread reads every key; with groups of one nothing is replicated, but a hot key has
             one group.
    """

    threads: int
    knobs: Knobs

    @property
    def groups(self) -> int:
        return max(1, self.threads // self.knobs.group_size)

    def members(self, group: int) -> int:
        return len(range(group, self.threads, self.groups))

    def share(self, side: int, thread: int) -> float:
        parts = 1 if side == 0 else self.members(thread % self.groups)
        return 1 / (self.groups * parts)

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int:
        group = thread % self.groups
        parts, part = self._part(side, thread)
        return grouped(keys, start, stop, self.groups, group, parts, part, out)

    def _part(self, side: int, thread: int) -> tuple[int, int]:
        """Over how many threads of the group a side is dealt, and which of them this is."""
        return (1, 0) if side == 0 else (self.members(thread % self.groups), thread // self.groups)


class Router(JoinBiclique):
    """JB with the paper's router: each row is sent to a group once, and the record says to which.

    "After each tuple is dispatched, the system needs to record the dispatch results for future reference"
    (section 5.3.3). Whichever thread comes to rows that nobody has routed routes them, one thread at a time;
    all others read the record. It is what the paper found to be most of JB's partitioning
    overhead.
    """

    def __init__(self, threads: int, knobs: Knobs) -> None:
        super().__init__(threads, knobs)
        self._routed = [0, 0]
        self._records: list[UInt16s] = [np.empty(0, np.uint16)] * 2
        self._one_at_a_time = (threading.Lock(), threading.Lock())

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int:
        with self._one_at_a_time[side]:
            if len(self._records[side]) != len(keys):
                self._records[side] = np.empty(len(keys), np.uint16)
            if stop > self._routed[side]:
                record_groups(keys, self._routed[side], stop, self.groups, self._records[side])
                self._routed[side] = stop
        parts, part = self._part(side, thread)
        return recorded(self._records[side], start, stop, thread % self.groups, parts, part, out)


def join_biclique(threads: int, knobs: Knobs) -> Route:
    return Router(threads, knobs) if knobs.router else JoinBiclique(threads, knobs)
