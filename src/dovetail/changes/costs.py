"""What the rules ask a home. Above all what a change costs: the rows and bytes that are read, from the
commits of the log, and the seconds, from the steps that the join has taken so far.

Nothing is read but metadata, so asking costs little, however long the log is. What is not known is left out:
rows of files, and seconds before a join has run."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple, Protocol

from dovetail.changes.own_folders import has_batches, output_folder, own_folders
from dovetail.changes.verdict import Cost
from dovetail.engine.floors import reach_us
from dovetail.engine.step_log import StepLog
from dovetail.errors import DovetailError
from dovetail.log.category import Category, list_categories
from dovetail.log.ledger import covering
from dovetail.log.table import STORED
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import JoinKind, Since
from dovetail.model.kind_change import exact_since, read_back
from dovetail.model.offset import ENDED, NEVER, JoinOffset
from dovetail.plan.configure import join_config
from dovetail.plan.physical import (
    FileSink,
    FilesSource,
    JoinStage,
    Plan,
    ScribeSink,
    ScribeSource,
    Source,
    Stage,
)
from dovetail.slicing.input_files import MissingInput, input_files, is_local, local_path
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing


class ChangeCosts(Protocol):
    """What the rules ask for. None: it is not known, or there is nothing to ask."""

    def window(self, stage: JoinStage) -> Cost | None:
        """For reading the right rows again that a join's window needs."""

    def exact_us(self, stage: JoinStage) -> int | None:
        """From which event time on left rows meet all that a wider window adds, because the log no longer has
        what earlier ones would need. None: it has all of it."""

    def source(self, source: Source, begins: Standing | None, join: str | None = None) -> Cost | None:
        """For reading a source from there on; None: from its beginning. `join`: the one it is for."""

    def next_commit(self, category: str) -> int | None:
        """The number that the next commit of a category of the application gets."""

    def is_foreign(self, sink: FileSink) -> bool:
        """Whether others than this application have written to a folder."""

    def has_batches(self, stage: Stage) -> bool:
        """Whether the place that a stage writes to has batches that would be taken for its own."""

    def since_us(self, source: Source) -> int | None:
        """When the oldest was written that a source still has; None: nothing of it is gone."""


class Took(NamedTuple):
    """The rows of a join so far, and the seconds that it has spent on them."""

    rows: int
    seconds: float


class Unknown:
    """For plans without a home."""

    def window(self, stage: JoinStage) -> Cost | None:
        return None

    def exact_us(self, stage: JoinStage) -> int | None:
        return None

    def source(self, source: Source, begins: Standing | None, join: str | None = None) -> Cost | None:
        return None

    def next_commit(self, category: str) -> int | None:
        return None

    def is_foreign(self, sink: FileSink) -> bool:
        return False

    def has_batches(self, stage: Stage) -> bool:
        return False

    def since_us(self, source: Source) -> int | None:
        return None


class InHome:
    """By the log and the records of the application's joins."""

    def __init__(self, home: str, old: Plan) -> None:
        self._home, self._old = home, old

    def window(self, stage: JoinStage) -> Cost | None:
        known = self._known(stage)
        try:
            return None if known is None else self._window(known, stage.join_kind)
        except DovetailError:
            return None  # a damaged record: its readers report it

    def exact_us(self, stage: JoinStage) -> int | None:
        known = self._known(stage)
        try:
            return None if known is None else self._exact_us(known, stage.join_kind)
        except DovetailError:
            return None

    def _known(self, stage: JoinStage) -> JoinStage | None:
        known = next((join for join in self._old.joins if join.name == stage.name), None)
        return known if known is not None and known.right in list_categories(self._home) else None

    def _exact_us(self, known: JoinStage, kind: JoinKind) -> int | None:
        config = join_config(self._old, known, self._home, tasks=1)
        records = StepLog(self._home, config.state_path).recent(1)
        if not records or records[-1].ended:
            return None  # no row is in flight
        times = records[-1].left.time_us, records[-1].right.time_us
        at = JoinOffset(left_time=times[0], right_time=times[1])
        needed = read_back(known.join_kind, kind, at)
        if NEVER in times or not isinstance(needed, Since):
            return None
        # A row may be this late, and so rows that are gone may be as much newer than one that came after.
        late_us = known.settings.right_max_delay_us
        lost_us = reach_us(Category.open(self._home, known.right), needed.right_us - late_us)
        return None if lost_us is None else exact_since(known.join_kind, kind, at, lost_us + late_us).left_us

    def _window(self, known: JoinStage, kind: JoinKind) -> Cost | None:
        config = join_config(self._old, known, self._home, tasks=1)
        records = StepLog(self._home, config.state_path).recent(1)
        time_us = records[-1].left.time_us if records else NEVER
        right = Category.open(self._home, known.right)
        first, stop = right.first_commit(), records[-1].right.stop if records else right.next_commit()
        if time_us not in (NEVER, ENDED) and kind.windows is None and first < stop:
            before_us = 0 if kind.own_window is None else kind.own_window.before_us
            first = right.first_with_time(first, stop, time_us - before_us)
        read = between(right, first, stop)
        opened = (read.rows or 0) + _totals(config).get("open_rows", 0)
        return Cost(opened, read.bytes, self._seconds(opened, known.name))

    def source(self, source: Source, begins: Standing | None, join: str | None = None) -> Cost | None:
        if isinstance(source, ScribeSource):
            if source.category not in list_categories(self._home):
                return None
            category = Category.open(self._home, source.category)
            start = begins.commit if isinstance(begins, CommitsRead) else category.first_commit()
            read = between(category, max(start, category.first_commit()), category.next_commit())
            return replace(read, seconds=self._seconds(read.rows or 0, join))
        if not isinstance(source, FilesSource) or not is_local(source.path):
            return None
        try:
            files = input_files(os.path.abspath(local_path(source.path)), source.format)
        except MissingInput:
            return Cost(0, 0)
        done = begins.files if isinstance(begins, FilesDone) else frozenset()
        return Cost(None, sum(os.path.getsize(file) for file in files if file not in done))

    def _seconds(self, rows: int, join: str | None) -> float | None:
        """How long a join takes for that many rows, by its steps so far. One that is new is taken to be as
        fast as the others of the application are together. None: none of them has run."""
        known = [one for one in self._old.joins if one.name == join] or self._old.joins
        took = [one for stage in known if (one := self._took(stage)) is not None]
        counted = sum(one.rows for one in took)
        return rows * sum(one.seconds for one in took) / counted if counted else None

    def _took(self, stage: JoinStage) -> Took | None:
        try:
            config = join_config(self._old, stage, self._home, tasks=1)
            records, totals = StepLog(self._home, config.state_path).recent(1), _totals(config)
        except DovetailError:
            return None  # a damaged record: its readers report it
        tasks = max(1, records[-1].tasks) if records else 1
        rows = totals.get("left_in", 0) + totals.get("right_in", 0)
        return Took(rows, totals.get("step_us", 0) / 1e6 / tasks) if totals.get("step_us") else None

    def next_commit(self, category: str) -> int | None:
        there = category in list_categories(self._home)
        return Category.open(self._home, category).next_commit() if there else None

    def is_foreign(self, sink: FileSink) -> bool:
        folder = output_folder(sink.path)
        return has_batches(folder) and folder not in own_folders(self._home, self._old.application)

    def has_batches(self, stage: Stage) -> bool:
        match stage.output:
            case FileSink(path=path):
                return has_batches(output_folder(path))
            case ScribeSink(category=name) if name in list_categories(self._home):
                producer = f"{self._old.application}.{stage.name}"
                return Category.open(self._home, name).last_batch(producer) >= 0
        return False

    def since_us(self, source: Source) -> int | None:
        if not isinstance(source, ScribeSource) or source.category not in list_categories(self._home):
            return None
        category = Category.open(self._home, source.category)
        first = category.first_commit()
        return category.commit(first).written_at_us if 0 < first < category.next_commit() else None


def _totals(config: JoinConfig) -> dict[str, int]:
    from dovetail.engine.measure import latest_totals  # it brings kernels, which nothing else here needs

    return latest_totals(config)


def between(category: Category, start: int, stop: int) -> Cost:
    """For reading commits `start` to `stop - 1`."""
    if start >= stop:
        return Cost(0, 0)
    known = covering(category, start, stop)
    return Cost(known.first_row(stop) - known.first_row(start), int(known.between(STORED, start, stop)))
