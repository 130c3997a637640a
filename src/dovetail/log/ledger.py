"""The commits of a category as this process knows them: columns that are read once and then only extended.

Law: what a ledger says of a commit is what the commit says; commits do not change, so nothing in it goes
stale. `covering` reads what is missing: checkpoints where many commits are, and the newest one by one.

So looking a row up costs a binary search, however many commits there are, and a step extends the ledger by
its new commits.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import CorruptFile
from dovetail.log import checkpoints, history
from dovetail.log.cache import LEDGERS
from dovetail.log.commit import PlacedSegment
from dovetail.log.table import COLUMNS, FIRST_ROW, PACKED, PLAIN, SEGMENTS, STORED, CommitTable, Int64s

if TYPE_CHECKING:
    from dovetail.log.category import Category

FAR = 64
"""With more commits than this to read, checkpoints are looked for first."""
_AT_ONCE = 1024
_SUMS = (STORED, PLAIN, SEGMENTS, PACKED)
_LOCK = threading.RLock()


class CommitLedger:
    """Commits `base..stop-1`. Of what adds up it keeps the sums before each commit, so that a range of any
    length is added up by two of them."""

    def __init__(self, base: int) -> None:
        self.base = base
        self._next_row: int | None = None
        self._columns = [_Growing() for _ in COLUMNS]
        for column in _SUMS:
            self._columns[column].extend(np.zeros(1, np.int64))
        self._segment_rows = _Growing()

    @property
    def stop(self) -> int:
        return self.base + self._columns[FIRST_ROW].size

    def extend(self, table: CommitTable) -> None:
        """By the commits that follow. ValueError if these do not."""
        if table.first != self.stop:
            raise ValueError(f"commit {table.first} does not follow commit {self.stop - 1}")
        first_row = int(table.columns[FIRST_ROW, 0])
        if self._next_row is not None and first_row != self._next_row:
            raise ValueError(f"the rows of commit {table.first} begin with {first_row}, not {self._next_row}")
        for number, column in enumerate(self._columns):
            values = table.columns[number]
            column.extend(np.cumsum(values) + column.values[-1] if number in _SUMS else values)
        self._segment_rows.extend(table.segment_rows)
        self._next_row = table.next_row

    def first_row(self, number: int) -> int:
        """Where a commit's rows begin; of `stop`, where those of the next one will."""
        if number == self.stop:
            return self._next_row or 0
        return int(self._columns[FIRST_ROW].values[number - self.base])

    def between(self, column: int, start: int, stop: int) -> int:
        """The sum of a column over commits `start..stop-1`."""
        sums = self._columns[column].values
        return int(sums[stop - self.base] - sums[start - self.base])

    def segments(self, start: int, stop: int) -> tuple[Int64s, Int64s]:
        """The first rows of the segments of commits `start..stop-1`, and for each of the commits and for
        `stop` how many segments came before it."""
        before = self._columns[SEGMENTS].values[start - self.base : stop - self.base + 1]
        return self._segment_rows.values[int(before[0]) : int(before[-1])], before

    def first_from(self, column: int, least: int, start: int, stop: int) -> int:
        """The first commit from `start` on that has at least that in a column, `stop` if none has. It is
        mostly among the first ones, so these are looked at first."""
        values, at, size = self._columns[column].values, start - self.base, 64
        end = stop - self.base
        while at < end:
            found = values[at : min(at + size, end)] >= least
            if found.any():
                return self.base + at + int(found.argmax())
            at, size = at + size, size * 4
        return stop

    def all_from(self, column: int, least: int, start: int, stop: int) -> Int64s:
        """The numbers of all commits `start..stop-1` that have at least that in a column."""
        values = self._columns[column].values[start - self.base : stop - self.base]
        return start + np.flatnonzero(values >= least)

    def rows_of(self, numbers: Int64s) -> Int64s:
        """How many rows each of these commits has."""
        first = np.append(self._columns[FIRST_ROW].values, self._next_row or 0)
        at = numbers - self.base
        rows: Int64s = first[at + 1] - first[at]
        return rows

    def first_holding(self, column: int, most: int, start: int, stop: int) -> int:
        """The first commit from `start` on from which those before `stop` add up to at most that in a
        column; `stop` if none does."""
        sums = self._columns[column].values
        least = int(sums[stop - self.base]) - most
        at = np.searchsorted(sums[start - self.base : stop - self.base + 1], least, side="left")
        return start + min(int(at), stop - start)

    def ends_after(self, row: int, start: int, stop: int) -> int:
        """The first commit from `start` on whose rows, or those of one after it, go beyond `row`."""
        if start >= stop or row >= self.first_row(stop):
            return max(start, stop)
        ends = self._columns[FIRST_ROW].values[start + 1 - self.base : stop - self.base]
        return start + int(np.searchsorted(ends, row, side="right"))


class CommitRange:
    """The segments of commits `start..stop-1`, by number from 0; their documents are read when asked for."""

    def __init__(self, category: Category, ledger: CommitLedger, start: int, stop: int) -> None:
        self._category, self._start = category, start
        self.segment_rows, self._before = ledger.segments(start, stop)
        self.first_row, self.next_row = ledger.first_row(start), ledger.first_row(stop)
        self.packed = ledger.between(PACKED, start, stop) > 0
        self.row_bytes = ledger.between(PLAIN, start, stop) / max(1, self.next_row - self.first_row)

    def infos(self, segments: Sequence[int]) -> list[PlacedSegment]:
        """What the commits say of these segments."""
        wanted = np.asarray(segments, np.int64) + int(self._before[0])
        at = np.searchsorted(self._before, wanted, side="right") - 1
        numbers, places = (self._start + at).tolist(), (wanted - self._before[at]).tolist()
        found = history.picked(self._category, numbers)
        return [found[number].segments[place] for number, place in zip(numbers, places, strict=True)]


def covering(category: Category, start: int, stop: int) -> CommitLedger:
    """The ledger of a category, with at least commits `start..stop-1`."""
    with _LOCK:
        known = LEDGERS.get(category.id)
        if known is None or start < known.base:
            known = CommitLedger(start)
        if known.stop < stop:
            known = _extended(category, known, start, stop)
        LEDGERS.put(category.id, known)
    if start < stop and start < (first := history.bounds(category).first):
        raise history.truncated(category, start, first)
    return known


def commit_range(category: Category, start: int, stop: int) -> CommitRange:
    if start >= stop:
        return CommitRange(category, CommitLedger(start), start, start)
    if stop - start <= FAR and not _knows(category, start):
        return CommitRange(category, _apart(category, start, stop), start, stop)
    return CommitRange(category, covering(category, start, stop), start, stop)


def _knows(category: Category, start: int) -> bool:
    known = LEDGERS.get(category.id)
    return known is not None and known.base <= start <= known.stop


def _apart(category: Category, start: int, stop: int) -> CommitLedger:
    """A short range that is asked for alone: it needs no ledger of all that came after it."""
    made = CommitLedger(start)
    made.extend(CommitTable.of(history.commits(category, start, stop)))
    return made


def _extended(category: Category, known: CommitLedger, start: int, stop: int) -> CommitLedger:
    first = history.bounds(category).first
    if first > known.stop or first - known.base > max(_AT_ONCE, (known.stop - known.base) // 2):
        known = _without(known, max(known.base, min(first, start, known.stop)))
        if first > known.stop:
            known = CommitLedger(start)
    if stop - known.stop > FAR:
        for table in checkpoints.tables_from(category, known.stop):
            try:
                known.extend(table)
            except ValueError:
                break  # the commits decide
    while known.stop < stop:
        commits = history.commits(category, known.stop, min(stop, known.stop + _AT_ONCE))
        try:
            known.extend(CommitTable.of(commits))
        except ValueError as error:
            raise CorruptFile(
                str(error),
                where=f"{category.store.root}/{history.commit_path(category, commits[0].number)}",
                hint="restore the file, or the one before it, from a copy",
            ) from error
    return known


def _without(known: CommitLedger, first: int) -> CommitLedger:
    """The ledger from commit `first` on: the commits before it are gone for good."""
    if first >= known.stop:
        return CommitLedger(first)
    made = CommitLedger(first)
    at, columns = first - known.base, []
    for number, column in enumerate(known._columns):
        columns.append(np.diff(column.values[at:]) if number in _SUMS else column.values[at:])
    rows, _ = known.segments(first, known.stop)
    made.extend(CommitTable(first, known.first_row(known.stop), np.stack(columns), rows))
    return made


class _Growing:
    """Numbers at the end of which more are put. What was given out stays as it was."""

    def __init__(self) -> None:
        self._room = np.empty(256, np.int64)
        self.size = 0

    @property
    def values(self) -> Int64s:
        return self._room[: self.size]

    def extend(self, more: Int64s) -> None:
        size = self.size + len(more)
        if size > len(self._room):
            room = np.empty(max(size, self.size * 5 // 4 + 1024), np.int64)
            room[: self.size] = self.values
            self._room = room
        self._room[self.size : size] = more
        self.size = size
