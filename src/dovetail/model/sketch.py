"""A small mergeable summary of event times: how many, how many missing, from when to when, and a histogram.

Law: the sketch is a function of the *multiset* of times alone. So for every split of the times,
`EventTimeSketch.of(a + b) == EventTimeSketch.of(a).merge(EventTimeSketch.of(b))`, and `merge` is associative
and commutative with `EMPTY` as its unit.

Why that holds: bin `k` of width `2**shift` covers the times `t` with `t >> shift == k`, and `shift` is the
smallest one with which the range from the minimum to the maximum touches at most 256 bins. A wider range
never needs a smaller shift, and a bin of twice the width is two bins joined: nothing is ever interpolated.

    times 0..255 µs      256 bins of 1 µs
    and one of 300 µs    151 bins of 2 µs, of which bins 128..149 are empty and bin 150 holds the new one
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for "no event time" among int64 microseconds."""

MAX_BINS = 256


@dataclass(frozen=True)
class EventTimeSketch:
    """`count` times from `min_us` to `max_us` (both 0 if there are none), and `nulls` rows without a time."""

    count: int = 0
    nulls: int = 0
    min_us: int = 0
    max_us: int = 0
    counts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.count == 0:
            consistent = self.min_us == self.max_us == 0 and not self.counts
        else:
            bins = (self.max_us >> self.shift) - (self.min_us >> self.shift) + 1
            consistent = (
                NO_TIME < self.min_us <= self.max_us < -NO_TIME
                and len(self.counts) == bins
                and sum(self.counts) == self.count
                and self.counts[0] > 0
                and self.counts[-1] > 0
                and min(self.counts) >= 0
            )
        if not consistent or self.count < 0 or self.nulls < 0:
            raise ValueError("the parts of the event-time sketch contradict each other")

    @classmethod
    def of(cls, times: npt.NDArray[np.int64]) -> EventTimeSketch:
        """The sketch of an array of microseconds, `NO_TIME` where there is none."""
        if times.size == 0:
            return EMPTY
        low = int(times.min())
        nulls = 0
        if low == NO_TIME:
            known = times[times != NO_TIME]
            nulls = times.size - known.size
            if known.size == 0:
                return cls(nulls=nulls)
            times, low = known, int(known.min())
        high = int(times.max())
        shift = _shift(low, high)
        counts = np.bincount((times >> shift) - (low >> shift))
        return cls(times.size, nulls, low, high, tuple(counts.tolist()))

    @classmethod
    def without_times(cls, rows: int) -> EventTimeSketch:
        """The sketch of rows of which none has a time."""
        return cls(nulls=rows)

    def merge(self, other: EventTimeSketch) -> EventTimeSketch:
        return merge_sketches((self, other))

    @property
    def shift(self) -> int:
        return _shift(self.min_us, self.max_us)

    @property
    def bin_width_us(self) -> int:
        """The error bound of `quantile`."""
        return 1 << self.shift

    def quantile(self, p: float) -> int | None:
        """The time below which a share `p` of the times lies (nearest rank), or None without times.

        Never ahead of the true one `v`, and less than a bin behind: `q <= v < q + bin_width_us`. The lowest
        and the highest rank are exact.
        """
        if not 0 <= p <= 1:
            raise ValueError(f"a share between 0 and 1 was expected, not {p}")
        if self.count == 0:
            return None
        rank = max(1, math.ceil(p * self.count))
        if rank == 1:
            return self.min_us
        if rank >= self.count:
            return self.max_us
        bin_of_rank = int(np.searchsorted(np.cumsum(self.counts), rank))
        return max(self.min_us, ((self.min_us >> self.shift) + bin_of_rank) << self.shift)

    def mean(self) -> int | None:
        """The mean of the times, or None without times: never ahead of the true one, and less than a bin
        behind."""
        if self.count == 0:
            return None
        first = self.min_us >> self.shift
        offset = sum(number * count for number, count in enumerate(self.counts)) * self.bin_width_us
        return max(self.min_us, (first << self.shift) + offset // self.count)

    def rows_since(self, time_us: int) -> float:
        """About how many of the times are not before `time_us`; those of one bin count as spread evenly."""
        if self.count == 0 or time_us <= self.min_us:
            return float(self.count)
        if time_us > self.max_us:
            return 0.0
        at = (time_us >> self.shift) - (self.min_us >> self.shift)
        inside = (time_us & (self.bin_width_us - 1)) / self.bin_width_us
        return sum(self.counts[at + 1 :]) + self.counts[at] * (1 - inside)

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "nulls": self.nulls,
            "min_us": self.min_us,
            "max_us": self.max_us,
            "counts": list(self.counts),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> EventTimeSketch:
        """Raises ValueError, KeyError or TypeError for anything that `to_json` cannot have made."""
        numbers = {key: value[key] for key in ("count", "nulls", "min_us", "max_us")}
        return cls(**numbers, counts=tuple(value["counts"]))


EMPTY = EventTimeSketch()


def merge_sketches(sketches: Iterable[EventTimeSketch]) -> EventTimeSketch:
    """The sketch of all the times of all the sketches."""
    given = list(sketches)
    nulls = sum(sketch.nulls for sketch in given)
    timed = [sketch for sketch in given if sketch.count]
    if not timed:
        return EventTimeSketch(nulls=nulls)
    low, high = min(s.min_us for s in timed), max(s.max_us for s in timed)
    shift = _shift(low, high)
    counts = np.zeros((high >> shift) - (low >> shift) + 1, np.int64)
    for sketch in timed:
        # In Python's integers: bin k of the fine sketch is bin (k >> difference) of the coarse one.
        first, coarser = sketch.min_us >> sketch.shift, shift - sketch.shift
        base, inside = (first >> coarser) - (low >> shift), first & ((1 << coarser) - 1)
        bins = (np.arange(len(sketch.counts), dtype=np.uint64) + np.uint64(inside)) >> np.uint64(coarser)
        np.add.at(counts, base + bins.astype(np.int64), np.array(sketch.counts, np.int64))
    return EventTimeSketch(sum(s.count for s in timed), nulls, low, high, tuple(counts.tolist()))


def _shift(low: int, high: int) -> int:
    """The smallest shift with which `low..high` touches at most `MAX_BINS` bins."""
    shift = max(0, (high - low).bit_length() - MAX_BINS.bit_length())
    while (high >> shift) - (low >> shift) >= MAX_BINS:
        shift += 1
    return shift
