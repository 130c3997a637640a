"""The paper's three metrics (section 4.1) and its time breakdown (5.3), of rows at rest or as they arrive.

Law: matches are those the join found, each at the time its chunk was handed on; a quantile is off by at
most one part in sixteen (`kernels/metrics.py`).

Throughput is input rows over the time of the last match. The latency of a match is its time less the later
arrival of its two rows. Progress is the share of matches found by a given time. Measuring costs nothing
unless it is asked for: a join without a meter only counts, and a crew without a stopwatch reads no clock.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InputError
from dovetail.intra_window.join import match, thread_count
from dovetail.intra_window.kernels.metrics import BINS, add_latencies, upper_edge
from dovetail.intra_window.kernels.packed import Int64s, UInt32s
from dovetail.intra_window.knobs import Knobs

PHASES = ("wait", "partition", "build/sort", "merge", "probe", "other")
_PAPER = {"build": "build/sort", "sort": "build/sort"}
_LONGEST_NAP_S = 0.005


class InMotion:
    """Rows that arrive by the clock: times are microseconds since `start` was called.

    Law: a row is there from its time of arrival on, and stays; times ascend on both sides. All data are in
    memory from the start, as in section 4.2.2 of the paper; only the clock holds them back.
    """

    def __init__(
        self,
        left_us: Int64s,
        right_us: Int64s,
        clock: Callable[[], float] = time.perf_counter,
        nap: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, times in (("left", left_us), ("right", right_us)):
            if len(times) and bool((np.diff(times) < 0).any()):
                raise InputError(f"the {name} times of arrival go back", expected="ascending times")
        self.times = (left_us, right_us)
        self._clock, self._nap = clock, nap
        self._started = clock()

    def start(self) -> None:
        self._started = self._clock()

    def now_us(self) -> int:
        return int((self._clock() - self._started) * 1e6)

    def ready(self, side: int, start: int, stop: int) -> int:
        if start == stop:
            return stop
        times = self.times[side]
        now = self.now_us()
        if times[stop - 1] <= now:
            return stop
        return start + int(np.searchsorted(times[start:stop], now, side="right"))

    def wait(self, left: int, right: int) -> None:
        ahead = [times[at] for times, at in zip(self.times, (left, right), strict=True) if at < len(times)]
        if ahead:
            self._until(int(min(ahead)))

    def wait_for_all(self) -> None:
        """Wait for the last row of the window, as the lazy joins do."""
        last = [int(times[-1]) for times in self.times if len(times)]
        self._until(max(last, default=0))

    def _until(self, when_us: int) -> None:
        while (left_us := when_us - self.now_us()) > 0:
            self._nap(min(_LONGEST_NAP_S, left_us / 1e6))


class PhaseTimes:
    """A stopwatch: seconds of each phase, summed over threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._since: dict[int, tuple[str, float]] = {}

    def enter(self, thread: int, phase: str) -> None:
        now = time.perf_counter()
        self._close(thread, now)
        self._since[thread] = (_PAPER.get(phase, phase), now)

    def leave(self, thread: int) -> None:
        self._close(thread, time.perf_counter())

    def _close(self, thread: int, now: float) -> None:
        phase, since = self._since.pop(thread, ("other", now))
        self.seconds[phase] += now - since


class MatchMeter:
    """Takes chunks of pairs, and notes when they came and how late. Every thread has its own notes."""

    def __init__(self, arrival: InMotion, threads: int) -> None:
        self._arrival = arrival
        self._bins = np.zeros((threads, BINS), np.int64)
        self._notes: list[list[tuple[int, int]]] = [[] for _ in range(threads)]

    def take(self, thread: int, left: UInt32s, right: UInt32s, count: int) -> None:
        now = self._arrival.now_us()
        add_latencies(*self._arrival.times, left, right, count, now, self._bins[thread])
        self._notes[thread].append((now, count))

    def progress(self) -> tuple[Int64s, Int64s]:
        """Times in microseconds, ascending, and how many matches were found by then."""
        notes = sorted(note for own in self._notes for note in own)
        times = np.array([when for when, _ in notes], np.int64)
        return times, np.cumsum([count for _, count in notes], dtype=np.int64)

    def latency_us(self, quantile: float) -> int | None:
        """None where nothing matched."""
        bins = self._bins.sum(axis=0)
        total = int(bins.sum())
        if not total:
            return None
        rank = max(1, int(np.ceil(quantile * total)))
        return upper_edge(int(np.searchsorted(np.cumsum(bins), rank)))


@dataclass(frozen=True)
class MeasuredWindow:
    """One window, one algorithm."""

    algorithm: str
    threads: int
    input_rows: int
    matches: int
    elapsed_s: float
    last_match_us: int | None
    latency_us: dict[str, int | None] = field(default_factory=dict)
    progress: list[tuple[int, float]] = field(default_factory=list)
    """(microseconds, share of all matches), at about twenty shares."""

    phases_s: dict[str, float] = field(default_factory=dict)

    @property
    def rows_per_s(self) -> float:
        """Input rows over the time of the last match, or over the whole time where nothing matched."""
        return self.input_rows / max(1e-9, (self.last_match_us or self.elapsed_s * 1e6) / 1e6)

    def until_share_us(self, share: float) -> int | None:
        return next((when for when, reached in self.progress if reached >= share), None)


QUANTILES = (0.5, 0.95, 0.99)


def measure(
    left: NDArray[Any],
    right: NDArray[Any],
    algorithm: str,
    threads: int | None = None,
    knobs: Knobs | None = None,
    left_us: Int64s | None = None,
    right_us: Int64s | None = None,
) -> MeasuredWindow:
    """Join a window and measure it. Without times of arrival all rows are there at the start."""
    at_rest = left_us is None and right_us is None
    arrival = InMotion(
        np.zeros(len(left), np.int64) if left_us is None else left_us,
        np.zeros(len(right), np.int64) if right_us is None else right_us,
    )
    count = thread_count(threads)
    meter, phases = MatchMeter(arrival, count), PhaseTimes()
    arrival.start()
    found = match(left, right, algorithm, count, knobs, meter.take, phases, None if at_rest else arrival)
    elapsed = arrival.now_us() / 1e6
    times, matched = meter.progress()
    return MeasuredWindow(
        algorithm,
        count,
        len(left) + len(right),
        found,
        elapsed,
        int(times[-1]) if len(times) else None,
        {f"p{round(q * 100)}": meter.latency_us(q) for q in QUANTILES},
        _thinned(times, matched),
        {name: phases.seconds.get(name, 0.0) for name in PHASES},
    )


def _thinned(times: Int64s, matched: Int64s) -> list[tuple[int, float]]:
    """The first time at which each twentieth of the matches was there."""
    if not len(times):
        return []
    total = int(matched[-1])
    marks = [max(1, total * n // 20) for n in range(21)]
    where = np.searchsorted(matched, marks)
    return [(int(times[at]), float(matched[at] / total)) for at in where]
