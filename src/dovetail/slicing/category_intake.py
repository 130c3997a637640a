"""The commits of a category as an intake.

A commit of the slicer's own category says up to which commit of the source it has read. So there is no record
beside the log. A mark in the source keeps its retention from passing that commit; it moves now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Protocol

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.log.commit import PlacedSegment
from dovetail.log.report_times import steady_us
from dovetail.log.source_progress import Waiting
from dovetail.model.promise import Promise
from dovetail.slicing.covered_commits import commit_in, last_of
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.intake import SHARED_ROWS, Part
from dovetail.slicing.sides import Written

BATCH_ROWS = 500_000
"""The most that a commit covers, unless a single commit of the source is larger."""
MARK_EVERY_S, RENEW_S = 1.0, 3600.0
"""How often the mark in the source moves: that is a write of its own."""


class Slicing(Protocol):
    """Turns rows of the source into rows of the category."""

    def write_tables(self, tables: Iterable[pa.Table]) -> Written: ...


class CategoryIntake:
    """`before`: the first commit of the source that is not in the category, where no commit says so: a
    query of Spark has written them. `promise_of`: what holds once the source is read up to a commit.
    `quiet`: since when the source's own writers have nothing to come, by the steady clock, or None; asked
    before its commits are listed."""

    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        slice_: Slicing,
        *,
        before: Callable[[], int | None] = lambda: None,
        promise_of: Callable[[int], Promise | None] = lambda commit: None,
        quiet: Callable[[], int | None] = steady_us,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._category, self._slicer, self._slice = category, slicer, slice_
        self._source = Category.open(category.home, slicer.place)
        self._promise_of, self._quiet, self._clock = promise_of, quiet, clock
        self.settled_us: int | None = None
        self.next_batch = category.last_batch(slicer.producer) + 1
        last = last_of(category, slicer.producer) if self.next_batch else None
        covers = slicer.covered_in(last)
        known = None if last is None or covers is None else commit_in(covers, category, last.number)[1]
        read_to = before() if known is None else known
        self._next = self._source.first_commit() if read_to is None else read_to
        self._taken, self._known = self._next, self._next
        self._marked, self._marked_s = -1, -MARK_EVERY_S
        self._mark()

    def look(self) -> bool:
        self.settled_us = self._quiet()
        self._known = self._source.next_commit(self._known)
        return self.more()

    @property
    def exhausted(self) -> bool:
        return not self.more()

    def more(self) -> bool:
        return self._known > self._next

    def take(self) -> Part:
        rows, end = 0, self._next
        while end < self._known and (rows == 0 or rows + self._source.commit(end).rows <= BATCH_ROWS):
            rows += self._source.commit(end).rows
            end += 1
        segments = [
            segment for commit in self._source.commits(self._next, end) for segment in commit.segments
        ]
        self._taken = end
        covers = self._slicer.covering({"category": self._source.name, "commit": end})
        return Part(covers, lambda threads: self._write(segments, threads), self._promise_of(end))

    def appended(self, part: Part) -> None:
        self.next_batch += 1
        self._next = self._taken
        self._mark()

    def waiting(self) -> Waiting:
        newest = self._source.commit(self._known - 1) if self._known > self._source.first_commit() else None
        rows = 0
        if newest is not None and self._known > self._next:
            rows = newest.next_row - self._source.commit(self._next).first_row
        return Waiting(rows=rows, newest_us=newest.written_at_us if newest else None)

    def rest(self) -> None:
        if self._marked != self._next or self._clock() - self._marked_s > RENEW_S:
            self._mark()

    def close(self) -> None:
        self._marked_s = -MARK_EVERY_S
        self._mark()

    def _mark(self) -> None:
        now_s = self._clock()
        if now_s - self._marked_s >= MARK_EVERY_S:
            self._source.set_reader(self._slicer.producer, self._next, application=self._slicer.application)
            self._marked, self._marked_s = self._next, now_s

    def _write(self, segments: list[PlacedSegment], threads: Executor) -> list[Written]:
        if sum(segment.rows for segment in segments) <= SHARED_ROWS:
            return [self._slice.write_tables(map(self._table, segments))] if segments else []
        return list(threads.map(lambda one: self._slice.write_tables([self._table(one)]), segments))

    def _table(self, segment: PlacedSegment) -> pa.Table:
        return pa.Table.from_batches([self._source.open_segment(segment).batch])
