"""What each algorithm costs on this machine, measured, and when the matches of a window would come.

Idea     Time the algorithms on small windows, some with duplicates, some without. From these, estimate how
         long each would take for a given window, and from its rates when its matches would come.
Vocabulary  throughput, latency, progress -> the times of a `Forecast`.
Law      The same costs and facts give the same forecast.
Cost     `calibrate` joins some windows of up to a million rows a side; a forecast is arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf, log2, sqrt
from typing import NamedTuple

import numpy as np

from dovetail.intra_window.choose import StreamFacts, Wish
from dovetail.intra_window.eager import EAGER
from dovetail.intra_window.join import ALGORITHMS, match

ROWS = (1 << 12, 1 << 15, 1 << 18, 1 << 20)
DUPLICATES = (1, 64)
PAIRS = 1 << 22
"""Pairs of the window that measures the cost of writing a match."""

BLOCK_S = 0.001
"""A match of an eager join waits for the end of its block of rows: about this long."""


@dataclass(frozen=True)
class JoinCosts:
    """By algorithm: nanoseconds per input row, for windows of `ROWS` rows a side (rows of the array) and
    `DUPLICATES` rows per key (columns); and nanoseconds per match, where matches are written."""

    threads: int
    row_ns: dict[str, np.ndarray]
    match_ns: dict[str, float]

    def seconds(self, algorithm: str, facts: StreamFacts, matches: float) -> float:
        """How long the join takes if all rows are there. Interpolates by logarithm between the sizes that
        were timed. Beyond the largest it stays: caches are full anyway."""
        table = self.row_ns[algorithm]
        at = np.clip(
            np.interp(log2(max(1, facts.rows / 2)), [log2(rows) for rows in ROWS], range(len(ROWS))), 0, None
        )
        few, many = (np.interp(at, range(len(ROWS)), table[:, n]) for n in range(len(DUPLICATES)))
        duplicates = max(1.0, min(facts.left.duplicates, facts.right.duplicates))
        share = min(1.0, log2(duplicates) / log2(DUPLICATES[-1]))
        return float((few + share * (many - few)) * facts.rows + self.match_ns[algorithm] * matches) / 1e9


def calibrate(
    threads: int, algorithms: Sequence[str] = ALGORITHMS, seed: int = 1, repeat: int = 2
) -> JoinCosts:
    """Time the algorithms. Takes the best of several runs: a disturbance only makes a run slower."""
    rng = np.random.default_rng(seed)
    row_ns = {name: np.zeros((len(ROWS), len(DUPLICATES))) for name in algorithms}
    match_ns = {}
    many = (rng.permutation(ROWS[1]) % max(1, ROWS[1] ** 2 // PAIRS)).astype(np.int32)
    for i, rows in enumerate(ROWS):
        for j, duplicates in enumerate(DUPLICATES):
            keys = (rng.permutation(rows) // duplicates).astype(np.int32)
            for name in algorithms:
                row_ns[name][i, j] = _best_s(keys, name, threads, repeat) / (2 * rows) * 1e9
    for name in algorithms:
        written = _best_s(many, name, threads, repeat, pairs=True)
        counted = row_ns[name][1, -1] * 2 * ROWS[1] / 1e9
        match_ns[name] = max(0.0, written - counted) / PAIRS * 1e9
    return JoinCosts(threads, row_ns, match_ns)


def _best_s(keys: np.ndarray, name: str, threads: int, repeat: int, pairs: bool = False) -> float:
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        match(keys, keys[::-1].copy(), name, threads, take=(lambda *_: None) if pairs else None)
        best = min(best, time.perf_counter() - began)
    return best


class MatchTimes(NamedTuple):
    """Seconds: until a window's last match, since its start; the 95th percentile of a match's age; until half
    of the matches, since the start."""

    last: float
    late: float
    half: float

    def of(self, wish: Wish) -> float:
        """What is to be small."""
        return {"throughput": self.last, "latency": self.late, "progress": self.half}[wish]


class Forecast(NamedTuple):
    """When a window's matches would come: the time that the rows' own arrival takes, which is known, and what
    the work adds, which is estimated."""

    sure: MatchTimes
    work: MatchTimes

    def of(self, wish: Wish) -> float:
        return self.sure.of(wish) + self.work.of(wish)


def forecast(algorithm: str, work_s: float, window_s: float) -> Forecast:
    """`work_s`: how long the join takes for rows at rest; `window_s`: how long they take to come.

    Of two rows that come at any time of a window, the later one is there after 0.71 of the window in half of
    all pairs, and within its last 0.78 in 95 %. That is how old their matches are at its end.
    """
    half, late = sqrt(0.5), 1 - sqrt(0.05)
    at_end = MatchTimes(window_s, late * window_s, window_s)
    if algorithm not in EAGER:
        return Forecast(at_end, MatchTimes(work_s, work_s, work_s / 2))
    behind = max(0.0, work_s - window_s)
    if algorithm.startswith("shj"):
        return Forecast(
            MatchTimes(window_s, 0.0, half * window_s),
            MatchTimes(behind + BLOCK_S, 0.95 * behind + BLOCK_S, half * behind + BLOCK_S),
        )
    tail = behind + work_s / 2  # PMJ sorts as rows come, and finds most matches when it merges
    return Forecast(at_end, MatchTimes(tail, tail, tail / 2))


def window_seconds(facts: StreamFacts) -> float:
    """How long the slower side takes to come; 0 at rest."""
    sides = [side for side in (facts.left, facts.right) if side.rows and not isinf(side.rate_per_ms)]
    return max((side.rows / side.rate_per_ms / 1000 for side in sides), default=0.0)


def expected_matches(facts: StreamFacts) -> float:
    """Each row of the smaller side meets the duplicates of its key on the other, as if every key were on both
    sides."""
    smaller, larger = sorted((facts.left, facts.right), key=lambda side: side.rows)
    return smaller.rows * larger.duplicates
