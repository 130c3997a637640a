"""Which algorithm for which window: by what each costs on this machine, and by how it did on windows before.

Idea     The cost model forecasts when matches would come (`cost.py`). For each algorithm and each kind of
         window we remember how long the work really took over the forecast, and correct the next forecast by
         it: by the best of the last few, because other work on the machine only makes a join slower. An
         algorithm that was hardly tried gets the benefit of the doubt.
Paper    Section 7 asks for it: an adaptive choice by workload, metric and hardware.
Law      The same costs, facts and earlier windows give the same choice, and it says why. At most a sample of
         a window is read (`choose.py`). An algorithm is tried without success at most twice for each kind of
         window, and then again only where it came near the best.
Cost     Arithmetic for each algorithm.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import isinf, log2
from typing import NamedTuple

from dovetail.intra_window.choose import HOT_SHARE, Choice, StreamFacts, Wish
from dovetail.intra_window.cost import Forecast, JoinCosts, expected_matches, forecast, window_seconds

REMEMBERED = 5
TRIES = 2
DOUBT = 0.75
"""An algorithm tried fewer than `TRIES` times is assumed to take this share of its forecast."""

LEAST = 0.05
"""Smallest share of the forecast that is remembered: rows of a window may come sooner than we think."""

STALE_WINDOWS = 32
STALE_DOUBT = 0.9


class WindowClass(NamedTuple):
    """Windows that are alike: each figure within a factor of four."""

    rows: int
    duplicates: int
    rate: int
    hot: bool


def kind_of(facts: StreamFacts) -> WindowClass:
    rate = min(facts.left.rate_per_ms, facts.right.rate_per_ms)
    return WindowClass(
        _fours(facts.rows),
        _fours(min(facts.left.duplicates, facts.right.duplicates)),
        -1 if isinf(rate) else _fours(rate),
        max(facts.left.top_share, facts.right.top_share) >= HOT_SHARE,
    )


def _fours(figure: float) -> int:
    return round(log2(max(1.0, figure)) / 2)


@dataclass
class _Seen:
    """How an algorithm did on the last windows of a kind: how long its work took over the forecast."""

    ratios: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    at: int = 0


@dataclass
class Adaptive:
    """Chooses window by window among the algorithms that the costs are of."""

    costs: JoinCosts
    wish: Wish = "throughput"
    write_pairs: bool = True
    _seen: dict[tuple[WindowClass, str], _Seen] = field(default_factory=dict)
    _windows: dict[WindowClass, int] = field(default_factory=dict)

    def choose(self, facts: StreamFacts) -> Choice:
        kind = kind_of(facts)
        expected = {name: self._expected_s(name, facts, kind) for name in self.costs.row_ns}
        best, *others = sorted(expected, key=lambda name: expected[name])
        tries = len(seen.ratios) if (seen := self._seen.get((kind, best))) else 0
        reasons = [f"{self.wish} counts most: {expected[best] * 1000:,.1f} ms expected"]
        if others:
            reasons.append(f"next is {others[0]} with {expected[others[0]] * 1000:,.1f} ms")
        reasons.append(
            f"{facts.rows:,} rows in {window_seconds(facts) * 1000:,.0f} ms"
            f", {min(facts.left.duplicates, facts.right.duplicates):,.0f} of a key"
        )
        reasons.append(f"by its last {tries} windows of this kind" if tries else "not tried on this kind yet")
        return Choice(best, tuple(reasons))

    def learn(self, algorithm: str, facts: StreamFacts, took_s: float) -> None:
        """Remember how long a window took, by the wish: until the last match, the age of late matches, or
        until half of them."""
        kind = kind_of(facts)
        seen = self._seen.setdefault((kind, algorithm), _Seen())
        self._windows[kind] = seen.at = self._windows.get(kind, 0) + 1
        expected = self._forecast(algorithm, facts)
        beyond = took_s - expected.sure.of(self.wish)
        seen.ratios.append(max(LEAST, beyond / max(1e-9, expected.work.of(self.wish))))

    def _expected_s(self, name: str, facts: StreamFacts, kind: WindowClass) -> float:
        expected, seen = self._forecast(name, facts), self._seen.get((kind, name))
        ratio, doubt = 1.0, DOUBT
        if seen is not None:
            ratio = min(seen.ratios)
            if self._windows[kind] - seen.at >= STALE_WINDOWS:
                doubt = STALE_DOUBT
            elif len(seen.ratios) >= TRIES:
                doubt = 1.0
        return expected.sure.of(self.wish) + ratio * doubt * expected.work.of(self.wish)

    def _forecast(self, name: str, facts: StreamFacts) -> Forecast:
        matches = expected_matches(facts) if self.write_pairs else 0.0
        return forecast(name, self.costs.seconds(name, facts, matches), window_seconds(facts))
