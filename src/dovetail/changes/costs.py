"""What a change costs: rows and bytes that are read, by what the log says of its commits, and seconds, by
what the steps of the join have taken so far.

Nothing is read but metadata, so asking costs little, however long the log is. What is not known is left out:
rows of files, and seconds before a join has run."""

from __future__ import annotations

import os
from typing import Protocol

from dovetail.changes.verdict import Cost
from dovetail.engine.step_log import StepLog
from dovetail.errors import DovetailError
from dovetail.log.category import Category, list_categories
from dovetail.log.ledger import covering
from dovetail.log.table import STORED
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin, JoinKind, ThetaJoin
from dovetail.model.offset import ENDED, NEVER
from dovetail.plan.configure import join_config
from dovetail.plan.physical import FilesSource, JoinStage, Plan, ScribeSource, Source
from dovetail.slicing.input_files import MissingInput, input_files, is_local, local_path
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing


class Costs(Protocol):
    """What the rules ask for. None: it is not known, or there is nothing to ask."""

    def window(self, stage: JoinStage) -> Cost | None:
        """Of reading the right rows again that a join's window needs."""

    def source(self, source: Source, begins: Standing | None) -> Cost | None:
        """Of reading what a source has from there on; None: from its beginning."""

    def since_us(self, source: Source) -> int | None:
        """When the oldest was written that a source still has; None: nothing of it is gone."""


class Unknown:
    """Of plans without a home."""

    def window(self, stage: JoinStage) -> Cost | None:
        return None

    def source(self, source: Source, begins: Standing | None) -> Cost | None:
        return None

    def since_us(self, source: Source) -> int | None:
        return None


class InHome:
    """By the log and the records of the application's joins."""

    def __init__(self, home: str, old: Plan) -> None:
        self._home, self._old = home, old

    def window(self, stage: JoinStage) -> Cost | None:
        known = next((join for join in self._old.joins if join.name == stage.name), None)
        if known is None or known.right not in list_categories(self._home):
            return None
        try:
            return self._window(known, stage.join_kind)
        except DovetailError:
            return None  # a damaged record: whoever needs it says so

    def _window(self, known: JoinStage, kind: JoinKind) -> Cost | None:
        config = join_config(self._old, known, self._home, tasks=1)
        records = StepLog(self._home, config.state_path).recent(1)
        time_us = records[-1].left.time_us if records else NEVER
        right = Category.open(self._home, known.right)
        first, stop = right.first_commit(), records[-1].right.stop if records else right.next_commit()
        if time_us not in (NEVER, ENDED) and isinstance(kind, IntervalJoin | ThetaJoin) and first < stop:
            first = right.first_with_time(first, stop, time_us - kind.spec.before_us)
        read = between(right, first, stop)
        totals = _totals(config)
        rows = totals.get("left_in", 0) + totals.get("right_in", 0)
        pace = totals.get("step_us", 0) / 1e6 / rows if rows else None
        tasks = records[-1].tasks if records else 1
        opened = (read.rows or 0) + totals.get("open_rows", 0)
        seconds = None if not pace else opened * pace / max(1, tasks)
        return Cost(opened, read.bytes, seconds)

    def source(self, source: Source, begins: Standing | None) -> Cost | None:
        if isinstance(source, ScribeSource):
            if source.category not in list_categories(self._home):
                return None
            category = Category.open(self._home, source.category)
            start = begins.commit if isinstance(begins, CommitsRead) else category.first_commit()
            return between(category, max(start, category.first_commit()), category.next_commit())
        if not isinstance(source, FilesSource) or not is_local(source.path):
            return None
        try:
            files = input_files(os.path.abspath(local_path(source.path)), source.format)
        except MissingInput:
            return Cost(0, 0)
        done = begins.files if isinstance(begins, FilesDone) else frozenset()
        return Cost(None, sum(os.path.getsize(file) for file in files if file not in done))

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
    """Of reading commits `start` to `stop - 1`."""
    if start >= stop:
        return Cost(0, 0)
    known = covering(category, start, stop)
    return Cost(known.first_row(stop) - known.first_row(start), int(known.between(STORED, start, stop)))
