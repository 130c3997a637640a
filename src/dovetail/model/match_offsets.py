"""How far right rows are from the left rows they match: a histogram around the join window.

A bin is a 64th of the window. The bins cover the window and twice its length on either side:

        wide_before                      before     after                      wide_after
            │  128 bins                    │ 64 bins  │  128 bins                  │
    ────────┴──────────────────────────────┴────0─────┴────────────────────────────┴────────► r.time - l.time
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.model.interval import IntervalSpec

Int64s = NDArray[np.int64]
INSIDE = 64
BEYOND = 2 * INSIDE
BINS = BEYOND + INSIDE + BEYOND
_NARROWEST_US = 1_000_000
"""A window without length still needs bins around it."""


@dataclass(frozen=True)
class MatchOffsets:
    """The scale of a join's histogram."""

    low_us: int  # the window's bounds, as offsets
    high_us: int
    bin_us: int

    @classmethod
    def of(cls, spec: IntervalSpec) -> MatchOffsets:
        length = max(spec.before_us + spec.after_us, _NARROWEST_US)
        return cls(-spec.before_us, spec.after_us, -(-length // INSIDE))

    @property
    def before_us(self) -> int:
        """How far below the left row's time the histogram reaches."""
        return BEYOND * self.bin_us - self.low_us

    @property
    def after_us(self) -> int:
        return self.high_us + BEYOND * self.bin_us

    def counted(self, offsets: Int64s) -> Int64s:
        """How many offsets fall into each bin. Both bounds belong to the window, as in BETWEEN."""
        bins = (offsets - self.low_us) // self.bin_us
        inside = np.minimum(bins, INSIDE - 1)
        above = (offsets - self.high_us - 1) // self.bin_us + INSIDE
        placed = np.where(offsets <= self.high_us, inside, above) + BEYOND
        return np.bincount(np.clip(placed, 0, BINS - 1), minlength=BINS).astype(np.int64)


_LABEL = "offset:"


def labelled(counts: Int64s) -> dict[str, int]:
    """The bins that are not empty, as running totals of a join."""
    return {f"{_LABEL}{place}": int(counts[place]) for place in np.flatnonzero(counts)}


def without_offsets(totals: Mapping[str, int]) -> dict[str, int]:
    """The other totals: of a join whose histogram has got another scale."""
    return {name: count for name, count in totals.items() if not name.startswith(_LABEL)}


def histogram(totals: Mapping[str, int]) -> Int64s:
    """The bins among a join's running totals."""
    counts = np.zeros(BINS, np.int64)
    for name, count in totals.items():
        if name.startswith(_LABEL):
            counts[int(name.removeprefix(_LABEL))] = count
    return counts
