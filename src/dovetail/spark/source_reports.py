"""Tells how far the queries of a run are in their sources, once a second (`log/source_progress.py`).

Law: `empty` is said only of a look that Spark has finished, that found nothing, and after which everything
that was in the source before is in the category.

Between two triggers a query's status says whether the last trigger had data. During one it says nothing about
what it will find, so a report that would have to be made then is left out. That is all there is to know of a
source that Spark reads for us: files, Kafka, anything.

A query may also read the log: a category, or a join's two sides where the join is its source. Then its source
is empty when the writers of those categories say so of theirs, and it has taken all of their commits. The
three are looked at in this order, so what a writer has said is in commits that are listed after it. A join
with an idle timeout may hold rows that come out when its own streams have been idle for that long: it has
nothing to come only some seconds after that.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from dovetail.engine.idle import SourceWatch
from dovetail.errors import CategoryNotFound
from dovetail.log.category import Category
from dovetail.log.report_times import ReportTimes, steady_us
from dovetail.log.source_progress import SourceReport, Waiting, WriterState, drop_report, write_report
from dovetail.model.join_config import JoinConfig
from dovetail.plan.physical import CategoryOutput, ScribeSink, SlicerStage
from dovetail.spark import category_source, join_source
from dovetail.spark.batch_files import offsets_done
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.waiting_files import WaitingFiles

EVERY_S = 1.0
EVERY_REMOTE_S = 2.0
"""On an object store each report is a request that costs money."""
AGAIN_S, TRIES = 0.03, 5
"""In the middle of a trigger the status is asked for again, so often."""
UNSURE_US = 3_000_000
"""A trigger that takes longer than this is work, whatever it will find."""
JOIN_S = 10.0
"""A call into a JVM that is ending may never return. So a run does not wait for its last report."""
REST_US = 5_000_000
"""How long after the idle timeout of a join its coordinator has certainly acted on it."""

Queries = Callable[[str], Sequence[StreamingQuery]]
"""The queries of a stage that run now, its own first."""


class Upstream(NamedTuple):
    """What a query reads from the log through one source: a category, or both sides of a join."""

    home: str
    categories: tuple[str, ...]
    rest_us: int = 0


def upstreams(rows: DataFrame) -> tuple[Upstream, ...]:
    """For our sources among those of a streaming DataFrame, however it was made of them."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()
    found = []
    for leaf in (leaves.apply(number) for number in range(leaves.size())):
        if leaf.getClass().getSimpleName() != "StreamingRelationV2":
            continue
        name, options = leaf.sourceName(), leaf.extraOptions()
        if name.startswith(join_source.NAME):
            config = JoinConfig.from_json(options.get("config"))
            timeout_us = config.settings.idle_timeout_us
            rest_us = 0 if timeout_us is None else timeout_us + REST_US
            found.append(Upstream(config.home, (config.left, config.right), rest_us))
        elif name.startswith(category_source.NAME):
            found.append(Upstream(options.get("home"), (options.get("category"),)))
    return tuple(dict.fromkeys(found))  # a relation that is used twice is one source


def found_empty(status: dict[str, Any]) -> bool | None:
    """Whether the last look of a query found nothing. None: it is looking, or has not begun."""
    if status["isDataAvailable"]:
        return False
    waits = str(status["message"]).startswith("Waiting") and not status["isTriggerActive"]
    return True if waits else None


def commits_taken(offsets: Sequence[Any]) -> list[tuple[int, ...]]:
    """Where our sources among these stand: the next commit of each category."""
    taken: list[tuple[int, ...]] = []
    for offset in offsets:
        if isinstance(offset, dict) and "left_floor" in offset:
            taken.append((int(offset["left"]), int(offset["right"])))
        elif isinstance(offset, dict) and "commit" in offset:
            taken.append((int(offset["commit"]),))
    return taken


class SourceLook(NamedTuple):
    """`looked_us`: when the look began that found nothing, and nothing on its way."""

    state: WriterState
    waiting: Waiting = Waiting()
    looked_us: int | None = None


class LogInputs:
    """The categories that a query reads, and whether it is through with them."""

    def __init__(self, sources: Sequence[Upstream], steady_us: Callable[[], int]) -> None:
        self.sources = sources
        self._steady_us = steady_us
        self._categories = [
            Category.open(source.home, name) for source in sources for name in source.categories
        ]
        self._watches = [SourceWatch(category, steady_us) for category in self._categories]
        self._known = [0] * len(self._categories)
        self._still_us: int | None = None

    def look(
        self, offsets: Callable[[], Sequence[Any]], empty: Callable[[], bool | None]
    ) -> SourceLook | None:
        """`offsets`: where the query's sources stand. `empty`: what its own last look found. Both are asked
        after the writers."""
        quiet_us = [watch.quiet_us() for watch in self._watches]
        self._known = [
            category.next_commit(known) for category, known in zip(self._categories, self._known, strict=True)
        ]
        taken = commits_taken(offsets())
        # The order of Spark's sources need not be ours. None has taken more than there is, so if their sums
        # are equal, all are.
        waiting = max(0, sum(self._known) - sum(sum(one) for one in taken)) if self._fits(taken) else 0
        nothing = empty()
        if nothing is None:
            # It is looking. Our sources wait for commits inside a look, so that is its usual state. No batch
            # is being written meanwhile, and if finished ones have taken all commits, the look finds nothing.
            if not taken or waiting or not self._fits(taken):
                return None
            nothing = True
        now_us = self._steady_us()
        newest_us = self._newest_us()
        if not nothing or waiting:
            self._still_us = None
            return SourceLook("behind", Waiting(rows=self._rows(taken), newest_us=newest_us))
        none = Waiting(rows=0, newest_us=newest_us)
        known_us = [us for us in quiet_us if us is not None]
        if len(known_us) < len(quiet_us):
            self._still_us = None
            return SourceLook("waiting", none)
        if self._still_us is None:
            self._still_us = now_us
        rests = now_us - self._still_us < max(source.rest_us for source in self.sources)
        if rests:
            return SourceLook("waiting", none)
        return SourceLook("empty", none, min(known_us))

    def _fits(self, taken: Sequence[tuple[int, ...]]) -> bool:
        """Before its first batch a query has taken nothing of anything. Where Spark counts other sources than
        we do, only what it says of its looks is left to go by."""
        return not taken or len(taken) == len(self.sources)

    def _rows(self, taken: Sequence[tuple[int, ...]]) -> int | None:
        if len(self.sources) != 1 or len(taken) > 1:
            return None
        starts = taken[0] if taken else (0,) * len(self._categories)
        return sum(_rows_from(*one) for one in zip(self._categories, starts, self._known, strict=True))

    def _newest_us(self) -> int | None:
        last = [
            category.commit(stop - 1).written_at_us
            for category, stop in zip(self._categories, self._known, strict=True)
            if stop > category.first_commit()
        ]
        return max(last, default=None)


def _rows_from(category: Category, start: int, stop: int) -> int:
    start = max(start, category.first_commit())
    return category.commit(stop - 1).next_row - category.commit(start).first_row if start < stop else 0


class StageReporter:
    """Reports for one stage that writes to a category."""

    def __init__(self, stage: BuiltStage, name: str, home: str, application: str) -> None:
        self.stage = stage
        self._home, self._name = home, name
        self._category: Category | None = None
        self._checkpoint = Checkpoint(home, application, stage.record)
        tables = stage.stage.inputs if isinstance(stage.stage, SlicerStage) else ()
        self._files = WaitingFiles(tables, self._checkpoint)
        self._inputs: LogInputs | None = None
        self._sure_us = steady_us()
        self._times = ReportTimes()
        now_us = _now_us()
        self._last = SourceReport(f"{application}.{stage.name}", application, "starting", 0, now_us, now_us)

    def look_and_tell(self, query: StreamingQuery | None) -> None:
        if query is None or not query.isActive:
            looked: SourceLook | None = SourceLook("starting" if query is None else "stopped")
        else:
            looked = self._look(query)
        if looked is not None:
            self._sure_us = steady_us()
        elif steady_us() - self._sure_us > UNSURE_US:
            looked = SourceLook("behind", self._files.now())
        if looked is not None:
            self.tell(looked)

    def tell(self, looked: SourceLook) -> None:
        if self._category is None:
            try:
                self._category = Category.open(self._home, self._name)
            except CategoryNotFound:
                return  # its query makes it
        looked_after = None if looked.looked_us is None else self._times.before(looked.looked_us)
        self._last = self._last.then(looked.state, _now_us(), looked.waiting, looked_after)
        write_report(self._category, self._last)
        self._times.written(self._last.looks, steady_us())

    def forget(self) -> None:
        """An old report says nothing about this run."""
        try:
            drop_report(Category.open(self._home, self._name), self._last.producer)
        except CategoryNotFound:
            return

    def _look(self, query: StreamingQuery) -> SourceLook | None:
        if self._inputs is None:
            self._inputs = LogInputs(upstreams(self.stage.rows), steady_us)
        if self._inputs.sources:
            return self._inputs.look(lambda: self._offsets(query), lambda: _asked(query))
        looked_us = steady_us()
        empty = _asked(query)
        if empty is None:
            return None
        if not empty:
            return SourceLook("behind", self._files.now())
        return SourceLook("empty", self._files.none()._replace(rows=0), looked_us)

    def _offsets(self, query: StreamingQuery) -> list[Any]:
        progress = query.lastProgress
        if progress is None:
            return offsets_done(self._checkpoint)
        return [_parsed(source.endOffset) for source in progress.sources if source.endOffset]


class SourceReports:
    """Reports for all stages of a run that write to a category, from a thread of its own: the thread that
    watches a run may wait for a query to start, or for the terminal."""

    def __init__(self, stages: Sequence[BuiltStage], home: str, application: str, queries: Queries) -> None:
        self._reporters = [
            StageReporter(stage, stage.output.category, home, application)
            for stage in stages
            if isinstance(stage.output, CategoryOutput | ScribeSink)
        ]
        self._queries = queries
        self._every_s = EVERY_REMOTE_S if "://" in home else EVERY_S
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dovetail-sources", daemon=True)

    def __enter__(self) -> SourceReports:
        """Before a query starts: a join would take a slicer without a report for one that never reports."""
        for reporter in self._reporters:
            self._try(partial(reporter.tell, SourceLook("starting")))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join(JOIN_S)
        for reporter in self._reporters:
            self._try(partial(reporter.tell, SourceLook("stopped")))

    def forget(self) -> None:
        """In place of reporting, where a run ends by itself: there no stream waits for another."""
        for reporter in self._reporters:
            self._try(reporter.forget)

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            for reporter in self._reporters:
                self._try(partial(self._look, reporter))

    def _look(self, reporter: StageReporter) -> None:
        reporter.look_and_tell(next(iter(self._queries(reporter.stage.name)), None))

    def _try(self, act: Callable[[], None]) -> None:
        """A report that fails is made again the next time. Meanwhile its stream does not count as idle. Calls
        into a JVM that is ending fail in many ways."""
        try:
            act()
        except Exception as error:
            logging.getLogger(__name__).debug("no report this time: %s", error)


def _parsed(offset: str) -> Any:
    """Those of other sources need not be JSON."""
    try:
        return json.loads(offset)
    except ValueError:
        return None


def _asked(query: StreamingQuery) -> bool | None:
    for _ in range(TRIES):
        found = found_empty(query.status)
        if found is not None:
            return found
        time.sleep(AGAIN_S)
    return None


def _now_us() -> int:
    return time.time_ns() // 1000
