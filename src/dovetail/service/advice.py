"""Advice on a join's window (paper, section 6.5), from what the join has seen.

The join's sample counts right rows around left rows, inside the window and beyond it. Rows beyond a bound are
what widening it would gain; rows just inside are what narrowing it would lose. Memory follows from the rows
per second of event time of each stream: an open left row is held for `after` (with pacing, the right stream
is read that far ahead instead), a right row for `before`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dovetail.engine.measure import JoinMeasure
from dovetail.joins.tactics import done_at_match
from dovetail.model.interval import IntervalSpec
from dovetail.model.match_offsets import BEYOND, INSIDE, MatchOffsets, histogram
from dovetail.plan.interval_literal import UNIT_US, words

Int64s = NDArray[np.int64]
Bound = Literal["before", "after"]
FEWEST_MATCHES = 200
SETTLED = 4
"""No advice until this many times the open rows have closed: open rows lack some of their neighbours."""
WORTH_GAINING = 0.002
"""Advise a wider bound if it gains at least this share of matches; it then reaches nine tenths of them."""
WORTH_LOSING = 0.001
"""Advise a narrower bound if it loses at most this share of matches and is at least a quarter shorter."""


_PARTS = {"day": 24, "hour": 12, "minute": 6, "second": 10}


@dataclass(frozen=True)
class Advice:
    """`matches`: the share gained (or lost, if negative); `memory`: a multiple of what is held now."""

    bound: Bound
    from_us: int
    to_us: int
    matches: float
    memory: float | None

    @property
    def words(self) -> str:
        cost = "" if self.memory is None else f", costs {self.memory:.1f} times the memory"
        if self.matches > 0:
            gain = f"gains an estimated {100 * self.matches:.1f} % of matches"
            return f"widen {self.bound} to about {words(self.to_us)}: {gain}{cost}"
        loss = f"loses at most an estimated {-100 * self.matches:.2f} % of matches"
        saved = "" if self.memory is None else f", needs {self.memory:.2f} times the memory"
        return f"{self.bound} could be {words(self.to_us)}: {loss}{saved}"


@dataclass(frozen=True)
class Distances:
    """Distance of matches from a bound of the window: three percentiles, in microseconds."""

    p01: int
    p50: int
    p99: int


def distances(spec: IntervalSpec, measured: JoinMeasure) -> dict[Bound, Distances] | None:
    """Distances from both bounds; None while there are no matches."""
    scale, counts = MatchOffsets.of(spec), histogram(measured.totals)[BEYOND : BEYOND + INSIDE]
    if not counts.sum():
        return None
    return {"before": _percentiles(counts, scale.bin_us), "after": _percentiles(counts[::-1], scale.bin_us)}


def advise(spec: IntervalSpec, paced: bool, measured: JoinMeasure) -> list[Advice]:
    counts, totals = histogram(measured.totals), measured.totals
    settled = totals.get("left_in", 0) - totals.get("open_rows", 0)
    young = settled < SETTLED * totals.get("open_rows", 0)
    if young or counts[BEYOND : BEYOND + INSIDE].sum() < FEWEST_MATCHES:
        return []
    return [
        *_about("after", spec.after_us, spec, counts, paced, measured),
        *_about("before", spec.before_us, spec, counts[::-1], paced, measured),
    ]


def _about(
    bound: Bound, now_us: int, spec: IntervalSpec, counts: Int64s, paced: bool, measured: JoinMeasure
) -> Iterator[Advice]:
    """`counts` run from far inside the bound to far beyond it."""
    inside, beyond = counts[BEYOND : BEYOND + INSIDE], counts[BEYOND + INSIDE :]
    bin_us, matches = MatchOffsets.of(spec).bin_us, int(inside.sum())
    if _flat(inside, beyond):
        return
    if beyond.sum() / matches >= WORTH_GAINING:
        bins = int(np.searchsorted(np.cumsum(beyond), 0.9 * beyond.sum())) + 1
        to_us = rounded_up(now_us + bins * bin_us)
        reached = min(len(beyond), -(-(to_us - now_us) // bin_us))
        gain = float(beyond[:reached].sum()) / matches
        yield Advice(bound, now_us, to_us, gain, _memory(bound, to_us - now_us, spec, paced, measured))
        return
    outermost_first = np.cumsum(inside[::-1])
    spare = int(np.searchsorted(outermost_first, WORTH_LOSING * matches, side="right"))
    to_us = rounded_up(now_us - spare * bin_us)
    if now_us > 0 and 0 <= to_us <= 0.75 * now_us:
        lost = float(outermost_first[spare - 1]) / matches
        yield Advice(bound, now_us, to_us, -lost, _memory(bound, to_us - now_us, spec, paced, measured))


def _flat(inside: Int64s, beyond: Int64s) -> bool:
    """Right rows are about as frequent far beyond the bound as inside it: these are pairs by chance, and no
    window is better than another."""
    far = beyond[len(beyond) // 2 :]
    return float(far.mean()) >= 0.5 * float(inside.mean())


def _memory(
    bound: Bound, more_us: int, spec: IntervalSpec, paced: bool, measured: JoinMeasure
) -> float | None:
    opens = bound == "after" and not paced
    stream = measured.left if opens else measured.right
    held = measured.totals.get("peak_rows", 0)
    if stream.rows_per_event_s is None or not held:
        return None
    staying = 1.0
    if opens and done_at_match(spec):  # a left row closes when it has its partner
        staying -= measured.match_rate or 0.0
    return max(0.0, held + staying * stream.rows_per_event_s * more_us / 1e6) / held


def _percentiles(counts: Int64s, bin_us: int) -> Distances:
    """The middle of the bin that holds each percentile; bins begin at the bound."""
    reached = np.cumsum(counts)
    bins = (int(np.searchsorted(reached, share * reached[-1])) for share in (0.01, 0.5, 0.99))
    return Distances(*(place * bin_us + bin_us // 2 for place in bins))


def rounded_up(time_us: int) -> int:
    """Rounded to a part of the unit that people would use."""
    unit = next((unit for unit in ("day", "hour", "minute", "second") if abs(time_us) >= UNIT_US[unit]), None)
    grain = UNIT_US[unit] // _PARTS[unit] if unit else 1
    return -(-time_us // grain) * grain
