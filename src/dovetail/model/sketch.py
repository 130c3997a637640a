"""A small mergeable summary of event times: how many, how many missing, smallest, largest, and distribution.

The times are kept as groups of neighbours, each with a mean and a weight. A group may hold about a 32nd of
the rows below it. So the lowest times have groups of their own, and a low quantile, from which a stream's
time is taken, is known to within a small fraction of its rank. Groups follow ranks, not values: one row dated
next year adds one group and changes nothing for the others, unlike in a histogram with equal bins.

    ranks     0 1 2 .. 31 | 32 33 .. 63 | 64-65 66-67 .. | 128-131 .. | 256-263 ..

Law. Merging loses no row: counts add up, the smallest and the largest time stay exact, and so does the mean,
up to rounding. The true rank of `quantile(p)` is within `RANK_ERROR` of `p * count` per merge, in practice
well inside. The result depends only on the input and its order.

Published relatives: t-digest (groups by rank, means as centres) and biased quantiles (finer towards the low
end). Their libraries are randomised, or serialise to bytes that nobody can read in a commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.model import json_values as said
from dovetail.model.time_codes import FIRST_TIME

Int64s = npt.NDArray[np.int64]

OCTAVE = 32
"""Groups between a rank and its double."""
RANK_ERROR = 2 / OCTAVE
"""A group's own weight plus that of the last one to enter it, as a share of the rows below."""

_EXACT = 2**53
"""Below this a float can represent every whole number."""
_SORTED_ROWS = 4096
_BIN_BITS = 12


@dataclass(frozen=True)
class EventTimeSketch:
    """`count` times from `min_us` to `max_us` (both 0 if there are none), and `nulls` rows without a usable
    time. `means` ascend and are relative to `min_us`; `weights` add up to `count`."""

    count: int = 0
    nulls: int = 0
    min_us: int = 0
    max_us: int = 0
    means: tuple[int, ...] = ()
    weights: tuple[int, ...] = ()

    @classmethod
    def of(cls, times: Int64s) -> EventTimeSketch:
        """The sketch of times in microseconds. Codes mark rows without one (`model/time_codes.py`)."""
        if times.size == 0:
            return EMPTY
        low, nulls = int(times.min()), 0
        if low < FIRST_TIME:
            known = times[times >= FIRST_TIME]
            nulls = times.size - known.size
            if known.size == 0:
                return cls(nulls=nulls)
            times, low = known, int(known.min())
        points, weights = _points(times)
        return cls._grouped(nulls, low, int(times.max()), points, weights)

    @classmethod
    def without_times(cls, rows: int) -> EventTimeSketch:
        """The sketch of rows without times."""
        return cls(nulls=rows)

    @classmethod
    def _grouped(
        cls,
        nulls: int,
        low: int,
        high: int,
        points: npt.NDArray[np.float64],
        weights: Int64s,
        fine_ranks: float = np.inf,
    ) -> EventTimeSketch:
        means, weights = _groups(points, weights, fine_ranks)
        span = high - low
        if span < _EXACT:
            inside = np.clip(np.rint(means), 0, span).astype(np.int64).tolist()
        else:  # in Python integers: rounding floats could exceed the span
            inside = [min(span, max(0, round(mean))) for mean in means.tolist()]
        return cls(int(weights.sum()), nulls, low, high, tuple(inside), tuple(weights.tolist()))

    def merge(self, other: EventTimeSketch) -> EventTimeSketch:
        return merge_sketches((self, other))

    def shifted(self, by_us: int) -> EventTimeSketch:
        """The same times, all later by `by_us`."""
        if not self.count:
            return self
        return replace(self, min_us=self.min_us + by_us, max_us=self.max_us + by_us)

    def share_from(self, time_us: int) -> float:
        """About the share of times that are not before this one; exact if it is 0 or 1."""
        if not self.count or time_us > self.max_us:
            return 0.0
        if time_us <= self.min_us:
            return 1.0
        later = sum(
            weight
            for mean, weight in zip(self.means, self.weights, strict=True)
            if self.min_us + mean >= time_us
        )
        return max(later, 1) / self.count

    def halved(self) -> EventTimeSketch:
        """Every other of the times, in their order; the smallest and the largest stay exact."""
        reached = np.cumsum(np.array(self.weights, np.int64)) // 2
        weights = np.diff(reached, prepend=0)
        kept = np.flatnonzero(weights)
        if not len(kept):
            return EMPTY
        means = tuple(self.means[place] for place in kept.tolist())
        return replace(self, count=int(weights.sum()), means=means, weights=tuple(weights[kept].tolist()))

    def focused(self, share: float) -> EventTimeSketch:
        """The same times, precise only up to the quantile `share`. Those well above share few groups."""
        if not self.count:
            return self
        points = np.array(self.means, np.float64)
        weights = np.array(self.weights, np.int64)
        return self._grouped(self.nulls, self.min_us, self.max_us, points, weights, 4 * share * self.count)

    def quantile(self, share: float) -> int | None:
        """The time that this share of the times is below; None if there are no times. 0 and 1 are exact."""
        if not 0 <= share <= 1:
            raise ValueError(f"a share between 0 and 1 was expected, not {share}")
        if self.count == 0:
            return None
        if share == 1:
            return self.max_us
        ranks, offsets = self._curve()
        return min(self.max_us, self.min_us + int(np.interp(share * self.count, ranks, offsets)))

    def rows_since(self, time_us: int) -> float:
        """About how many of the times are at or after a moment."""
        if self.count == 0 or time_us <= self.min_us:
            return float(self.count)
        if time_us > self.max_us:
            return 0.0
        ranks, offsets = self._curve()
        return self.count - float(np.interp(time_us - self.min_us, offsets, ranks))

    def mean(self) -> int | None:
        if self.count == 0:
            return None
        return self.min_us + int(np.average(np.array(self.means, np.float64), weights=self.weights))

    def _curve(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Ranks and times (from `min_us`) between which to interpolate: a group's mean is at its middle."""
        weights = np.array(self.weights, np.float64)
        middles = np.cumsum(weights) - weights / 2
        span = float(self.max_us - self.min_us)
        return np.concatenate([[0.0], middles, [self.count]]), np.concatenate([[0.0], self.means, [span]])

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "nulls": self.nulls,
            "min_us": self.min_us,
            "max_us": self.max_us,
            "means": list(self.means),
            "weights": list(self.weights),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EventTimeSketch:
        """Raises ValueError, KeyError, TypeError or OverflowError for what `to_json` cannot have made."""
        read = cls(
            count=said.whole(value["count"]),
            nulls=said.whole(value["nulls"]),
            min_us=said.time_us(value["min_us"]),
            max_us=said.time_us(value["max_us"]),
            means=tuple(said.whole(mean, high=2**64) for mean in said.items(value["means"])),
            weights=tuple(said.whole(weight) for weight in said.items(value["weights"])),
        )
        if not read._consistent():
            raise ValueError("the parts of the event-time sketch contradict each other")
        return read

    def _consistent(self) -> bool:
        if self.count <= 0 or self.nulls < 0:
            empty = self.count == self.min_us == self.max_us == 0 and not self.means and not self.weights
            return empty and self.nulls >= 0
        return (
            FIRST_TIME <= self.min_us <= self.max_us < 2**63
            and len(self.means) == len(self.weights) > 0
            and min(self.weights) > 0
            and sum(self.weights) == self.count
            and self.means[0] >= 0
            and self.means[-1] <= self.max_us - self.min_us
            and all(one <= other for one, other in pairwise(self.means))
        )


EMPTY = EventTimeSketch()


def merge_sketches(sketches: Iterable[EventTimeSketch]) -> EventTimeSketch:
    """The sketch of all the times of all the sketches."""
    given = list(sketches)
    nulls = sum(sketch.nulls for sketch in given)
    timed = [sketch for sketch in given if sketch.count]
    if not timed:
        return EventTimeSketch(nulls=nulls)
    if len(timed) == 1:
        (only,) = timed
        return only if only.nulls == nulls else EventTimeSketch(**{**vars(only), "nulls": nulls})
    low, high = min(s.min_us for s in timed), max(s.max_us for s in timed)
    points = np.concatenate([np.array(s.means, np.float64) + (s.min_us - low) for s in timed])
    weights = np.concatenate([np.array(s.weights, np.int64) for s in timed])
    order = np.argsort(points, kind="stable")
    return EventTimeSketch._grouped(nulls, low, high, points[order], weights[order])


def _groups(
    points: npt.NDArray[np.float64], weights: Int64s, fine_ranks: float
) -> tuple[npt.NDArray[np.float64], Int64s]:
    """Merges neighbours whose ranks start in the same cell. Cells grow like the steps of a float: `OCTAVE` of
    them between a rank and its double, or two beyond `fine_ranks`."""
    below = (np.cumsum(weights) - weights).astype(np.float64)
    fraction, exponent = np.frexp(np.maximum(below, 1))
    steps = np.where(below < fine_ranks, OCTAVE, 2)
    cell = np.where(
        below < OCTAVE, below, OCTAVE * (1 + exponent.astype(np.float64)) + np.floor(2 * fraction * steps)
    )
    starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    grouped: Int64s = np.add.reduceat(weights, starts)
    return np.add.reduceat(points * weights, starts) / grouped, grouped


def _points(times: Int64s) -> tuple[npt.NDArray[np.float64], Int64s]:
    """Times relative to the smallest, ascending, with the count of each. In large arrays neighbours may share
    a point, but never one that outweighs a group."""
    low = int(times.min())
    span = int(times.max()) - low
    shift = max(0, span.bit_length() - _BIN_BITS)
    if times.size < _SORTED_ROWS or span >= 2**63:
        found, counts = np.unique(times, return_counts=True)
        # The difference of any two times fits into 64 unsigned bits, and two's complement gives it exactly.
        return (found.view(np.uint64) - np.uint64(low % 2**64)).astype(np.float64), counts.astype(np.int64)
    offsets = times - low
    bins = offsets >> shift
    counts = np.bincount(bins)
    below = np.cumsum(counts) - counts
    heavy = counts > np.maximum(1, below // OCTAVE)
    light = np.flatnonzero((counts > 0) & ~heavy) if shift else np.flatnonzero(counts)
    points = ((light << shift) + (((1 << shift) - 1) / 2)).astype(np.float64)
    weights = counts[light].astype(np.int64)
    if shift and heavy.any():
        inside = offsets[heavy[bins]]
        finer = (inside.max() - inside.min()) >> (_BIN_BITS // 2) < span >> _BIN_BITS
        more, more_weights = _points(inside) if finer else _sorted(inside)
        points = np.concatenate([points, more + (float(inside.min()) if finer else 0.0)])
        weights = np.concatenate([weights, more_weights])
        order = np.argsort(points, kind="stable")
        points, weights = points[order], weights[order]
    return points, weights


def _sorted(times: Int64s) -> tuple[npt.NDArray[np.float64], Int64s]:
    found, counts = np.unique(times, return_counts=True)
    return found.astype(np.float64), counts.astype(np.int64)
