"""The advice, followed, does what it said: a window is advised on, changed so, and joined again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from dovetail.engine.measure import JoinMeasure, StreamMeasure
from dovetail.engine.store import add_totals
from dovetail.joins.interval.step import step
from dovetail.joins.sample import Sample, look
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times
from dovetail.model.interval import IntervalSpec
from dovetail.model.match_offsets import labelled
from dovetail.service.advice import Advice, advise, distances

SECOND, MINUTE = 1_000_000, 60_000_000
HOUR_S, ROWS_A_SECOND, STEP_S, DELAY_S = 3600, 100, 10, 5


@dataclass(frozen=True)
class Streams:
    """100 left rows per second for an hour, each with a right row of its own key some time later."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @classmethod
    def apart(cls, offsets_s: NDArray[np.float64]) -> Streams:
        left = np.sort(np.random.default_rng(1).random(len(offsets_s))) * HOUR_S
        return cls((left * SECOND).astype(np.int64), ((left + offsets_s) * SECOND).astype(np.int64))


def arrivals(times: NDArray[np.int64], start_us: int, stop_us: int) -> Arrivals:
    rows = np.flatnonzero((times >= start_us) & (times < stop_us))
    return Arrivals((rows + 1) * np.int64(0x1E3779B97F4A7C15), times[rows], rows)


def joined(streams: Streams, spec: IntervalSpec) -> JoinMeasure:
    """In steps of ten seconds; stream times are five seconds behind."""
    state, sample = JoinState.empty(spec), Sample.empty()
    totals: dict[str, int] = {}
    peak = 0
    for start in range(-HOUR_S // 2, HOUR_S + HOUR_S // 2, STEP_S):
        bounds = start * SECOND, (start + STEP_S) * SECOND
        new = arrivals(streams.left, *bounds), arrivals(streams.right, *bounds)
        before = state.times
        until = (start + STEP_S - DELAY_S) * SECOND
        emitted = step(state, *new, Times(until, until))
        seen = look(sample, spec, *new, before, state.times)
        totals = add_totals(totals, emitted.counts._asdict())
        totals = add_totals(totals, {"missed": seen.missed, **labelled(seen.offsets)})
        peak = max(peak, emitted.peak_rows)
    totals |= {"peak_rows": peak, "open_rows": state.left_rows}
    return JoinMeasure("join", 1, 0, stream("left"), stream("right"), totals, None)


def stream(side: str) -> StreamMeasure:
    names = StreamMeasure.__dataclass_fields__
    said = dict.fromkeys(names, 0) | {"side": side, "rows_per_event_s": ROWS_A_SECOND, "frequent": ()}
    return StreamMeasure(**said)


def followed(spec: IntervalSpec, advice: Advice) -> IntervalSpec:
    bounds = {"before": spec.before_us, "after": spec.after_us} | {advice.bound: advice.to_us}
    return IntervalSpec(bounds["before"], bounds["after"], spec.how)


CASES = {
    "too narrow after": (IntervalSpec(MINUTE, 5 * MINUTE, "left"), lambda rng, n: rng.exponential(180, n)),
    "too narrow before": (IntervalSpec(3 * MINUTE, MINUTE, "left"), lambda rng, n: -rng.exponential(120, n)),
    "too wide after": (IntervalSpec(MINUTE, 15 * MINUTE, "left"), lambda rng, n: rng.uniform(-50, 200, n)),
    "too wide before": (IntervalSpec(20 * MINUTE, MINUTE, "left"), lambda rng, n: rng.uniform(-300, 50, n)),
}


@pytest.mark.parametrize("case", CASES)
def test_advice_followed_does_what_it_said(case: str) -> None:
    spec, offsets = CASES[case]
    streams = Streams.apart(offsets(np.random.default_rng(2), HOUR_S * ROWS_A_SECOND))
    now = joined(streams, spec)
    direction, bound = case.split()[1:]
    advice = next(one for one in advise(spec, False, now) if one.bound == bound)
    assert (advice.matches > 0) == (direction == "narrow")
    then = joined(streams, followed(spec, advice))
    gained = then.totals["pairs"] / now.totals["pairs"] - 1
    assert gained == pytest.approx(advice.matches, abs=0.002, rel=0.1)
    assert advice.memory is not None
    assert then.totals["peak_rows"] / now.totals["peak_rows"] == pytest.approx(advice.memory, rel=0.1)
    assert (advice.memory > 1) == (direction == "narrow")
    assert advice.words.startswith("widen" if direction == "narrow" else f"{bound} could be")


def test_a_window_that_fits_needs_no_advice() -> None:
    spec = IntervalSpec(MINUTE, 4 * MINUTE, "left")
    offsets = np.random.default_rng(3).uniform(-60, 239, HOUR_S * ROWS_A_SECOND)
    now = joined(Streams.apart(offsets), spec)
    assert advise(spec, False, now) == []
    found = distances(spec, now)
    assert found is not None
    assert found["before"].p50 == pytest.approx(150 * SECOND, rel=0.05)
    assert found["after"].p99 == pytest.approx(297 * SECOND, rel=0.05)


def test_pairs_by_chance_say_nothing() -> None:
    """Right rows anywhere around their left rows: a wider window finds more, and so it goes on."""
    offsets = np.random.default_rng(4).uniform(-1800, 1800, HOUR_S * ROWS_A_SECOND)
    spec = IntervalSpec(3 * MINUTE, 3 * MINUTE, "left")
    assert advise(spec, False, joined(Streams.apart(offsets), spec)) == []


def test_too_few_matches_say_nothing() -> None:
    spec = IntervalSpec(MINUTE, MINUTE, "left")
    now = joined(Streams.apart(np.full(100, 500.0)), spec)
    assert advise(spec, False, now) == []
    assert distances(spec, now) is None
