"""A table of a lake as an intake.

    look    ask now and then what versions have been added
    take    some files of the next version, with the position behind them, for one commit

Law: every row that was appended to the table from the start on is in the category once. A version that
deletes or replaces rows does not fit a stream of appended rows: depending on the query, it stops the run, or
is skipped and named in the commit.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import pyarrow as pa

from dovetail.connectors.lake import Lake, LakeFile
from dovetail.errors import InputError, Unreachable
from dovetail.lakes.covered_versions import CoveredVersions, covered
from dovetail.log.category import Category
from dovetail.log.source_progress import Waiting
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.intake import Part
from dovetail.slicing.placement import Placement
from dovetail.slicing.sides import Written, write_rows

BATCH_BYTES, BATCH_FILES = 32 << 20, 200
"""What a commit covers at most, unless a single file is larger."""
ASK_EVERY_S = 1.0
PATIENCE_S = 120.0
"""How long a run that ends by itself waits for the table."""


@dataclass(frozen=True)
class LakeReading:
    """`start`: earliest, latest or a version, which is read too."""

    start: str = "earliest"
    skips: bool = False  # versions that change rows
    finite: bool = False  # up to what is there at the first look


@dataclass
class _Version:
    """Files that wait: those of a version, from number `done` on."""

    number: int | None
    files: Sequence[LakeFile]
    done: int = 0
    whole: bool = False
    skipped: tuple[int, ...] = ()


class LakeIntake:
    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        lake: Lake,
        reading: LakeReading,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._category, self._slicer, self._lake, self._reading = category, slicer, lake, reading
        self._clock = clock
        schema = category.schema
        time_column = next((one.name for one in schema if pa.types.is_timestamp(one.type)), None)
        self._placement = Placement(None, time_column)
        self._covered = covered(category, slicer.producer, slicer.place)
        self.next_batch = category.last_batch(slicer.producer) + 1
        self._queue: deque[_Version] = deque()
        self._id: str | None = None
        self._begun = False  # the first look has found what there was
        self._queued: int | None = None  # the newest version that waits or is in the log
        self._taken: CoveredVersions | None = None
        self._refused: InputError | None = None  # to be raised when all before it is in the log
        self._trouble: str | None = None
        self._put_off = False  # the part that was taken last is to be taken again
        self._asked_s, self._reached_s = -ASK_EVERY_S, clock()
        self._looked_s = clock()  # when it was asked what was answered last
        self._newest_us: int | None = None

    @property
    def settled_us(self) -> int | None:
        known = self._trouble is None and self._id is not None and not self._queue
        return int(self._looked_s * 1e6) if known else None

    @property
    def exhausted(self) -> bool:
        return self._begun and not self._queue and self._refused is None

    def look(self) -> bool:
        if self._refused is not None and not self._queue:
            raise self._refused
        again = self._refused is None and (not self._begun or not self._reading.finite)
        if (again or self._trouble is not None) and self._clock() - self._asked_s >= ASK_EVERY_S:
            began_s = self._clock()
            try:
                if again:
                    self._ask()
                    self._begun, self._looked_s = True, began_s
                self._trouble = None
                if not self._put_off:  # else its files have not answered yet
                    self._reached_s = self._clock()
            except Unreachable as error:
                self._wait_for_it(error)
            self._asked_s = self._clock()
            if self._refused is not None and not self._queue:
                raise self._refused
        return self.more()

    def more(self) -> bool:
        return bool(self._queue) and self._trouble is None

    def take(self) -> Part:
        version = self._queue[0]
        size = count = 0
        for file in version.files[version.done : version.done + BATCH_FILES]:
            size += file.bytes
            if count and size > BATCH_BYTES:
                break
            count += 1
        files = version.files[version.done : version.done + count]
        done = version.done + count
        assert self._id is not None
        all_of_it = done == len(version.files)
        now = CoveredVersions(
            self._id,
            version.number,
            None if all_of_it else done,
            version.whole and not all_of_it,
            version.skipped,
            self._slicer.place,
        )
        self._taken = now
        return Part(now.to_json(), lambda threads: self._write(files, threads), put_off=self._file_is_away)

    def appended(self, part: Part) -> None:
        self.next_batch += 1
        self._put_off, self._reached_s = False, self._clock()
        self._covered = self._taken
        assert self._covered is not None
        if self._covered.files is None:
            self._queue.popleft()
        else:
            self._queue[0].done = self._covered.files

    def waiting(self) -> Waiting:
        files = [file for version in list(self._queue) for file in version.files[version.done :]]
        rows = 0 if not files and self._id is not None else None
        return Waiting(len(files), sum(file.bytes for file in files), rows, self._newest_us, self._trouble)

    def rest(self) -> None:
        """Nothing to keep."""

    def close(self) -> None:
        """Nothing to keep."""

    def _ask(self) -> None:
        about = self._lake.about()
        known = self._id or (self._covered.id if self._covered else None)
        if known is not None and known != about.id:
            raise InputError(
                f"{self._lake.place} is not the one that was read before: it was dropped and made again",
                where=self._lake.place,
                expected=f"the table with the id {known}, not {about.id}",
                hint="declare the new table as an input table of another name, and read both",
            )
        if self._id is None:
            self._begin(about.version)
            self._id = about.id
        if about.version is not None and about.version != self._queued:
            self._follow()
        if self._queue:
            self._newest_us = time.time_ns() // 1000

    def _begin(self, newest: int | None) -> None:
        """Where the log says, or at the start that was asked for."""
        at = self._covered
        if at is not None:
            self._queued = at.version
            if at.files is not None:
                assert at.version is not None
                self._queue.append(self._rest_of(at, at.version, at.files))
            return
        match self._reading.start:
            case "earliest":
                files = () if newest is None else self._lake.whole(newest)
                self._queue.append(_Version(newest, files, whole=True))
                self._queued = newest
            case "latest":
                self._queue.append(_Version(newest, ()))
                self._queued = newest
            case number:
                self._queued = self._lake.before(int(number))

    def _rest_of(self, at: CoveredVersions, version: int, done: int) -> _Version:
        if at.whole:
            return _Version(version, self._lake.whole(version), done, True, at.skipped)
        return _Version(version, self._lake.added(version).files, done, False, at.skipped)

    def _follow(self) -> None:
        skipped: tuple[int, ...] = ()
        for change in self._lake.changes(self._queued):
            if change.kind == "change" and not self._reading.skips:
                self._refused = InputError(
                    f"version {change.version} of {self._lake.place} changes rows that were there "
                    f"({change.operation or 'it removes files'}), and a stream has appended rows only",
                    where=self._lake.place,
                    expected="versions that append",
                    hint='on_change = "skip" passes such versions over; or look rows up in the table as it '
                    "is: CREATE LOOKUP TABLE",
                )
                return
            if change.kind == "change":
                skipped = (*skipped, change.version)
            self._queued = change.version
            if change.files:
                self._queue.append(_Version(change.version, change.files, skipped=skipped))
                skipped = ()
        if skipped:
            self._queue.append(_Version(self._queued, (), skipped=skipped))

    def _file_is_away(self, error: Unreachable) -> None:
        self._put_off, self._asked_s = True, self._clock()
        self._wait_for_it(error)

    def _wait_for_it(self, error: Unreachable) -> None:
        self._trouble = f"waiting for {self._lake.place}: {error.what}"
        if self._reading.finite and self._clock() - self._reached_s > PATIENCE_S:
            raise InputError(
                f"{self._trouble}",
                where=self._lake.place,
                expected=f"an answer within {PATIENCE_S:.0f} s, for a run that ends by itself",
                hint="start the run again when the table is back; nothing is lost",
            )

    def _write(self, files: Sequence[LakeFile], threads: Executor) -> list[Written]:
        if len(files) <= 1:
            return [self._slice(file) for file in files]
        return list(threads.map(self._slice, files))

    def _slice(self, file: LakeFile) -> Written:
        schema = self._category.schema
        rows = self._lake.read(file, schema.names)
        columns = [self._column(rows, field, file) for field in schema]
        made = pa.table(columns, schema=schema)
        return write_rows(self._category, made.combine_chunks().to_batches(), self._placement)

    def _column(self, rows: pa.Table, field: pa.Field, file: LakeFile) -> pa.Array:
        """A column that the file lacks is null; one of a narrower type is widened."""
        if field.name not in rows.schema.names:
            return pa.nulls(rows.num_rows, field.type)
        try:
            return rows.column(field.name).cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"column {field.name} cannot be read as {field.type}: {' '.join(str(error).split())[:160]}",
                where=f"{self._lake.place}, {file.path}",
                hint="correct the type in CREATE INPUT TABLE",
            ) from None
