"""A plan as a graph of stages that are stepped one at a time, in any order, in this process.

    Graph    the stages of a plan over a log; `drain` runs them to the end, in order
    Runner   one stage: plan a batch, run it, settle it

Law: what comes out does not depend on the order of the steps, as long as no row is late. A batch is planned
before it runs, in a journal that outlives the graph, as Spark's checkpoint outlives a query: a graph that is
made again with the same journals goes on, and a batch that was planned or had run is run again, with the same
result. So tests may stop it between any two of the three verbs.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.connectors.lookup_kinds import open_table
from dovetail.engine.driver import JoinDriver
from dovetail.engine.planner import HOST_CLOCK, HostClock
from dovetail.engine.window_planner import WindowPlanner
from dovetail.engine.window_step import CLOSED, END, MOMENT, START, run_part
from dovetail.errors import CategoryNotFound, InputError, PlanError
from dovetail.joins.rows.gather import Rows
from dovetail.local.writing import write_category
from dovetail.log.category import Category
from dovetail.lookup.held_table import HeldTable
from dovetail.model.promise import Promise
from dovetail.plan.build import written_category
from dovetail.plan.configure import broadcast_of, join_config, window_config
from dovetail.plan.evaluate import evaluation_of, simple_type
from dovetail.plan.physical import (
    CategoryOutput,
    FilesSource,
    InputTable,
    JoinStage,
    KafkaSource,
    LakeSource,
    Plan,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
)
from dovetail.plan.projection import plain_projection
from dovetail.plan.stage_promises import after_commits, after_join, after_windows
from dovetail.slicing.covered_commits import LOOKED_UP
from dovetail.slicing.hive_partitions import with_partitions
from dovetail.slicing.input_files import input_files, local_path

Aggregation = Callable[[WindowStage, pa.Table], pa.Table]
"""The result of an aggregate's query over the rows of whole windows, which Spark would compute."""


@dataclass
class StageJournal:
    """Where each batch of a stage ends, written before it runs; how many are done; and the rows of those that
    no category takes."""

    ends: list[Any] = field(default_factory=list)
    done: int = 0
    rows: dict[int, pa.Table] = field(default_factory=dict)


class Graph:
    """`home` has the inputs, `work` everything that is written. `index`: where joins keep their live index,
    below `work` if not given. `journals`: of a graph that this one goes on from. `aggregation`: without, an
    aggregate needs Spark."""

    def __init__(
        self,
        plan: Plan,
        home: str,
        work: str,
        *,
        tasks: int = 1,
        raw: bool = False,
        clock: HostClock = HOST_CLOCK,
        index: str | None = None,
        journals: dict[str, StageJournal] | None = None,
        aggregation: Aggregation | None = None,
    ) -> None:
        self.aggregation = aggregation
        self.plan, self.home, self.work = plan, home, work
        self.raw, self.tasks, self.clock = raw, tasks, clock
        self.index = index or f"{work}/index"
        self.journals = {} if journals is None else journals
        self.runners: dict[str, Runner] = {
            stage.name: _runner(self, stage, self.journals.setdefault(stage.name, StageJournal()))
            for stage in plan.stages
        }

    def drain(self) -> None:
        """Every stage to the end of what it reads, in order, and then every window closes."""
        for runner in self.runners.values():
            while runner.step(final=True):
                pass

    def tables(self) -> dict[str, pa.Table]:
        """The rows that came out, by stage."""
        return {
            name: pa.concat_tables([journal.rows[batch] for batch in sorted(journal.rows)])
            for name, journal in self.journals.items()
            if journal.rows
        }

    def category_home(self, name: str) -> str:
        """Where a category is: its own are in `work`."""
        inside = any(written_category(stage) == name for stage in self.plan.stages)
        return self.work if inside else self.home


class Runner(ABC):
    """One stage. `plan`, `run` and `settle` in turn; `step` does all three."""

    def __init__(self, graph: Graph, stage: Stage, journal: StageJournal) -> None:
        self.graph, self.stage, self.journal = graph, stage, journal

    def step(self, *, final: bool = False, **limits: Any) -> bool:
        """Whether there was anything to do."""
        if not self.plan(final=final, **limits):
            return False
        self.run()
        self.settle()
        return True

    def plan(self, *, final: bool = False, **limits: Any) -> bool:
        """Write down where the next batch ends. One that was planned and is not settled comes first."""
        if self.journal.done == len(self.journal.ends):
            end = self.next_end(final=final, **limits)
            if end is None:
                return False
            self.journal.ends.append(end)
        return True

    def run(self) -> None:
        """Let the rows of the planned batch, and what holds after it, exist."""
        batch = self.journal.done
        start, end = self.journal.ends[batch - 1] if batch else None, self.journal.ends[batch]
        rows = self.rows(start, end)
        if self.graph.raw and isinstance(self.stage, JoinStage):
            self.journal.rows[batch] = rows
        elif isinstance(self.stage.output, CategoryOutput):
            graph = self.graph
            made, promise = self.selected(rows), self.promise(end)
            write_category(graph.plan, graph.work, self.stage, made, batch, promise, self.covers(start, end))
        else:
            self.journal.rows[batch] = self.selected(rows)

    def settle(self) -> None:
        """The batch is done for good."""
        self.settled(self.journal.ends[self.journal.done])
        self.journal.done += 1

    @property
    def last(self) -> Any:
        """Where the last planned batch ends; None before the first."""
        return self.journal.ends[-1] if self.journal.ends else None

    @abstractmethod
    def next_end(self, *, final: bool, **limits: Any) -> Any:
        """Where the next batch ends; None: there is nothing to do."""

    @abstractmethod
    def rows(self, start: Any, end: Any) -> pa.Table:
        """The rows that the stage reads in a batch."""

    @abstractmethod
    def promise(self, end: Any) -> Promise | None:
        """What holds once the batch is in the log."""

    @abstractmethod
    def settled(self, end: Any) -> None:
        """Let go of what the batch was the last to need."""

    def covers(self, start: Any, end: Any) -> dict[str, Any] | None:
        """Which part of its input the batch has read, where the commit says so."""
        return None

    def selected(self, rows: pa.Table) -> pa.Table:
        """What the stage's query makes of the rows, without Spark: columns are picked and renamed, or
        computed as Spark computes them."""
        assert not isinstance(self.stage, WindowStage)
        names = plain_projection(self.stage)
        if names is not None:
            return rows.select(list(names.values())).rename_columns(list(names))
        rows = self.declared(rows)
        plan = self.graph.plan
        utc = plan.time_zone == "UTC"
        computed = evaluation_of(self.stage, rows.schema, utc=utc, functions=plan.functions)
        if computed is None:
            raise _needs_spark(self.stage.name, "an expression of this query")
        made = [computed(batch) for batch in rows.combine_chunks().to_batches()]
        return pa.Table.from_batches(made, computed.schema)

    def declared(self, rows: pa.Table) -> pa.Table:
        """The rows in the types that the query declares, as Spark reads them."""
        return rows


class SlicerRunner(Runner):
    """An end is how many commits, or files, were read."""

    stage: SlicerStage

    @property
    def _input(self) -> InputTable:
        return self.stage.inputs[0]

    def next_end(self, *, final: bool, most: int = 1, **limits: Any) -> int | None:
        """`most` commits or files at a time."""
        if len(self.stage.inputs) != 1:
            raise _needs_spark(self.stage.name, "a union of several inputs")
        start, stop = self.last or self._first(), self._stop()
        if final and stop == 0 and not self.journal.ends and not self.graph.raw:
            raise InputError(
                "an input has no rows, so the types of its columns are not known",
                where=f"input table {self._input.name}",
                expected="at least one commit or file",
            )
        return min(stop, start + most) if stop > start else None

    def rows(self, start: int | None, end: int) -> pa.Table:
        first = self._first() if start is None else start
        return pa.concat_tables(self._read(first, end))

    def declared(self, rows: pa.Table) -> pa.Table:
        for column in self._input.columns:
            kind = simple_type(column.type) if column.type is not None else None
            if kind is not None and column.name in rows.schema.names:
                at = rows.schema.names.index(column.name)
                rows = rows.set_column(at, column.name, rows.column(at).cast(kind))
        return rows

    def promise(self, end: int) -> Promise | None:
        source = self._input.source
        if not isinstance(source, ScribeSource):
            return None
        return after_commits(self.stage, self.graph.category_home(source.category), {source.category: end})

    def covers(self, start: int | None, end: int) -> dict[str, Any]:
        source = self._input.source
        if isinstance(source, ScribeSource):
            return {"category": source.category, "commit": end}
        assert isinstance(source, FilesSource)
        first = self._first() if start is None else start
        files = input_files(source.path, source.format)[first:end]
        return {"files": [os.path.abspath(local_path(file)) for file in files]}

    def settled(self, end: int) -> None:
        source = self._input.source
        if isinstance(source, ScribeSource) and self.graph.category_home(source.category) == self.graph.work:
            application = self.graph.plan.application
            category = Category.open(self.graph.work, source.category)
            category.set_reader(f"{application}.{self.stage.name}", end, application=application)

    def _first(self) -> int:
        category = self._category()
        return category.first_commit() if category else 0

    def _stop(self) -> int:
        source = self._input.source
        if isinstance(source, ScribeSource):
            category = self._category()
            return category.next_commit() if category else 0
        if isinstance(source, KafkaSource):
            raise _needs_spark(self._input.name, "a Kafka topic")
        if isinstance(source, LakeSource):
            raise _needs_spark(self._input.name, "a table of a lake")
        if source.format != "parquet":
            raise _needs_spark(self._input.name, f"{source.format} files")
        return len(input_files(source.path, source.format))

    def _category(self) -> Category | None:
        """None: the input is files, or an upstream stage has not written yet."""
        source = self._input.source
        if not isinstance(source, ScribeSource):
            return None
        home = self.graph.category_home(source.category)
        try:
            return Category.open(home, source.category)
        except CategoryNotFound:
            if home == self.graph.work:
                return None
            raise

    def _read(self, start: int, end: int) -> Iterator[pa.Table]:
        source = self._input.source
        if isinstance(source, ScribeSource):
            yield from _commits(
                Category.open(self.graph.category_home(source.category), source.category), start, end
            )
        elif isinstance(source, FilesSource):
            for file in input_files(source.path, source.format)[start:end]:
                rows = pq.read_table(local_path(file), partitioning=None)
                names = {column.name for column in self._input.columns}
                yield with_partitions(rows, source.path, file, names)


class LookupRunner(SlicerRunner):
    """The log takes a batch once: one that runs again is looked up again, and changes nothing."""

    def selected(self, rows: pa.Table) -> pa.Table:
        picked = plain_projection(self.stage)
        assert picked is not None, "the stream's columns are passed on"
        return self._held.now().rows.add_to(rows, picked)

    def covers(self, start: int | None, end: int) -> dict[str, Any]:
        lookup = self.stage.lookup
        assert lookup is not None
        return {**super().covers(start, end), LOOKED_UP: self._held.now().note(lookup.table)}

    @cached_property
    def _held(self) -> HeldTable:
        lookup = self.stage.lookup
        assert lookup is not None
        table = open_table(lookup.source.table, lookup.source.options)
        return HeldTable(table, broadcast_of(lookup))


class JoinRunner(Runner):
    """An end is the join's offset."""

    stage: JoinStage

    def next_end(self, *, final: bool, **limits: Any) -> Any:
        driver = self._driver()
        if driver is None:
            return None
        start = self.last or driver.first()
        end = driver.plan(start, until=driver.there_now() if final else None, final=final)
        return None if end is start else end

    def rows(self, start: Any, end: Any) -> pa.Table:
        driver = self._driver()
        assert driver is not None
        return pa.Table.from_batches(driver.run(start or driver.first(), end), driver.schema)

    def promise(self, end: Any) -> Promise | None:
        return after_join(self.stage, end)

    def settled(self, end: Any) -> None:
        driver = self._driver()
        assert driver is not None
        driver.retain(end)

    def _driver(self) -> JoinDriver | None:
        """One driver for as long as the graph lives: it knows since when a stream has been silent."""
        if self._made is None:
            for name in (self.stage.left, self.stage.right):
                try:
                    Category.open(self.graph.work, name)
                except CategoryNotFound:
                    return None
            config = join_config(
                self.graph.plan,
                self.stage,
                self.graph.work,
                tasks=self.graph.tasks,
                index_dir=self.graph.index,
                drain=True,
            )
            self._made = JoinDriver(config, self.graph.clock)
        return self._made

    _made: JoinDriver | None = None


class AggregateRunner(Runner):
    """An end is the aggregate's offset. The rows of windows that close come as on Spark; what is computed
    from them is up to the graph's `aggregation`. With `raw` aggregates are left out, and so is what reads
    them."""

    stage: WindowStage

    def next_end(self, *, final: bool, **limits: Any) -> Any:
        if self.graph.raw:
            return None
        if self.graph.aggregation is None:
            raise _needs_spark(self.stage.table, "an aggregate")
        planner = self._planner()
        if planner is None:
            return None
        start = self.last or planner.first()
        end = planner.plan(start, until=planner.there_now() if final else None, final=final)
        return None if end is start else end

    def rows(self, start: Any, end: Any) -> pa.Table:
        planner = self._planner()
        assert planner is not None
        sliced = planner.category.schema
        columns = [(column.name, sliced.field(column.name).type) for column in self.stage.columns]
        closed = [(CLOSED, pa.bool_())] if self.stage.settings.early_us is not None else []
        schema = pa.schema([(START, MOMENT), (END, MOMENT), *closed, *columns])
        parts = planner.parts(start or planner.first(), end)
        return pa.Table.from_batches(
            [batch for part in parts for batch in run_part(planner.config, part, schema)], schema
        )

    def promise(self, end: Any) -> Promise | None:
        return after_windows(self.stage, end)

    def settled(self, end: Any) -> None:
        planner = self._planner()
        assert planner is not None
        planner.retain(end)

    def selected(self, rows: pa.Table) -> pa.Table:
        assert self.graph.aggregation is not None
        return self.graph.aggregation(self.stage, rows)

    def _planner(self) -> WindowPlanner | None:
        if self._made is None:
            try:
                Category.open(self.graph.work, self.stage.rows)
            except CategoryNotFound:
                return None
            config = window_config(
                self.graph.plan, self.stage, self.graph.work, tasks=self.graph.tasks, drain=True
            )
            self._made = WindowPlanner(config, self.graph.clock)
        return self._made

    _made: WindowPlanner | None = None


def _runner(graph: Graph, stage: Stage, journal: StageJournal) -> Runner:
    match stage:
        case JoinStage():
            return JoinRunner(graph, stage, journal)
        case WindowStage():
            return AggregateRunner(graph, stage, journal)
        case SlicerStage(lookup=None):
            return SlicerRunner(graph, stage, journal)
        case SlicerStage():
            return LookupRunner(graph, stage, journal)


def _commits(category: Category, start: int, end: int) -> Iterator[pa.Table]:
    for number in range(start, end):
        commit = category.commit(number)
        rows = Rows(category, number, number + 1)
        batch = rows.at(rows.places(np.arange(commit.first_row, commit.first_row + commit.rows)))
        yield pa.table([batch.take(name) for name in category.schema.names], category.schema)


def _needs_spark(name: str, what: str) -> PlanError:
    return PlanError(
        f"{what} needs Spark",
        where=f"stage {name}",
        expected="columns that are picked and renamed, simple expressions, and functions of the query, over "
        "categories or Parquet files",
        hint="`dovetail run` evaluates everything; raw=True gives the joined rows as they leave the join",
    )
