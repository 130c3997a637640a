"""The paper's experiments on accuracy (sections 5.2, 7.1, 7.2, 7.4): each a function of its settings.

Streamed rates come from the real coordinator, estimate and join step on a simulated clock; batch rates from a
binary search over the same rows.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.accuracy_defaults import Cost, costs
from bench.arrivals import (
    DAY_S,
    HOUR_S,
    SECOND,
    Floats,
    Log,
    Process,
    cyclic,
    exponential,
    logged,
    shifted,
    steady,
)
from bench.search_streams import client_delay, searches, server_delay
from bench.simulation import Run, partners, simulate
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_settings import Pacing
from dovetail.model.offset import NEVER
from dovetail.time.clock import Clock
from dovetail.time.coordinator import Pace

MINUTE = 60 * SECOND
AFTER = 30 * MINUTE
ANY_TIME = IntervalSpec(2 * int(DAY_S) * SECOND, 2 * int(DAY_S) * SECOND, "left")
BATCH = ("batch-1d-to-1d", "batch-1d-to-2d", "batch-1d-to-3.5h")
REALTIME = "realtime-ws-3.5h"


@dataclass(frozen=True)
class Settings:
    seed: int = 1
    days: int = 7
    window_days: int = 3
    per_s: float = 3.0
    commit_s: float = 60.0
    window_hours: tuple[float, ...] = (1, 2, 3, 4, 5, 6)
    estimate_per_s: float = 50.0
    estimate_hours: float = 24.0
    lag_hours: float = 3.0
    defaults_hours: float = 3.0
    defaults_per_s: float = 5.0
    defaults_sparse_per_s: float = 0.1


def pace(after_us: int, sample_rows: int, *, paced: bool, slack_us: int = 5 * MINUTE) -> Pace:
    pacing = Pacing(slack_us, int(DAY_S) * SECOND) if paced else None
    return Pace(0, 0, 50_000, 1, EstimateSpec(sample_rows=sample_rows), pacing, after_us)


def window(hours: float) -> IntervalSpec:
    """Half an hour ahead, the rest back."""
    return IntervalSpec(int(hours * HOUR_S) * SECOND - AFTER, AFTER, "left")


# --- Figure 8 ---


@dataclass(frozen=True)
class Accuracy:
    """Share of left rows with a partner, day by day."""

    days: list[dict[str, float]]
    mean: dict[str, float]


def figure_8(settings: Settings) -> Accuracy:
    """The first day only fills the windows; the batch joins of the days after it have a day before."""
    left, right = searches(settings.seed, settings.days + 1, settings.per_s, settings.commit_s)
    spec = window(3.5)
    run = simulate(left, right, spec, pace(spec.after_us, 500, paced=True))
    day = left.time // (int(DAY_S) * SECOND)
    matched = {
        BATCH[0]: _of_days(left, right, 0, None),
        BATCH[1]: _of_days(left, right, 1, None),
        BATCH[2]: _of_days(left, right, 0, spec),
        REALTIME: run.left.met > 0,
    }
    days = [
        {name: float(found[day == number].mean()) for name, found in matched.items()}
        for number in range(1, settings.days + 1)
    ]
    return Accuracy(days, {name: float(np.mean([one[name] for one in days])) for name in matched})


def _of_days(left: Log, right: Log, before: int, spec: IntervalSpec | None) -> NDArray[np.bool_]:
    """Which left rows have a partner among the right rows of their day and `before` days before it."""
    day_us = int(DAY_S) * SECOND
    left_day, right_day = left.time // day_us, right.time // day_us
    found = np.zeros(len(left), np.bool_)
    for day in np.unique(left_day).tolist():
        mine, theirs = left_day == day, (right_day <= day) & (right_day >= day - before)
        found[mine] = partners(left.some(mine), right.some(theirs), spec or ANY_TIME) > 0
    return found


# --- Figures 9 and 10 ---


@dataclass(frozen=True)
class WindowSize:
    hours: float
    success: float
    batch: float
    peak_rows: int
    mean_rows: float
    line: dict[str, list[float]]


def figures_9_and_10(settings: Settings) -> list[WindowSize]:
    """Rows held and success rate for windows of one to six hours; the first day only fills the windows."""
    left, right = searches(settings.seed + 1, settings.window_days + 1, settings.per_s, settings.commit_s)
    counted = left.time >= int(DAY_S) * SECOND
    sizes = []
    for hours in settings.window_hours:
        spec = window(hours)
        run = simulate(left, right, spec, pace(spec.after_us, 500, paced=True))
        now = run.column("now_us") / SECOND / HOUR_S
        inside = (now >= 24) & (now < 24 * (settings.window_days + 1))
        held = run.column("held_rows", "right")[inside]
        met, hour = run.left.met[counted] > 0, left.time[counted] / SECOND / HOUR_S - 24
        sizes.append(
            WindowSize(
                hours,
                float(met.mean()),
                float((partners(left, right, spec)[counted] > 0).mean()),
                int(held.max()),
                float(held.mean()),
                {
                    "hour": np.arange(24 * settings.window_days).tolist(),
                    "rows": _by_hour(now[inside] - 24, held, 24 * settings.window_days),
                    "success": _by_hour(hour, met, 24 * settings.window_days),
                },
            )
        )
    return sizes


# --- Figure 12 ---


@dataclass(frozen=True)
class Estimated:
    stream: str
    accuracy: float
    delay_s: tuple[float, float]
    window: tuple[float, float]
    line: dict[str, list[float]]


def figure_12(settings: Settings) -> list[Estimated]:
    """Percentile 5, five ascending values, micro-batches of two seconds, from noon on. Three hours before it
    only let the estimate find its window, and the stream began three hours earlier still."""
    noon_s, stop_s = 12 * HOUR_S, (12 + settings.estimate_hours) * HOUR_S
    streams = []
    for number, (name, delay) in enumerate((("A, clients", client_delay), ("B, servers", server_delay))):
        rng = np.random.default_rng((settings.seed, number))
        process = Process(cyclic(settings.estimate_per_s, 0.4), delay, from_s=noon_s - 6 * HOUR_S)
        rows = process.rows(rng, stop_s - process.from_s)
        rows = rows.where((rows.arrival_s >= noon_s - 3 * HOUR_S) & (rows.arrival_s < stop_s))
        log = Log(rows, np.zeros(len(rows.event_s), np.int64), 2)
        streams.append(_estimated(name, log, noon_s, settings.estimate_hours))
    return streams


def _estimated(name: str, log: Log, noon_s: float, hours: float) -> Estimated:
    """The clock after every commit from noon on, averaged over quarters of an hour."""
    spec = EstimateSpec(percentile=5, ascending=5, sample_rows=1)
    clock = Clock.at(NEVER, 0, spec, None)
    followed = []
    for number, (now_us, commit) in enumerate(zip(log.written_us.tolist(), log.commits, strict=True)):
        times = log.time[log.edges[number] : log.edges[number + 1]]
        on_time = int(np.count_nonzero(times >= clock.time_us))
        clock = clock.after(commit)
        if now_us >= noon_s * SECOND and clock.estimate:
            delay_us = now_us - clock.time_us
            followed.append((now_us, delay_us, clock.estimate.window, on_time, len(times)))
    now, delay, window_, good, rows = np.array(followed, np.float64).T
    hour, count = (now / SECOND - noon_s) / HOUR_S, max(1, round(hours * 4))
    delays, windows, good_a_quarter, rows_a_quarter = (
        _binned(hour, values, count, hours) for values in (delay / SECOND, window_, good, rows)
    )
    return Estimated(
        name,
        float(good.sum() / rows.sum()),
        (min(delays), max(delays)),
        (min(windows), max(windows)),
        {
            "hour": ((np.arange(count) + 0.5) * hours / count).tolist(),
            "delay_s": delays,
            "window": windows,
            "accuracy": (np.array(good_a_quarter) / np.array(rows_a_quarter)).tolist(),
        },
    )


# --- pacing ---


@dataclass(frozen=True)
class Lagging:
    pacing: str
    success: float
    batch: float
    peak_rows: int
    window_rows: int


def lagging(settings: Settings) -> list[Lagging]:
    """The client stream is hours behind, as after an outage upstream: with pacing, without, and in batch."""
    per_s, hours = settings.per_s * 3, 2 * settings.lag_hours
    rng = np.random.default_rng((settings.seed, 99))
    spec = IntervalSpec(20 * MINUTE, 10 * MINUTE, "left")
    slack = 5 * MINUTE
    keys = int(per_s * 1800)
    late = Process(steady(per_s), shifted(settings.lag_hours * HOUR_S, exponential(30)))
    prompt = Process(steady(per_s), server_delay)
    left, right = (logged(rng, one.rows(rng, hours * HOUR_S), keys, 20) for one in (late, prompt))
    batch = float((partners(left, right, spec) > 0).mean())
    expected = int(per_s * (spec.before_us + spec.after_us + slack) / SECOND)
    found = []
    for name, paced in (("on", True), ("off", False)):
        run = simulate(left, right, spec, pace(spec.after_us, 200, paced=paced, slack_us=slack))
        peak = int((run.column("held_rows", "left") + run.column("held_rows", "right")).max())
        found.append(Lagging(name, _success(run), batch, peak, expected))
    return found


# --- defaults ---


def defaults(settings: Settings) -> list[Cost]:
    return costs(
        settings.seed, settings.defaults_hours, settings.defaults_per_s, settings.defaults_sparse_per_s
    )


def _success(run: Run) -> float:
    return float((run.left.met > 0).mean())


def _by_hour(hour: Floats, values: Any, hours: int) -> list[float]:
    return _binned(hour, np.asarray(values, float), hours, hours)


def _binned(at: Floats, values: Floats, bins: int, span: float) -> list[float]:
    """The mean of the values in each of some equal parts of a span; the one before where there is none."""
    number = np.clip((at / span * bins).astype(np.int64), 0, bins - 1)
    counts = np.bincount(number, minlength=bins)
    sums = np.bincount(number, values, minlength=bins)
    means, last = [], float("nan")
    for total, count in zip(sums.tolist(), counts.tolist(), strict=True):
        last = total / count if count else last
        means.append(last)
    return means


@dataclass(frozen=True)
class Report:
    settings: Settings
    figure_8: Accuracy | None = None
    figures_9_and_10: list[WindowSize] | None = None
    row_bytes: float | None = None
    """For the index, where it is known: then memory is drawn in bytes."""
    figure_12: list[Estimated] | None = None
    lagging: list[Lagging] | None = None
    defaults: list[Cost] | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
