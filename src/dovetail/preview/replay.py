"""One version of an application over recorded steps: its joins in the order in which the steps were planned,
and what the stages behind them make of the rows.

What no table shows without Spark is compared one level before: the rows that enter an expression or an
aggregate. `notes` says so, for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa

from dovetail.joins.step_input import Totals
from dovetail.local.writing import write_category
from dovetail.model.promise import Promise
from dovetail.model.step_record import StepRecord
from dovetail.plan.application_file import stable
from dovetail.plan.build import written_category
from dovetail.plan.physical import (
    CategoryOutput,
    JoinStage,
    Plan,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
)
from dovetail.plan.stage_promises import after_commits, after_join
from dovetail.preview.identity import columns
from dovetail.preview.reach import Recorded, base_slicer
from dovetail.preview.replay_join import JoinReplay
from dovetail.preview.selecting import Select, select_of
from dovetail.preview.side_rows import KeptSide, MadeSide, SideRows, SlicedAgain
from dovetail.time.coordinator import Both

Put = Callable[[str, pa.Table], None]
"""Takes rows of a table as they come out, with whose they are."""


class Replay:
    """`running`: the plan whose steps are on record, in `home`. `work`: a folder of this version alone.
    `raw`: stages whose rows are taken as they come in."""

    def __init__(
        self,
        plan: Plan,
        running: Plan,
        home: str,
        work: str,
        known: Mapping[str, Recorded],
        put: Put,
        raw: frozenset[str] = frozenset(),
    ) -> None:
        self.plan, self._running, self._home, self._work = plan, running, home, work
        self._put, self._raw = put, raw
        self.needs_spark: set[str] = set()
        self.cpu_s = 0.0
        self._batches: dict[str, int] = {}
        self._selects: dict[str, tuple[pa.Schema, Select | None]] = {}
        self.joins = {
            stage.name: self._replay(stage, known[stage.name]) for stage in plan.joins if stage.name in known
        }

    def take(self, join: str, record: StepRecord | None) -> None:
        """A recorded step of a join; None: everything that is left, and then every window closes."""
        if join not in self.joins:
            return
        began = time.process_time()
        replay = self.joins[join]
        rows = replay.take(record)
        if rows is not None:
            self._pass_on(replay.stage, rows, after_join(replay.stage, replay.at))
        self.cpu_s += time.process_time() - began

    def finish(self) -> None:
        for stage in self.plan.joins:
            self.take(stage.name, None)

    @property
    def totals(self) -> Mapping[str, Totals]:
        return {name: join.totals for name, join in self.joins.items()}

    def unseen(self) -> Iterator[str]:
        """What is not compared, or not as it comes out in the end."""
        for join in self.plan.joins:
            if join.name not in self.joins:
                yield f"join {join.name} is new: nothing of it is on record, so it is not compared"
        for stage in self.plan.stages:
            if isinstance(stage, WindowStage) and base_slicer(self.plan, stage.rows) is None:
                yield (
                    f"table {stage.table} is an aggregate: the rows that enter it are compared, not what is "
                    "computed from them"
                )
            elif isinstance(stage, WindowStage) or _is_lone(self.plan, stage):
                name = stage.table if isinstance(stage, WindowStage) else stage.name
                yield f"table {name} comes from no join: it is not compared"
        for name in sorted(self.needs_spark | self._raw):
            yield f"{name} computes something that needs Spark: the rows that enter it are compared instead"

    def _replay(self, stage: JoinStage, known: Recorded) -> JoinReplay:
        before = next((join for join in self._running.joins if join.name == stage.name), stage)
        sides = (
            self._side(stage.left, before.left, known.first[0]),
            self._side(stage.right, before.right, known.first[1]),
        )
        return JoinReplay(self.plan, stage, sides, _follows(stage, before, sides), known.before)

    def _side(self, name: str, before: str, first: int) -> SideRows:
        slicer, old = base_slicer(self.plan, name), base_slicer(self._running, before)
        if slicer is None or old is None:
            return MadeSide(self._work, name)
        if slicer is old or _meaning(slicer) == _meaning(old):
            return KeptSide(self._home, before, first)
        return SlicedAgain(self.plan, slicer, self._home, self._work, old, first)

    def _pass_on(self, stage: SlicerStage | JoinStage, rows: pa.Table, promise: Promise | None) -> None:
        select = None if stage.name in self._raw else self._select(stage, rows.schema)
        if select is None:
            self.needs_spark.add(stage.name)
            self._put(stage.name, rows)
            return
        made, output = select(rows), stage.output
        if not isinstance(output, CategoryOutput):
            self._put(stage.name, made)
        elif output.time is None:
            self._write(stage, made, promise)
        else:
            self._pass_to_side(stage, output, made, promise)
        name = written_category(stage)
        for reader in self.plan.slicers:
            sources = [table.source for table in reader.inputs]
            if name is not None and ScribeSource(name) in sources:
                self._pass_on(reader, made, self._promise(reader, name))

    def _select(self, stage: SlicerStage | JoinStage, given: pa.Schema) -> Select | None:
        known = self._selects.get(stage.name)
        if known is None or not known[0].equals(given):
            known = self._selects[stage.name] = given, select_of(stage, given, self.plan)
        return known[1]

    def _promise(self, reader: SlicerStage, category: str) -> Promise | None:
        """What a slicer passes on of what the category's last commit promises."""
        written = MadeSide(self._work, category)
        return after_commits(reader, self._work, {category: written.stop(0)}) if written.category() else None

    def _pass_to_side(
        self,
        stage: SlicerStage | JoinStage,
        output: CategoryOutput,
        made: pa.Table,
        promise: Promise | None,
    ) -> None:
        for aggregate in self.plan.windows:
            if aggregate.rows == output.category:
                self._put(aggregate.table, made)
        if any(output.category in (join.left, join.right) for join in self.plan.joins):
            self._write(stage, made, promise)

    def _write(self, stage: SlicerStage | JoinStage, made: pa.Table, promise: Promise | None) -> None:
        batch = self._batches[stage.name] = self._batches.get(stage.name, -1) + 1
        write_category(self.plan, self._work, stage, made.select(columns(made.schema)), batch, promise)


def _follows(stage: JoinStage, before: JoinStage, sides: tuple[SideRows, SideRows]) -> Both:
    """For which sides the stream times on record are those of this version."""
    own, old = stage.settings, before.settings
    same = (own.estimate, own.confirmed_by) == (old.estimate, old.confirmed_by)
    kept = [isinstance(side, KeptSide) for side in sides]
    return (
        same
        and kept[0]
        and (own.left_max_delay_us, own.left_inherits) == (old.left_max_delay_us, old.left_inherits),
        same
        and kept[1]
        and (own.right_max_delay_us, own.right_inherits) == (old.right_max_delay_us, old.right_inherits),
    )


def _meaning(stage: Stage) -> object:
    return stable(Plan("", (stage,)))


def _is_lone(plan: Plan, stage: Stage) -> bool:
    """A table that reads inputs alone."""
    if not isinstance(stage, SlicerStage) or isinstance(stage.output, CategoryOutput):
        return False
    own = {written_category(one) for one in plan.stages}
    sources = [table.source for table in stage.inputs]
    return not any(isinstance(source, ScribeSource) and source.category in own for source in sources)
