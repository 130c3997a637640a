"""How often results are punctuated, if the rate of input must be held: fewer punctuations when it is not,
more when there is time to spare. The SplitJoin paper (5.1, 7.6) has the precision as a parameter and shows
what it costs; here it adapts."""

from __future__ import annotations

from dataclasses import dataclass

MOST_ROWS = 4096
_SPARE = 1.25


@dataclass
class Precision:
    """`every`: rows of a stream that share a punctuation."""

    target_rows_per_s: float
    every: int = 1

    def observed(self, rows_per_s: float, waited: bool) -> int:
        """After pushing at this rate for a while. `waited`: the join, not the input, set the rate."""
        if waited and rows_per_s < self.target_rows_per_s:
            self.every = min(self.every * 2, MOST_ROWS)
        elif not waited or rows_per_s > _SPARE * self.target_rows_per_s:
            self.every = max(self.every // 2, 1)
        return self.every
