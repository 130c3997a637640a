"""What stream time and pacing cost, over every arrival process: the figures behind the defaults.

Each process runs as both streams of a join, dense and sparse, beside a stream that is seconds late, and once
more as a backlog that is drained. The settings are those that the product makes of its options, so a changed
default changes this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.arrivals import HOUR_S, SECOND, Log, Random, Rows, logged
from bench.processes import PROCESSES, Stream
from bench.simulation import partners, simulate
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import NEVER
from dovetail.plan.joins.options import resolve
from dovetail.plan.statements import JoinOption
from dovetail.time.coordinator import Pace

WINDOW_S, COMMIT_S, SHOWN = 60, 30.0, 2 / 3
SPEC = IntervalSpec(WINDOW_S * SECOND, WINDOW_S * SECOND, "left")
OPTIONS: dict[str, dict[str, str]] = {
    "fixed": {"stream_time": "fixed"},
    "percentile": {"stream_time": "percentile"},
    "percentile, paced": {"stream_time": "percentile", "pacing": "on"},
}
DRAINED, DRAINED_STEP_ROWS = "drained", 2_000
"""A drain reads steps of millions of rows. Here that would be the whole stream, and nothing could be late."""


@dataclass(frozen=True)
class Cost:
    """One process under one setting. `found`: pairs, as a share of the batch join's.

    Nobody waits for a drain, so it has no more than that. `lone_s`: from the arrival of a row without a
    partner until it comes out. `behind_s`: how far the slower stream's time is behind the clock. Both are the
    median and the 99th percentile. `held_rows`: of both streams, at most.
    """

    streams: str
    process: str
    setting: str
    found: float
    lone_s: tuple[float, float] | None = None
    behind_s: tuple[float, float] | None = None
    held_rows: int | None = None


def paces() -> dict[str, Pace]:
    made = {}
    for name, options in OPTIONS.items():
        settings = resolve(JoinOption(option, value) for option, value in options.items()).settings
        made[name] = Pace(
            settings.left_max_delay_us,
            settings.right_max_delay_us,
            settings.max_step_rows,
            1,
            settings.estimate,
            settings.pacing,
            SPEC.after_us,
            confirmed_by=settings.confirmed_by,
        )
    return made


def costs(seed: int, hours: float, per_s: float, sparse_per_s: float) -> list[Cost]:
    """Rows of the last third only show how long the rows before them wait."""
    prompt = PROCESSES["seconds"]
    groups: Mapping[str, Callable[[Stream], tuple[Stream, Stream, float]]] = {
        "dense": lambda stream: (stream, stream, per_s),
        "sparse": lambda stream: (stream, stream, sparse_per_s),
        "beside a prompt one": lambda stream: (prompt, stream, per_s),
        DRAINED: lambda stream: (stream, stream, per_s),
    }
    return [
        cost
        for number, (streams, pair) in enumerate(groups.items())
        for name, stream in PROCESSES.items()
        for cost in _of(streams, name, np.random.default_rng((seed, number)), hours, *pair(stream))
    ]


def _of(
    streams: str, name: str, rng: Random, hours: float, left: Stream, right: Stream, per_s: float
) -> Iterator[Cost]:
    until_us = int(hours * HOUR_S) * SECOND
    logs = [_log(rng, stream(rng, hours * HOUR_S, per_s), per_s, until_us) for stream in (left, right)]
    batch = partners(*logs, SPEC)
    lone = (batch == 0) & (logs[0].arrival < SHOWN * until_us)
    for setting, pace in paces().items():
        if streams == DRAINED:
            run = simulate(
                *logs, SPEC, pace._replace(max_step_rows=DRAINED_STEP_ROWS), until_us=0, drain=True
            )
            yield Cost(streams, name, setting, run.pairs / max(1, int(batch.sum())))
            continue
        # What is still open in the end has waited until then, at least: the drain says so.
        run = simulate(*logs, SPEC, pace, until_us=until_us, drain=True)
        waits_us = (run.left.alone_at_us - logs[0].arrival)[lone]
        times = np.minimum(run.column("time_us", "left"), run.column("time_us", "right"))
        behind_us = (run.column("now_us") - times)[times != NEVER]
        held = run.column("held_rows", "left") + run.column("held_rows", "right")
        found = run.pairs / max(1, int(batch.sum()))
        yield Cost(streams, name, setting, found, _seconds(waits_us), _seconds(behind_us), int(held.max()))


def _log(rng: Random, rows: Rows, per_s: float, until_us: int) -> Log:
    came = rows.where(rows.arrival_s * SECOND < until_us - COMMIT_S * SECOND)
    return logged(rng, came, int(per_s * 2 * WINDOW_S), COMMIT_S, by_producer=True)


def _seconds(times_us: NDArray[Any]) -> tuple[float, float]:
    middle, most = np.percentile(times_us, (50, 99)) / SECOND
    return float(middle), float(most)


@dataclass(frozen=True)
class Spread:
    """A figure over all processes."""

    median: float
    worst: float


@dataclass(frozen=True)
class Overall:
    """One setting over all processes of one kind. Delays are `(median, 99th percentile)` of a process, and
    then each the median and the worst over processes."""

    streams: str
    setting: str
    found: Spread
    below_98: int
    lone_s: tuple[Spread, Spread] | None
    behind_s: tuple[Spread, Spread] | None
    held_rows: Spread | None


def overall(costs: Sequence[Cost]) -> list[Overall]:
    made = []
    for streams, setting in dict.fromkeys((cost.streams, cost.setting) for cost in costs):
        mine = [cost for cost in costs if (cost.streams, cost.setting) == (streams, setting)]
        found = [cost.found for cost in mine]
        made.append(
            Overall(
                streams,
                setting,
                Spread(float(np.median(found)), min(found)),
                sum(share < 0.98 for share in found),
                _spreads([cost.lone_s for cost in mine if cost.lone_s]),
                _spreads([cost.behind_s for cost in mine if cost.behind_s]),
                _spread([cost.held_rows for cost in mine if cost.held_rows is not None]),
            )
        )
    return made


def _spreads(values: Sequence[tuple[float, float]]) -> tuple[Spread, Spread] | None:
    middle, most = (_spread([pair[side] for pair in values]) for side in (0, 1))
    return (middle, most) if middle and most else None


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(float(np.median(values)), float(max(values))) if values else None
