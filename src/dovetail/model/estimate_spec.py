"""How stream time is estimated from the event times that a stream has shown (paper, section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Statistic = Literal["percentile", "mean"]
ON_THE_SAFE_SIDE = 0.005


@dataclass(frozen=True)
class EstimateSpec:
    """`percentile` is of event times, in percent. An observation is at least `sample_rows` rows, or rows of
    `sample_us` of event time; windows of 1, 2, 4, ... up to `max_window` observations are tried until the
    last `ascending` of their values ascend. Half of how late rows were is forgotten every `memory_us` of
    event time."""

    statistic: Statistic = "percentile"
    percentile: float = 1.0
    ascending: int = 4
    sample_rows: int = 1000
    max_window: int = 64
    sample_us: int = 10_000_000
    memory_us: int = 30 * 60 * 1_000_000

    @property
    def share(self) -> float:
        """Up to which quantile event times must be known well."""
        return self.percentile / 100 if self.statistic == "percentile" else 0.0

    @property
    def wanted_late(self) -> float:
        """The share of rows that may be late. It is aimed a little below the percentile, as a stream may
        change faster than can be learned."""
        return max(self.share / 2, self.share - ON_THE_SAFE_SIDE)

    @property
    def levels(self) -> int:
        """How many window sizes there are."""
        return self.max_window.bit_length()
