"""How stream time is estimated from a stream's event times (paper, section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["percentile", "mean"]
ON_THE_SAFE_SIDE = 0.005


@dataclass(frozen=True)
class EstimateSpec:
    """`percentile` is of event times, in percent. An observation has at least `sample_rows` rows, or covers
    `sample_us` of event time. Windows of 1, 2, 4, ... up to `max_window` observations are tried until their
    last `ascending` values ascend. `memory_us` is the half-life of the lateness history, in event time."""

    statistic: Statistic = "percentile"
    percentile: float = 1.0
    ascending: int = 4
    sample_rows: int = 1000
    max_window: int = 64
    sample_us: int = 10_000_000
    memory_us: int = 30 * 60 * 1_000_000

    @property
    def share(self) -> float:
        """The quantile up to which event times must be known well."""
        return self.percentile / 100 if self.statistic == "percentile" else 0.0

    @property
    def wanted_late(self) -> float:
        """The share of rows that may be late. It is a little below the percentile, because a stream may
        change faster than the estimate learns."""
        return max(self.share / 2, self.share - ON_THE_SAFE_SIDE)

    @property
    def rows_for_one_late(self) -> int:
        """One row in this many may be late. A history of fewer is not halved."""
        return round(1 / max(self.wanted_late, 1 / self.sample_rows))

    @property
    def levels(self) -> int:
        """How many window sizes there are."""
        return self.max_window.bit_length()
