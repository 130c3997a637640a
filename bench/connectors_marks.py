"""What `bench connectors` must show: ratios with a least value, and how far they spread over the repeats.

Runs alternate, so each run of Kafka has one of its rival right beside it, under the same load. The spread is
that of the ratios of such pairs; what counts is the ratio of the medians."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

LEAST_IN, LEAST_LOG = 0.7, 0.5


@dataclass(frozen=True)
class Mark:
    """`ours_s`, `theirs_s`: seconds of the same work, run by run."""

    what: str
    ours_s: Sequence[float]
    theirs_s: Sequence[float]
    least: float

    @property
    def ratio(self) -> float:
        """For the rates."""
        return median(self.theirs_s) / median(self.ours_s)

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for ours, theirs in zip(self.ours_s, self.theirs_s, strict=True)]

    @property
    def holds(self) -> bool:
        return self.ratio >= self.least

    @property
    def words(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        says = "holds" if self.holds else "DOES NOT HOLD"
        spread = f"{low:.2f} .. {high:.2f} over {len(self.ratios)} runs"
        return f"{self.what}: {self.ratio:.2f} ({spread}), at least {self.least:.2f}: {says}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "ratios": self.ratios, "holds": self.holds}
