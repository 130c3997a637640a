"""Follows the runs of an application: what the live view draws, and the summary at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from dovetail.service.figures import (
    EstimateSummary,
    JoinFigures,
    MemoryUse,
    RebuildFigures,
    RunFigures,
    RunSummary,
    StreamFigures,
    extended,
    recent,
)
from dovetail.service.memory import MemoryMeter

if TYPE_CHECKING:  # Spark's start need not wait for what follows it
    from dovetail.service.metrics import Measured, MeasuredJoin
    from dovetail.spark.monitor import JoinProgress, Monitor, StreamProgress
    from dovetail.spark.runner import Run

EVERY_S = 0.5
"""Figures are reported at most this often, in seconds."""
LOOK_AFTER_S = 2.0
"""Memory is not measured before this: a starting run has more urgent work."""


class Follower:
    """Turns the progress of runs into figures. Give it to a second run of the same application, and its
    numbers, histories and clock go on where the first run ended."""

    def __init__(
        self,
        on_figures: Callable[[RunFigures], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        read_memory: Callable[[], MemoryUse] | None = None,
    ) -> None:
        self._on_figures = on_figures
        self._clock = clock
        self.began_s = clock()
        self._read_memory = read_memory or MemoryMeter().read
        self._last_s = self.began_s
        self.previous: RunFigures | None = None

    @cached_property
    def _monitor(self) -> Monitor:
        from dovetail.spark.monitor import Monitor

        return Monitor()

    def starting(self, application: str) -> None:
        """Before anything is there to be counted."""
        if self._on_figures is not None:
            now = self.previous or RunFigures(application, 0.0, "starting")
            elapsed_s = self._clock() - self.began_s
            self._on_figures(
                replace(now, phase="starting", elapsed_s=elapsed_s, waiting="waiting for Spark to start")
            )

    def take(self, run: Run, measured: Measured | None) -> None:
        """`measured` takes longer to find out, and may be some seconds old."""
        now_s = self._clock()
        if self._on_figures is None or (now_s - self._last_s < EVERY_S and run.phase != "stopped"):
            return
        self._last_s = now_s
        self.previous = self._figures(run, now_s - self.began_s, measured)
        self._on_figures(self.previous)

    def summary(self, run: Run, measured: Measured | None) -> RunSummary:
        from dovetail.spark.monitor import first_result_s

        known = _by_name(measured)
        return RunSummary(
            application=run.plan.application,
            mode=run.mode,
            elapsed_s=self._clock() - self.began_s,
            phases_s=run.phases_s,
            first_result_s=first_result_s(run),
            joins=tuple(_join(join, known.get(join.name)) for join in self._monitor.joins(run)),
            outputs=_outputs(run),
        )

    def _figures(self, run: Run, elapsed_s: float, measured: Measured | None) -> RunFigures:
        from dovetail.service.words.status_words import waiting_words

        previous, known = self.previous, _by_name(measured)
        progress = self._monitor.joins(run)
        joins = tuple(_join(join, known.get(join.name)) for join in progress)
        since_s = max(elapsed_s - previous.elapsed_s if previous else elapsed_s, 1e-9)
        before = {(s.name, s.side): s for s in previous.streams} if previous else {}
        out_rows = sum(join.out_rows for join in joins)
        out_rate = max(0.0, (out_rows - (previous.out_rows if previous else out_rows)) / since_s)
        out_history = extended(previous.out_rate_history if previous else (), out_rate)
        return RunFigures(
            application=run.plan.application,
            elapsed_s=elapsed_s,
            phase=run.phase,
            streams=tuple(
                _stream(stream, before.get((stream.name, stream.side)), since_s)
                for join in progress
                for stream in join.streams
            ),
            joins=joins,
            out_rows=out_rows,
            out_rows_per_s=recent(out_history),
            out_rate_history=out_history,
            memory=self._memory_of(run, elapsed_s),
            output=", ".join(_outputs(run).values()),
            waiting=run.waiting
            or "; ".join(waiting_words(join) for join in known.values() if waiting_words(join)),
        )

    def _memory_of(self, run: Run, elapsed_s: float) -> MemoryUse:
        """The memory it takes now; after it has stopped, the last measurement: by then most of it is freed,
        and measuring again would delay the end."""
        if run.phase == "stopped":
            return self.previous.memory if self.previous else MemoryUse()
        return self._read_memory() if elapsed_s >= LOOK_AFTER_S else MemoryUse()


def _outputs(run: Run) -> dict[str, str]:
    from dovetail.spark.starting import describe_output

    return {stage.name: describe_output(stage, run.home) for stage in run.stages if stage.sinks}


def _by_name(measured: Measured | None) -> dict[str, MeasuredJoin]:
    return {join.measure.name: join for join in measured.joins} if measured else {}


def _stream(now: StreamProgress, before: StreamFigures | None, since_s: float) -> StreamFigures:
    rate = max(0.0, (now.rows - before.rows_in) / since_s) if before else 0.0
    history = extended(before.rate_history if before else (), rate)
    return StreamFigures(
        now.name,
        now.side,
        now.rows,
        recent(history),
        now.stream_time_us,
        now.backlog_rows,
        now.rejected_rows,
        history,
    )


def _join(join: JoinProgress, measured: MeasuredJoin | None) -> JoinFigures:
    left, right = join.streams
    replay = join.replay

    def count(*names: str) -> int:
        return sum(join.totals.get(name, 0) for name in names)

    return JoinFigures(
        name=join.name,
        open_rows=count("open_rows"),
        retained_rows=count("retained_rows"),
        matches=count("pairs"),
        left_alone=count("left_alone"),
        right_alone=count("right_alone"),
        late_rows=count("left_late", "right_late"),
        match_rate=join.match_rate,
        index_bytes=count("index_bytes"),
        left_rows=count("left_in"),
        right_rows=count("right_in"),
        void_rows=count("left_void", "right_void"),
        invalid_rows=count("left_invalid", "right_invalid"),
        capped_rows=count("left_capped", "right_capped"),
        rejected_rows=left.rejected_rows + right.rejected_rows,
        vanished_files=left.vanished_files + right.vanished_files,
        missed=count("missed"),
        buffered_rows_peak=count("peak_rows"),
        index_bytes_peak=count("peak_index_bytes"),
        rebuilds=count("rebuilds"),
        left_estimate=_estimate(left),
        right_estimate=_estimate(right),
        waited=(
            (measured.measure.left.paused_share, measured.measure.right.paused_share)
            if measured
            else (0.0, 0.0)
        ),
        advice=tuple(advice.words for advice in measured.advice) if measured else (),
        replay=RebuildFigures(replay.share, replay.rows_per_s, replay.left_s) if replay else None,
    )


def _estimate(stream: StreamProgress) -> EstimateSummary | None:
    estimate = stream.estimate
    return EstimateSummary(estimate.window, estimate.accuracy) if estimate else None
