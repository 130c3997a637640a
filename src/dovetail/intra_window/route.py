"""Which rows an eager thread is given: the join-matrix by their place, the join-biclique by their keys.

Law: every pair of rows with equal keys meets in exactly one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.route import dealt, grouped
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
             one row, so that R goes to all threads.
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
    one
             of them each right row.
    Paper    Section 3.2.2, figure 2b, and section 5.5, "Varying group size"; Lin et al., SIGMOD 2015.
    Vocabulary  core group -> group; g -> `Knobs.group_size`.
    Differs  There is no router thread and no record of where rows were sent, which the paper found to be most
             of JB's cost: every thread looks at the keys of a block and chooses its own. The group of a key
             is a function of it, so nothing needs remembering. Threads that do not fill a group join the
             others.
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
        parts = 1 if side == 0 else self.members(group)
        part = 0 if side == 0 else thread // self.groups
        return grouped(keys, start, stop, self.groups, group, parts, part, out)
