"""JM, the join-matrix: rows are dealt out whatever their keys, and each pair of rows has one thread.

Idea     Threads are the cells of a matrix. A left row goes to all cells of one row of it, a right row to
         all cells of one column: they meet in exactly one.
Paper    Section 3.2.2, figure 2a; Elseidy et al., VLDB 2014.
Vocabulary  replicate -> a row is chosen by several threads.
Differs  The matrix is as square as the number of threads allows, which replicates least; the paper's has
         one row, so that R goes to all threads.
Law      Every pair of rows meets in one thread.
Cost     A thread sees 1 / rows of R and 1 / columns of S: with two threads three quarters of all rows each.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.intra_window.kernels.packed import UInt32s
from dovetail.intra_window.kernels.route import dealt
from dovetail.intra_window.knobs import Knobs


@dataclass(frozen=True)
class JoinMatrix:
    threads: int
    knobs: Knobs

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, at most as many rows as columns."""
        rows = max(n for n in range(1, self.threads + 1) if self.threads % n == 0 and n * n <= self.threads)
        return rows, self.threads // rows

    def share(self, side: int, thread: int) -> float:
        """How much of a side a thread sees."""
        return 1 / self.shape[side]

    def choose(self, keys: UInt32s, side: int, thread: int, start: int, stop: int, out: UInt32s) -> int:
        parts = self.shape[side]
        part = thread // self.shape[1] if side == 0 else thread % self.shape[1]
        return dealt(start, stop, parts, part, out)
