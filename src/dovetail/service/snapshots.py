"""A moment of a run as the numbers that the live view draws."""

from __future__ import annotations

import os

from dovetail.service.metrics import Measured, MeasuredJoin
from dovetail.service.run_snapshot import (
    JoinSnapshot,
    ReplaySnapshot,
    RunSnapshot,
    StreamSnapshot,
    extended,
    recent,
)
from dovetail.spark.monitor import JoinProgress, Monitor, StreamProgress
from dovetail.spark.runner import Run
from dovetail.spark.starting import describe_output


def snapshot(
    run: Run, monitor: Monitor, elapsed_s: float, previous: RunSnapshot | None, measured: Measured | None
) -> RunSnapshot:
    """The run now; the histories grow by the rates since the previous snapshot. `measured` is what takes
    longer to find out, and may be some seconds old."""
    known = {join.measure.name: join for join in measured.joins} if measured else {}
    joins = monitor.joins(run)
    since_s = elapsed_s - previous.elapsed_s if previous else elapsed_s
    before = {(s.name, s.side): s for s in previous.streams} if previous else {}
    streams = tuple(
        _stream(stream, before.get((stream.name, stream.side)), since_s)
        for join in joins
        for stream in join.streams
    )
    out_rows = sum(join.out_rows for join in joins)
    out_rate = max(0.0, (out_rows - (previous.out_rows if previous else out_rows)) / max(since_s, 1e-9))
    out_history = extended(previous.out_rate_history if previous else (), out_rate)
    return RunSnapshot(
        application=run.plan.application,
        elapsed_s=elapsed_s,
        phase=run.phase,
        streams=streams,
        joins=tuple(_join(join, known.get(join.name)) for join in joins),
        out_rows=out_rows,
        out_rows_per_s=recent(out_history),
        out_rate_history=out_history,
        rss_bytes=_rss_bytes(),
        output=", ".join(describe_output(stage, run.home) for stage in run.stages if stage.sinks),
    )


def _stream(now: StreamProgress, before: StreamSnapshot | None, since_s: float) -> StreamSnapshot:
    rate = max(0.0, (now.rows - before.rows_in) / max(since_s, 1e-9)) if before else 0.0
    history = extended(before.rate_history if before else (), rate)
    return StreamSnapshot(
        now.name,
        now.side,
        now.rows,
        recent(history),
        now.stream_time_us,
        now.backlog_rows,
        now.rejected_rows,
        history,
    )


def _join(join: JoinProgress, measured: MeasuredJoin | None) -> JoinSnapshot:
    count = join.totals.get
    return JoinSnapshot(
        join.name,
        count("open_rows", 0),
        count("retained_rows", 0),
        count("pairs", 0),
        count("left_alone", 0),
        count("right_alone", 0),
        count("left_late", 0) + count("right_late", 0),
        join.match_rate,
        count("index_bytes", 0),
        missed=count("missed", 0),
        invalid_rows=count("left_invalid", 0) + count("right_invalid", 0),
        capped_rows=count("left_capped", 0) + count("right_capped", 0),
        waited=(
            (measured.measure.left.paused_share, measured.measure.right.paused_share)
            if measured
            else (0.0, 0.0)
        ),
        advice=tuple(advice.words for advice in measured.advice) if measured else (),
        replay=(
            ReplaySnapshot(join.replay.share, join.replay.rows_per_s, join.replay.left_s)
            if join.replay
            else None
        ),
    )


def _rss_bytes() -> int:
    """Resident memory of this process and all below it (Spark's JVM and its Python workers)."""
    parents, resident = {}, {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                parents[int(name)], resident[int(name)] = int(fields[1]), int(fields[21])
            except (OSError, IndexError):
                continue  # it ended while we looked
    total, todo = 0, [os.getpid()]
    while todo:
        process = todo.pop()
        total += resident.get(process, 0)
        todo += [child for child, parent in parents.items() if parent == process]
    return total * os.sysconf("SC_PAGE_SIZE")
