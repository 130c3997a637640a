"""Runs a plan: starts its stages in the right order, watches them, stops them, and says how it went.

stream         all stages at once, until stopped
available-now  wave by wave: a stage runs when the stages it reads from have worked off what there is
drain          the same, and then the inputs are over: every window closes
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakSet

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from dovetail.engine.gates import Gates
from dovetail.engine.index_folders import index_root, sweep
from dovetail.errors import Unreachable
from dovetail.plan.physical import FileSink, Output, Plan
from dovetail.slicing.file_merging import FileMerging, MergingThread
from dovetail.slicing.input_files import is_local, local_path
from dovetail.slicing.resident import ResidentSlicer
from dovetail.spark.attempts import Attempts
from dovetail.spark.building import Builder, BuiltStage
from dovetail.spark.checkpoints import write_quickly
from dovetail.spark.clean_stop import copy_snapshots
from dovetail.spark.failures import failure_of
from dovetail.spark.head_start import HeadStart
from dovetail.spark.progress import go_on, require_new, take_up
from dovetail.spark.session import TIME_ZONE
from dovetail.spark.source_reports import SourceReports
from dovetail.spark.starting import Mode, start_patiently

WATCH_S = 0.2
"""Between two looks at all queries. Each look makes several calls per query, so looking more often would cost
a share of a core for as long as a run lasts. What a run waits for wakes it at once."""
STARTING_S = 0.05
STARTING_AT_ONCE = os.cpu_count() or 1
"""A query of a Python source starts a process. Spark gives it up after ten seconds, and many processes that
start at once on few cores would take longer. So this counts for all runs of a process together."""

RESTING_S, REST_LOOK_S = 60.0, 0.01
"""How long a step may take that a run waits for before it stops its query all the same."""

_running: WeakSet[Run] = WeakSet()


@dataclass(frozen=True)
class Prepared:
    """The stages of a plan, built and not started, with the gates of their sources."""

    plan: Plan
    stages: list[BuiltStage]
    gates: Gates


def prepare(spark: SparkSession, plan: Plan, home: str, mode: Mode, index_dir: str | None) -> Prepared:
    """Build the stages of a plan. Another plan may run meanwhile in the same session."""
    gates, time_zone = Gates(), str(spark.conf.get(TIME_ZONE))
    ends = mode != "stream"
    tasks = spark.sparkContext.defaultParallelism
    builder = Builder(
        spark, plan, home, tasks, index_dir=index_dir, drain=mode == "drain", gates=gates, overlaps=ends
    )
    try:
        return Prepared(plan, builder.build(), gates)
    except BaseException:
        gates.remove()
        raise
    finally:
        spark.conf.set(TIME_ZONE, time_zone)  # of the plan that runs: its queries may be started again


@dataclass(eq=False)
class Run:
    """One run of one plan. `watch` is called several times a second, with the run, from the thread that runs
    it. `prepared`: its stages, if they are built already. `rests`: when it is stopped, joins finish the step
    that they have begun: another query is to go on behind it, and waits for that anyway."""

    spark: SparkSession
    plan: Plan
    home: str
    mode: Mode
    index_dir: str | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    watch: Callable[[Run], None] = lambda run: None
    held: Callable[[], None] = lambda: None  # raises when the application is no longer this run's
    head_start: HeadStart | None = None
    follows: bool = False  # another query ran before this one: see `progress.py`
    prepared: Prepared | None = None
    rests: bool = False
    stages: list[BuiltStage] = field(default_factory=list)
    queries: dict[str, list[StreamingQuery]] = field(default_factory=dict)
    slicers: dict[str, ResidentSlicer] = field(default_factory=dict)
    phase: str = "starting"
    started_s: float = field(default_factory=time.monotonic)
    phases_s: dict[str, float] = field(default_factory=dict)
    _attempts: Attempts = field(default_factory=Attempts)

    def execute(self) -> None:
        """Run to the end: of the input, or until `stop` is set. The application must be claimed."""
        _running.add(self)
        sweep(index_root(self.index_dir), self.home)
        write_quickly(self.spark, self.home)
        prepared = self.prepared or prepare(self.spark, self.plan, self.home, self.mode, self.index_dir)
        self.stages, gates = prepared.stages, prepared.gates
        self.spark.conf.set(TIME_ZONE, self.plan.time_zone)
        try:
            if self.head_start is not None:
                self.head_start.end()  # from here on progress is read, and then queries go on from it
            for stage in self.stages:
                take_up(self.spark, stage, self.home, self.plan.application)
                if stage.resident is None:
                    begin = go_on if self.follows else require_new
                    begin(self.spark, stage, self.home, self.plan.application)
            queries = [stage for stage in self.stages if stage.resident is None]
            reports = SourceReports(
                queries, self.home, self.plan.application, lambda stage: self.queries.get(stage, [])
            )
            with merging(stage.output for stage in self.stages):
                if self.mode == "stream":
                    with reports:
                        self._stream()
                        if self.rests:
                            self._come_to_rest(gates)
                else:
                    reports.forget()
                    self._waves(gates)
        finally:
            for slicer in self.slicers.values():
                slicer.stop()
            if self.mode != "stream":
                gates.shut([stage.name for stage in self.stages])
            self._stop_queries()
            copy_snapshots(self.spark, [stage.join for stage in self.stages if stage.join is not None])
            gates.remove()
            self.phase = "stopped"
            if not self.rests:  # who goes on in its place is watched in a moment
                self.watch(self)

    @property
    def waiting(self) -> str:
        """External systems that cannot be reached at the moment, in words."""
        return self._attempts.waiting

    def _stream(self) -> None:
        self.phase = "joining"
        for stage in self.stages:
            if stage.resident is not None:
                self._slice(stage)
        # What takes long to start comes first: a join rebuilds its index while the JVM plans the slicers.
        for stage in sorted(self.stages, key=lambda stage: not stage.starts_process):
            if stage.resident is None:
                self._start(stage)
        if self.head_start is not None:
            self.head_start.note(self.plan, self.stages)
        while not self.stop.is_set():
            self._check()
            if not any(query.isActive for query in self._all_queries()) and not self._attempts.away:
                break
            self.watch(self)
            self.stop.wait(WATCH_S)

    def _come_to_rest(self, gates: Gates) -> None:
        """Wait until joins and aggregates have finished what they have begun. A query that is stopped within
        a batch leaves it behind, and before another query can take over, one has to be started for it
        alone."""
        working = [stage.name for stage in self.stages if stage.waits and stage.name in self.queries]
        for name in working:
            gates.rest(name)
        deadline_s = time.monotonic() + RESTING_S
        while working and time.monotonic() < deadline_s:
            time.sleep(REST_LOOK_S)
            active = {name: any(query.isActive for query in self.queries[name]) for name in working}
            working = [name for name in working if active[name] and not gates.rests(name)]

    def _waves(self, gates: Gates) -> None:
        done: set[str] = set()
        waiting = list(self.stages)
        while waiting and not self.stop.is_set():
            wave = [stage for stage in waiting if set(stage.after) <= done]
            began = time.monotonic()
            joining = any(stage.waits for stage in wave)
            self.phase = ("draining" if self.mode == "drain" else "joining") if joining else "slicing"
            for stage in wave:
                if stage.resident is None:
                    gates.open(stage.name)
                elif stage.name not in self.slicers:
                    self._slice(stage, gates)
            early = self._early(waiting, done | {stage.name for stage in wave})
            # What takes long to start comes first: the JVM plans the others meanwhile.
            for stage in sorted([*wave, *early], key=lambda stage: not stage.starts_process):
                if stage.resident is None and stage.name not in self.queries:
                    self._start(stage)
            self._await(wave)
            taken = time.monotonic() - began
            self.phases_s[self.phase] = self.phases_s.get(self.phase, 0.0) + taken
            done |= {stage.name for stage in wave}
            waiting = [stage for stage in waiting if stage.name not in done]

    def _early(self, waiting: list[BuiltStage], soon: set[str]) -> list[BuiltStage]:
        """Joins and aggregates that come next, to wait at their gates: as many as leave room for others to
        start."""
        able = [stage for stage in waiting if stage.waits and stage.name not in self.queries]
        return [stage for stage in able if set(stage.after) <= soon][: STARTING_AT_ONCE - 1]

    def _slice(self, stage: BuiltStage, gates: Gates | None = None) -> None:
        """Start the resident slicer of a stage. Where it ends, its gate opens: the joins that it feeds then
        know that no more is to come."""
        assert stage.resident is not None
        self.slicers[stage.name] = slicer = stage.resident.slicing(
            self.home,
            finite=gates is not None,
            finished=(lambda: gates.open(stage.name)) if gates else (lambda: None),
        )
        slicer.start()

    def _start(self, stage: BuiltStage) -> None:
        while _processes_starting() >= STARTING_AT_ONCE and not self.stop.is_set():
            self._check()
            self.watch(self)
            time.sleep(STARTING_S)
        failures = self._attempts.failures
        self.queries[stage.name] = start_patiently(
            stage, self.home, self.plan.application, self.mode, failures, self.stop.is_set
        )

    def _await(self, wave: list[BuiltStage]) -> None:
        queries = [stage.name for stage in wave if stage.resident is None]
        slicers = [self.slicers[stage.name] for stage in wave if stage.resident is not None]

        def active() -> bool:
            slicing = any(slicer.is_active for slicer in slicers)
            waiting = any(name in self._attempts.away for name in queries)
            return slicing or waiting or any(q.isActive for name in queries for q in self.queries[name])

        while not self.stop.is_set():
            over = not active()
            self._check()  # may start a stage again
            if over and not active():
                return
            self.watch(self)
            self._pause([query for name in queries for query in self.queries[name]])

    def _pause(self, queries: list[StreamingQuery]) -> None:
        """For a moment, or until one of the queries that must end does: the next wave waits for it."""
        running = next((query for query in queries if query.isActive), None)
        if running is None:
            self.stop.wait(STARTING_S)  # a slicer is about to end
            return
        with suppress(StreamingQueryException):  # `_check` raises it
            running.awaitTermination(WATCH_S)  # type: ignore[arg-type]  # fractions are fine

    def _check(self) -> None:
        """Raise what ended a query, if anything did. After a fault of the moment it is started again."""
        self.held()
        for name, slicer in self.slicers.items():
            if slicer.error is not None:
                raise failure_of(slicer.error, name) from slicer.error
        for stage in self.stages:
            queries = self.queries.get(stage.name, [])
            if self._attempts.ended(stage.name, queries):
                try:
                    self._start(stage)
                except Unreachable as error:
                    self._attempts.cannot_reach(stage.name, error)

    def _stop_queries(self) -> None:
        for query in self._all_queries():
            if query.isActive:
                query.stop()

    def _all_queries(self) -> list[StreamingQuery]:
        return [query for queries in self.queries.values() for query in queries]


def _processes_starting() -> int:
    return sum(
        _initialising(query)
        for run in list(_running)
        if run.phase != "stopped"
        for stage in run.stages
        if stage.starts_process
        for query in run.queries.get(stage.name, [])
    )


def _initialising(query: StreamingQuery) -> bool:
    return query.isActive and str(query.status["message"]).startswith("Initializing")


def merging(outputs: Iterable[Output]) -> MergingThread:
    """For those of a run's outputs that want it."""
    return MergingThread(
        [
            FileMerging(
                os.path.abspath(local_path(one.path)),
                one.format,
                header=dict(one.options).get("header") == "true",
                every=one.merge_every,
            )
            for one in outputs
            if isinstance(one, FileSink) and one.merge_every is not None and is_local(one.path)
        ]
    )
