"""Advice on settings of a join: caps that cut too much, delays that are too short or longer than rows are
late, tasks that are too few or have nothing to do. Each is one option of the view, so it can be taken.

How late rows are is read from the commits of a side: each has a sketch of its event times, and rows that are
further behind the newest time of earlier commits than the delay would be late."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dovetail.engine.measure import JoinMeasure, StreamMeasure
from dovetail.model.join_config import JoinConfig
from dovetail.model.sketch import EventTimeSketch
from dovetail.plan.interval_literal import words
from dovetail.service.advice import rounded_up

Option = Literal["left_max_delay", "right_max_delay", "left_cap", "right_cap", "tasks"]
FEWEST_ROWS, FEWEST_STEPS = 1000, 50
TOO_MANY_LATE, FEW_LATE = 0.002, 0.0001
"""Advise a longer delay from this share of late rows on, and a shorter one if at most so few would be."""
LONGER, SHORTER = (1.5, 2, 3, 4, 6, 8, 12, 16), (0.125, 0.25, 0.5)
TOO_MANY_CAPPED = 0.001
BEHIND_US, ROWS_PER_TASK = 60_000_000, 2000
"""A join is behind if it has not taken a minute of event time. A task should have some rows in each step."""


@dataclass(frozen=True)
class SettingAdvice:
    """`to`: of a delay in microseconds. `why` says what it gains and costs."""

    option: Option
    to: int
    why: str

    @property
    def literal(self) -> str:
        """As the query says it."""
        return f"INTERVAL '{words(self.to)}'" if self.option.endswith("_delay") else str(self.to)

    @property
    def words(self) -> str:
        to = words(self.to) if self.option.endswith("_delay") else str(self.to)
        return f"set {self.option} to {to}: {self.why}"


def advise_settings(
    config: JoinConfig,
    measured: JoinMeasure,
    sketches: tuple[Sequence[EventTimeSketch], Sequence[EventTimeSketch]],
    cores: int | None = None,
) -> list[SettingAdvice]:
    """`sketches`: of recent commits of both sides, in their order; none where a side's time is promised."""
    settings, spec = config.settings, config.spec
    delays = settings.left_max_delay_us, settings.right_max_delay_us
    found: list[SettingAdvice] = []
    for stream, delay_us, seen in zip(measured.streams, delays, sketches, strict=True):
        if settings.estimate is None:
            found += _delay(stream, delay_us, seen)
        cap, window_us = (
            (spec.left_cap, spec.after_us) if stream.side == "left" else (spec.right_cap, spec.before_us)
        )
        if cap is not None:
            found += _cap(stream, cap, window_us, measured)
    return [*found, *_tasks(config, measured, cores or os.cpu_count() or 1)]


def late_share(sketches: Sequence[EventTimeSketch], delay_us: int) -> float:
    """About the share of rows that would be late with this delay."""
    late, rows, front = 0.0, 0, None
    for sketch in (one for one in sketches if one.count):
        if front is not None:
            late += sketch.count * (1 - sketch.share_from(front - delay_us))
        rows += sketch.count
        front = sketch.max_us if front is None else max(front, sketch.max_us)
    return late / rows if rows else 0.0


def _delay(
    stream: StreamMeasure, delay_us: int, sketches: Sequence[EventTimeSketch]
) -> Iterator[SettingAdvice]:
    if sum(sketch.count for sketch in sketches) < FEWEST_ROWS:
        return
    option: Option = "left_max_delay" if stream.side == "left" else "right_max_delay"
    now = late_share(sketches, delay_us)
    base_us = max(delay_us, 1_000_000)
    if now >= TOO_MANY_LATE:
        longer = [_seconds(base_us * factor) for factor in LONGER]
        to = next((one for one in longer if late_share(sketches, one) <= now / 10), longer[-1])
        then = late_share(sketches, to)
        why = f"an estimated {_percent(then)} of {stream.side} rows would be late, now {_percent(now)} are"
        yield SettingAdvice(option, to, f"{why}; windows close {words(to - delay_us)} later")
        return
    for factor in SHORTER:
        to = _seconds(delay_us * factor)
        if 0 < to <= delay_us // 2 and (then := late_share(sketches, to)) <= FEW_LATE:
            why = f"windows close {words(delay_us - to)} earlier, and {_percent(then)} of {stream.side} rows"
            yield SettingAdvice(option, to, f"{why} would be late")
            return


def _cap(stream: StreamMeasure, cap: int, window_us: int, measured: JoinMeasure) -> Iterator[SettingAdvice]:
    rows = measured.totals.get(f"{stream.side}_in", 0)
    if rows < FEWEST_ROWS or stream.capped / rows < TOO_MANY_CAPPED:
        return
    needed = 0.0
    if stream.rows_per_event_s is not None and stream.frequent:
        needed = 1.25 * stream.frequent[0].share * stream.rows_per_event_s * window_us / 1e6
    to = _two_digits(max(2 * cap, round(needed)))
    why = f"{_percent(stream.capped / rows)} of {stream.side} rows had to go early for a cap of {cap}"
    yield SettingAdvice("left_cap" if stream.side == "left" else "right_cap", to, why)


def _tasks(config: JoinConfig, measured: JoinMeasure, cores: int) -> Iterator[SettingAdvice]:
    now = measured.tasks
    if now is None or measured.step < FEWEST_STEPS:
        return
    behind_us = max(stream.backlog_us or 0 for stream in measured.streams)
    most = min(cores, config.most_tasks)
    rows = sum(measured.totals.get(f"{side}_in", 0) for side in ("left", "right")) // measured.step
    if behind_us >= BEHIND_US and now < most:
        why = f"it is {words(rounded_up(behind_us))} behind, and uses {now} of {most} cores"
        yield SettingAdvice("tasks", min(2 * now, most), why)
    elif behind_us < BEHIND_US and now > 1 and rows < ROWS_PER_TASK * (now - 1):
        to = max(1, -(-rows // ROWS_PER_TASK))
        why = f"a step has about {rows} rows, and each of {now} tasks takes some time of its own"
        yield SettingAdvice("tasks", to, why)


def _seconds(time_us: float) -> int:
    """Rounded up, as people write it."""
    return rounded_up(-(-round(time_us) // 1_000_000) * 1_000_000)


def _two_digits(number: int) -> int:
    """Rounded up."""
    grain: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // grain) * grain


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
