"""How often results are punctuated, if the rate of input must be held: fewer punctuations when it is not,
more when there is time to spare. The SplitJoin paper has the precision as a parameter (5.1), shows what it
costs, and says that it could adapt to a wanted throughput (7.6): here it does.

With the order outer it says how many rows of a stream share a punctuation, with the order inner by how much
the groups of the window are longer than the shortest: those that `group` asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_ROWS = 4096
LOOK_S = 0.05
_SPARE = 1.25


@dataclass
class Precision:
    """`every`: rows, or groups, that share a punctuation. `waited`: since the last look rows had to wait, so
    the join, not the input, set the rate."""

    target_rows_per_s: float
    every: int = 1
    clock: Callable[[], float] = time.perf_counter
    began: float = field(init=False)
    rows: int = field(default=0, init=False)
    waited: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def sent(self, rows: int) -> int:
        """After sending rows: how many rows, or groups, share a punctuation from now on."""
        self.rows += rows
        passed = self.clock() - self.began
        if passed >= LOOK_S:
            rows_per_s = self.rows / passed
            if self.waited and rows_per_s < self.target_rows_per_s:
                self.every = min(self.every * 2, MOST_ROWS)
            elif not self.waited or rows_per_s > _SPARE * self.target_rows_per_s:
                self.every = max(self.every // 2, 1)
            self.began, self.rows, self.waited = self.clock(), 0, False
        return self.every
