"""The join with estimated stream times, without Spark: commits of generated streams, planned and joined step
by step.

Paper, section 5.2: with percentile p at least `1 - p - (1 - p) p` of what a batch join matches is matched, as
far as the estimate holds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dovetail.joins.interval.step import step
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset
from dovetail.model.sketch import EventTimeSketch
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, plan_step

SECOND = 1_000_000
WINDOW = IntervalSpec(60 * SECOND, 60 * SECOND, "left")
Delays = Callable[[np.random.Generator, int], NDArray[np.float64]]

PROCESSES: dict[str, tuple[Delays, Delays]] = {
    "both in order": (lambda rng, n: np.zeros(n), lambda rng, n: np.zeros(n)),
    "seconds": (lambda rng, n: rng.exponential(3, n), lambda rng, n: rng.exponential(1, n)),
    "a late client": (lambda rng, n: 300 + rng.exponential(120, n), lambda rng, n: rng.exponential(2, n)),
    "long tails": (lambda rng, n: rng.lognormal(2, 1.5, n), lambda rng, n: rng.lognormal(1, 1, n)),
}


class Stream:
    """1,000 rows per second, a commit each second, ordered by arrival."""

    def __init__(self, seed: int, delays: Delays, seconds: int) -> None:
        rng = np.random.default_rng(seed)
        rows = 1000 * seconds
        event = np.sort(rng.random(rows)) * seconds
        arrival = event + delays(rng, rows)
        order = np.argsort(arrival, kind="stable")
        self.time = (event[order] * SECOND).astype(np.int64)
        self.key = rng.integers(0, rows // 20, rows)
        self.edges = np.searchsorted(arrival[order], np.arange(0, arrival.max() + 2))

    def commits(self, start: int) -> list[CommitSummary]:
        return [self._commit(number) for number in range(start, len(self.edges) - 1)]

    def _commit(self, number: int) -> CommitSummary:
        times = self.time[self.edges[number] : self.edges[number + 1]]
        sketch = EventTimeSketch.of(times)
        return CommitSummary(len(times), sketch.max_us if sketch.count else None, (sketch,))

    def arrivals(self, start: int, stop: int) -> Arrivals:
        rows = np.arange(self.edges[start], self.edges[stop])
        hashes = (self.key[rows].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
        return Arrivals(hashes, self.time[rows], rows)


def streamed(left: Stream, right: Stream, estimate: EstimateSpec) -> tuple[int, JoinOffset]:
    """Pairs found, and the offset after all input."""
    pace = Pace(0, 0, 20_000, 1, estimate)
    state, offset, pairs = JoinState.empty(WINDOW), JoinOffset(), 0
    commits = left.commits(0), right.commits(0)
    while True:
        end = plan_step(offset, commits[0][offset.left :], commits[1][offset.right :], pace, final=False)
        if end is offset:
            return pairs, offset
        emitted = step(
            state,
            left.arrivals(offset.left, end.left),
            right.arrivals(offset.right, end.right),
            Times(end.left_time, end.right_time),
        )
        pairs, offset = pairs + emitted.counts.pairs, end


def batch(left: Stream, right: Stream) -> int:
    """Pairs of the batch join: right rows of the key between two times, by binary search."""
    order = np.lexsort((right.time, right.key))
    span = 2**42
    sorted_right = right.key[order] * span + right.time[order]
    low = np.searchsorted(sorted_right, left.key * span + left.time - WINDOW.before_us, side="left")
    high = np.searchsorted(sorted_right, left.key * span + left.time + WINDOW.after_us, side="right")
    first = np.searchsorted(sorted_right, left.key * span, side="left")
    last = np.searchsorted(sorted_right, (left.key + 1) * span, side="left")
    return int((np.minimum(high, last) - np.maximum(low, first)).clip(0).sum())


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("percentile", [1, 5])
def test_matches_as_much_as_the_paper_promises(name: str, percentile: float) -> None:
    delays = PROCESSES[name]
    left, right = Stream(1, delays[0], 900), Stream(2, delays[1], 900)
    pairs, end = streamed(left, right, EstimateSpec(percentile=percentile))
    share = percentile / 100
    expected = batch(left, right)
    assert expected > 100_000
    assert pairs <= expected
    assert pairs >= (1 - share - (1 - share) * share) * expected
    assert min(end.left_time, end.right_time) > 100 * SECOND, "the streams have come somewhere"
