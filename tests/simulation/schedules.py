"""Schedules drawn at random: two streams, a join, a pace, and what befalls the coordinator.

Law: a schedule is a function of its seed. Numbers are small: about a hundred rows a side, windows that hold
few of them, observations of a handful. So every level of the estimate, waiting, idleness and lateness
come up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bench.arrivals import (
    SECOND,
    Delay,
    Hindrance,
    Log,
    Process,
    Random,
    Rows,
    changing,
    cyclic,
    exponential,
    growing,
    logged,
    lognormal,
    lost,
    merged,
    mixed,
    none,
    outage,
    pareto,
    scaled,
    shifted,
    skewed_clocks,
    steady,
    swell,
    uniform,
    uploads,
)
from bench.simulation import Run, simulate

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_settings import Pacing
from dovetail.time.coordinator import Pace

MODES: tuple[tuple[Any, Any, Any], ...] = (
    *((how, "all", "first") for how in ("inner", "left", "right", "full")),
    *(("full", "one", pick) for pick in ("first", "nearest", "latest")),
    ("semi", "all", "first"),
    ("anti", "all", "first"),
)


@dataclass(frozen=True)
class Schedule:
    left: Log
    right: Log
    spec: IntervalSpec
    pace: Pace
    until_us: int
    down_us: tuple[tuple[int, int], ...]
    restarts: float

    def run(self, *, restarts: float | None = None, drain: bool = True) -> Run:
        return simulate(
            self.left,
            self.right,
            self.spec,
            self.pace,
            until_us=self.until_us,
            down_us=self.down_us,
            restarts=self.restarts if restarts is None else restarts,
            drain=drain,
        )


def schedule(seed: int, seconds: float = 600, rows: float = 150, paced: bool | None = None) -> Schedule:
    rng = np.random.default_rng(seed)
    how, match, pick = MODES[rng.integers(len(MODES))]
    before, after = (float(rng.choice([0, 5, 20, 60])) for _ in range(2))
    keys = int(max(1, rng.choice([0.2, 1, 3]) * rows * (before + after) / seconds))
    sides = []
    for _ in range(2):
        stream = _stream(rng, rows / seconds, seconds)
        commit_s = float(rng.choice([10, 20, 40]))
        sides.append(logged(rng, stream, keys, commit_s, by_producer=bool(rng.random() < 0.3)))
    spec = IntervalSpec(int(before * SECOND), int(after * SECOND), how, match, pick)
    pace = _pace(rng, spec, bool(rng.random() < 0.8) if paced is None else paced)
    last_us = max(int(log.written_us[-1]) if len(log) else 0 for log in sides)
    idle_us = pace.pacing.idle_timeout_us if pace.pacing else 0
    down_s = rng.uniform(0, seconds)
    down = ((int(down_s * SECOND), int((down_s + rng.uniform(0, seconds)) * SECOND)),)
    until_us = max(last_us, down[0][1]) + 2 * idle_us + 2
    # A restart resets how long a stream that never begins has been silent: the run would not end.
    restarts = float(rng.choice([0, 0.05])) if all(map(len, sides)) else 0.0
    return Schedule(*sides, spec, pace, until_us, down if rng.random() < 0.3 else (), restarts)


def _pace(rng: Random, spec: IntervalSpec, paced: bool) -> Pace:
    estimate = EstimateSpec(
        statistic="mean" if rng.random() < 0.1 else "percentile",
        percentile=float(rng.choice([0, 1, 5, 20])),
        ascending=int(rng.choice([2, 3, 4, 5])),
        sample_rows=int(rng.choice([1, 5, 15, 60])),
        max_window=int(rng.choice([1, 4, 64])),
    )
    slack_s, idle_s = rng.choice([0, 3, 20]), rng.choice([0, 10, 60, 200])
    delay_us = int(rng.choice([0, 5, 60])) * SECOND
    return Pace(
        delay_us,
        delay_us,
        max_step_rows=int(rng.choice([1, 20, 100])),
        tasks=1,
        estimate=estimate if rng.random() < 0.85 else None,
        pacing=Pacing(int(slack_s) * SECOND, int(idle_s) * SECOND) if paced else None,
        after_us=spec.after_us,
    )


def _stream(rng: Random, per_s: float, seconds: float) -> Rows:
    """One to four producers, of which some may be silent; now and then a whole stream is."""
    producers = int(rng.choice([1, 1, 1, 2, 4]))
    silent = rng.random(producers) < (0.04 if producers == 1 else 0.2)
    rows = [_process(rng, per_s / producers, seconds, bool(quiet)).rows(rng, seconds) for quiet in silent]
    return merged(*rows)


def _process(rng: Random, per_s: float, seconds: float, silent: bool) -> Process:
    rate = steady(0) if silent else steady(per_s) if rng.random() < 0.7 else cyclic(per_s, 0.9, seconds / 2)
    hindrances = tuple(_hindrance(rng, seconds) for _ in range(rng.choice([0, 0, 1, 2])))
    lag = float(rng.choice([0, 0, 0, 30, seconds / 2]))
    return Process(rate, shifted(lag, _delay(rng, seconds)), hindrances)


def _delay(rng: Random, seconds: float, depth: int = 2) -> Delay:
    size = float(rng.choice([0.5, 5, 60]))
    simple: list[Delay] = [
        none(),
        uniform(0, size),
        exponential(size),
        lognormal(size, float(rng.choice([0.5, 1.5, 2.5]))),
        pareto(size, float(rng.choice([0.8, 1.5, 3]))),
    ]
    if depth == 0 or rng.random() < 0.5:
        return simple[rng.integers(len(simple))]
    inner, other = (_delay(rng, seconds, depth - 1) for _ in range(2))
    start, stop = np.sort(rng.uniform(0, seconds, 2))
    composed: list[Delay] = [
        mixed((0.9, inner), (0.1, shifted(size, other))),
        mixed((0.5, inner), (0.5, other)),
        changing((0, inner), (start, other), (stop, inner)),
        scaled(inner, swell(start, stop, (stop - start) / 3, 20)),
        growing(inner, float(rng.choice([0.1, 1]))),
    ]
    return composed[rng.integers(len(composed))]


def _hindrance(rng: Random, seconds: float) -> Hindrance:
    start, stop = np.sort(rng.uniform(0, seconds, 2))
    possible: list[Hindrance] = [
        outage(start, stop),
        outage(start, stop, catch_up=4),
        uploads(float(rng.choice([10, 60]))),
        lost(start),
        lost(0, start),
        lost(start, stop),
        skewed_clocks(0.1, float(rng.choice([-100, 100, 1000]))),
    ]
    return possible[rng.integers(len(possible))]
