"""Files that appear in a folder, as an intake: which are new, and what became of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor

from dovetail.log.category import Category
from dovetail.log.report_times import steady_us
from dovetail.log.source_progress import Waiting
from dovetail.slicing.covered_files import CoveredFiles, Slicer
from dovetail.slicing.file_form import FileForm, dealt
from dovetail.slicing.folder_tail import FolderTail, FoundFile
from dovetail.slicing.intake import SHARED_ROWS, Part
from dovetail.slicing.sides import Written
from dovetail.slicing.vanished_files import record_vanished, vanished

BATCH_BYTES = 32 << 20
BATCH_FILES = 200
"""What a commit covers at most, unless a single file is larger: the join starts while the rest is read."""
THREADS = os.cpu_count() or 1
KEEP_EVERY_S = 10.0
"""How often a slicer without input brings its checkpoint up to date."""


class FolderIntake:
    """`gone`: the category of the names of files that were gone before they were read. `before`: see
    `CoveredFiles.begin`."""

    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        form: Callable[[CoveredFiles], FileForm],
        gone: str,
        *,
        before: Callable[[], Iterable[str]] = tuple,
        max_files: int = BATCH_FILES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._category, self._slicer = category, slicer
        self._gone, self._max_files = gone, max_files
        self._covered = CoveredFiles(category, slicer)
        self._covered.begin(before)
        self._form = form(self._covered)
        self._tail = FolderTail(slicer.place, self._covered.files)
        self._waiting: list[FoundFile] = []
        self._taken: list[FoundFile] = []
        self._newest_us: int | None = None
        self.settled_us: int | None = None  # who writes files does not say what is to come: any look will do
        self._clock = clock
        self._kept_s = clock()

    @property
    def next_batch(self) -> int:
        return self._covered.next_batch

    def look(self) -> bool:
        self.settled_us = steady_us()
        self._waiting += self._tail.look()
        self._newest_us = max((file.modified_ns // 1000 for file in self._waiting), default=self._newest_us)
        return self.more()

    @property
    def exhausted(self) -> bool:
        return not self.more()

    def more(self) -> bool:
        return bool(self._waiting)

    def take(self) -> Part:
        size = count = 0
        for file in self._waiting[: self._max_files]:
            size += file.bytes
            if count and size > BATCH_BYTES:
                break
            count += 1
        self._taken = self._waiting[:count]
        del self._waiting[:count]
        return Part(self._covered.covers(file.path for file in self._taken), self._write)

    def appended(self, part: Part) -> None:
        self._covered.appended(file.path for file in self._taken)
        self._taken = []

    def waiting(self) -> Waiting:
        found = [*self._taken, *self._waiting]
        rows = None if found else 0
        return Waiting(len(found), sum(file.bytes for file in found), rows, self._newest_us)

    def rest(self) -> None:
        if self._clock() - self._kept_s > KEEP_EVERY_S:
            self._kept_s = self._clock()
            self.close()

    def close(self) -> None:
        self._covered.forget_others(self._tail.known)
        self._covered.save()

    def _write(self, threads: Executor) -> list[Written]:
        paths = [file.path for file in self._taken]
        gone = vanished(paths)
        there = [path for path in paths if path not in gone]
        pieces = self._form.pieces(there)
        if sum(piece.rows for piece in pieces) <= SHARED_ROWS:
            written = [self._form.write(pieces)] if pieces else []
        else:
            written = list(threads.map(self._form.write, dealt(pieces, THREADS)))
        written += self._form.settle(self.next_batch)
        record_vanished(
            self._category.home, self._gone, gone, f"{self._slicer.producer}.vanished", self.next_batch
        )
        return written
