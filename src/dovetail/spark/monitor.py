"""What a run has done so far, read from outside: commits of the log, totals of the join state, Spark's
progress."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from dovetail.engine.measure import match_rate
from dovetail.engine.store import read_totals
from dovetail.errors import DovetailError
from dovetail.joins.rebuild_progress import Rebuilding, rebuilding
from dovetail.log.category import Category, list_categories
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.plan.build import written_category
from dovetail.plan.physical import SlicerStage, rejects_category, vanished_category
from dovetail.spark.building import BuiltStage
from dovetail.spark.runner import Run
from dovetail.time.clock import saved_estimate
from dovetail.time.estimate import Estimate


@dataclass(frozen=True)
class StreamProgress:
    """One side of a join: rows in its category, how many the join has not taken yet, its stream time, and
    what that was estimated from, if it was."""

    name: str
    side: str
    rows: int
    backlog_rows: int
    stream_time_us: int | None
    rejected_rows: int
    vanished_files: int
    estimate: Estimate | None = None


@dataclass(frozen=True)
class JoinProgress:
    name: str
    streams: tuple[StreamProgress, StreamProgress]
    totals: dict[str, int] = field(default_factory=dict)
    replay: Rebuilding | None = None

    @property
    def out_rows(self) -> int:
        return sum(self.totals.get(name, 0) for name in ("pairs", "left_alone", "right_alone"))

    @property
    def match_rate(self) -> float | None:
        """Share of left rows with a partner, among those that are no longer waiting for one."""
        return match_rate(self.totals)


class Monitor:
    """Follows the joins of a run. What cannot be read at this moment keeps its last value."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[JoinOffset, dict[str, int]]] = {}

    def joins(self, run: Run) -> list[JoinProgress]:
        return [self._join(run, stage, stage.join) for stage in run.stages if stage.join is not None]

    def _join(self, run: Run, stage: BuiltStage, config: JoinConfig) -> JoinProgress:
        queries = run.queries.get(stage.name)
        offset = _offset_of(queries[0]) if queries else None
        known, totals = self._last.get(stage.name, (JoinOffset(), {}))
        if offset is not None and offset != known:
            try:
                known, totals = offset, read_totals(config, offset)
                self._last[stage.name] = known, totals
            except (DovetailError, FileNotFoundError, ValueError):
                pass  # the next step has already replaced it
        left = self._stream(
            run, config.left, "left", known.left, known.left_time, saved_estimate(known.left_estimate)
        )
        right = self._stream(
            run, config.right, "right", known.right, known.right_time, saved_estimate(known.right_estimate)
        )
        return JoinProgress(stage.name, (left, right), totals, rebuilding(config))

    def _stream(
        self, run: Run, category: str, side: str, taken: int, time_us: int, estimate: Estimate | None
    ) -> StreamProgress:
        rows, waiting = rows_and_waiting(run.home, category, taken)
        return StreamProgress(
            _table_of(run, category),
            side,
            rows,
            waiting,
            None if abs(time_us) > abs(NEVER) - 2 else time_us,
            _kept_aside(run, category, rejects_category),
            _kept_aside(run, category, vanished_category),
            estimate,
        )


def _offset_of(query: StreamingQuery) -> JoinOffset | None:
    """The end of the last step that Spark has finished."""
    for progress in reversed(query.recentProgress):
        for source in progress.sources:
            if source.endOffset and '"left_floor"' in source.endOffset:
                return JoinOffset.from_json(json.loads(source.endOffset))
    return None


def rows_and_waiting(home: str, name: str, taken: int) -> tuple[int, int]:
    """Rows ever written to a category, and those in commits from `taken` on that are still there."""
    category = Category.open(home, name)
    stop = category.next_commit(taken)
    first = max(taken, category.first_commit())
    if stop == 0 or first > stop:
        return 0, 0
    total = category.commit(stop - 1).next_row if stop > category.first_commit() else 0
    waiting = total - category.commit(first).first_row if first < stop else 0
    return total, waiting


def _slicer(run: Run, category: str) -> SlicerStage | None:
    for stage in run.stages:
        if isinstance(stage.stage, SlicerStage) and getattr(stage.output, "category", None) == category:
            return stage.stage
    return None


def _table_of(run: Run, category: str) -> str:
    slicer = _slicer(run, category)
    if slicer:
        return " + ".join(table.name for table in slicer.inputs)
    joins = [stage for stage in run.plan.joins if written_category(stage) == category]
    return joins[0].name if joins else category


def _kept_aside(run: Run, category: str, named: Callable[[str, str], str]) -> int:
    """Rows of the categories in which the inputs of a side keep what could not be read."""
    slicer = _slicer(run, category)
    names = [named(run.plan.application, table.name) for table in slicer.inputs] if slicer else []
    known = set(list_categories(run.home)) if names else set()
    return sum(rows_and_waiting(run.home, name, 0)[0] for name in names if name in known)


def first_result_s(run: Run) -> float | None:
    """Seconds from the start of the run until the first micro-batch with joined rows was done."""
    ends = [
        _ended_at(progress)
        for stage in run.stages
        if stage.join is not None
        for progress in _progress(run, stage)
        if progress.numInputRows > 0
    ]
    began = time.time() - (time.monotonic() - run.started_s)
    return max(0.0, min(ends) - began) if ends else None


def _progress(run: Run, stage: BuiltStage) -> list[StreamingQueryProgress]:
    return [progress for query in run.queries.get(stage.name, [])[:1] for progress in query.recentProgress]


def _ended_at(progress: StreamingQueryProgress) -> float:
    began = datetime.datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")).timestamp()
    return began + progress.durationMs.get("triggerExecution", 0) / 1000
