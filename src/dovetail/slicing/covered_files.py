"""Which files of a folder are in a category: what its commits say, and a checkpoint of what old ones said.

Law: a file is covered if and only if a commit with its rows exists. So a writer that dies anywhere reads
each file once: there is no second record that could disagree with the log.

    commits      ... 40        41        42          each names the files whose rows it has
    checkpoint   files of commits below 41           so that a start does not read all commits

The checkpoint is `apps/<application>/slicers/<stage>.json`. It is written now and then, and may be behind.
The commits that it lacks are kept for it: the slicer is a reader of its own category, from the first of
them on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.errors import CorruptFile, StateError
from dovetail.log import document
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model import json_values as said
from dovetail.slicing.covered_commits import READING, of_source, saying

KIND, VERSION = "dovetail.covered_files", 1
SAVE_EVERY = 100
"""Batches between two checkpoints."""
_REMEDY = (
    "restore it from a copy of the home; without it, it is not known which input files were read, and the "
    "application has to start in a new home"
)


@dataclass(frozen=True)
class Slicer:
    """Whose record it is: a stage of an application that appends the files at a place, or the commits of a
    category, to a category. `reading`: how many such sources it has had."""

    application: str
    stage: str
    place: str
    reading: int = 1

    @property
    def producer(self) -> str:
        return f"{self.application}.{self.stage}"

    @property
    def path(self) -> str:
        reading = "" if self.reading == 1 else f"@{self.reading}"
        return f"apps/{self.application}/slicers/{self.stage}{reading}.json"

    @property
    def reader(self) -> str:
        return f"{self.producer}.files"

    def covering(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """What a commit says of the part of the source that it has."""
        return {**what, READING: self.reading} if self.reading > 1 else dict(what)

    def covered_in(self, commit: Commit | None) -> dict[str, Any] | None:
        """What a commit says of this source; None if it says nothing, or was made from another one."""
        if commit is None or commit.producer != self.producer or commit.covers is None:
            return None
        return of_source(commit.covers) if commit.covers.get(READING, 1) == self.reading else None


class CoveredFiles:
    """The record of one slicer, as it is. `files` are those that are covered, `next_batch` is the number of
    the batch that is appended next."""

    def __init__(self, category: Category, slicer: Slicer) -> None:
        self.category = self._category = category
        self._slicer = slicer
        self.files: set[str] = set()
        self._from_commit, self._saved_batch = category.first_commit(), -1
        self._checkpointed = 0  # the commit up to which the checkpoint has files
        self._known = self._read_checkpoint()
        stop = category.next_commit()
        tail = category.commit(stop - 1) if stop else None
        last = (tail.producers if tail else {}).get(slicer.producer, -1)
        self.next_batch = max(self._saved_batch, last) + 1
        if last > self._saved_batch:
            self._require_commits()
            self._read_commits(stop)
        self._from_commit = stop

    def begin(self, before: Callable[[], Iterable[str]]) -> None:
        """Keep the record from now on. `before`: the files of batches that were appended without saying what
        they cover."""
        if not self._known:
            self.files.update(before())
            self._write()  # from now on the application has something to lose
        self.save()
        self._hold()

    def covers(self, files: Iterable[str]) -> dict[str, Any]:
        """For the commit of a batch: the files whose rows it has."""
        return self._slicer.covering({"files": [self._short(file) for file in files]})

    def appended(self, files: Iterable[str]) -> None:
        """A batch of these files is in the log."""
        self.files.update(files)
        self.next_batch += 1
        if self.next_batch - self._saved_batch > SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the checkpoint; then the commits below it are needed no longer."""
        if self.next_batch - 1 == self._saved_batch:
            return  # nothing is new
        self._write()
        self._hold()

    def _write(self) -> None:
        self._from_commit = self._category.next_commit(self._from_commit)
        body = {
            "category": self._category.id,
            "producer": self._slicer.producer,
            "place": self._slicer.place,
            "batch": self.next_batch - 1,
            "commit": self._from_commit,
            "files": sorted(self._short(file) for file in self.files),
        }
        store = self._category.store
        store.make_folder(os.path.dirname(self._slicer.path))
        store.replace(self._slicer.path, document.encode(KIND, VERSION, body))
        self._saved_batch = self.next_batch - 1

    def _hold(self) -> None:
        """Keep the commits that the checkpoint lacks."""
        slicer = self._slicer
        self._category.set_reader(slicer.reader, self._from_commit, application=slicer.application)

    def forget_others(self, known: set[str]) -> None:
        """Files that have been gone for long are not kept in mind for ever."""
        self.files &= known

    def _read_checkpoint(self) -> bool:
        """Whether there is one."""
        store, where = self._category.store, f"{self._category.store.root}/{self._slicer.path}"
        try:
            data = store.read(self._slicer.path)
        except FileNotFoundError:
            return False
        body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
        try:
            said.fields(body, ["category", "producer", "place", "batch", "commit", "files"])
            if body["category"] != self._category.id:
                return False  # of an older category of this name
            if body["producer"] != self._slicer.producer:
                raise ValueError(f"it is that of {body['producer']}")
            self._saved_batch = said.whole(body["batch"], -1)
            self._checkpointed = said.whole(body["commit"])
            self._from_commit = max(self._from_commit, self._checkpointed)
            self.files.update(self._long(said.text(file)) for file in said.items(body["files"]))
        except ValueError as error:
            what = f"the file does not say which input files were read: {error}"
            raise CorruptFile(what, where=where, hint=_REMEDY) from error
        return True

    def _require_commits(self) -> None:
        """Those after the checkpoint are all there: without one of them its files would be read again."""
        first = self._category.first_commit()
        if self._known and first > self._checkpointed:
            raise StateError(
                f"commits {self._checkpointed} to {first - 1}, which name the input files read, are gone",
                where=self._category.where,
                expected="what was committed since the last checkpoint of the slicer",
                hint="something else than retention has removed them: restore them from a copy, "
                "or start the application in a new home",
            )

    def _read_commits(self, stop: int) -> None:
        for commit in self._category.commits(self._from_commit, stop):
            if (covers := self._slicer.covered_in(commit)) is not None:
                self.files.update(map(self._long, files_in(covers, self._category, commit.number)))

    def _short(self, file: str) -> str:
        """Below the place, where most are."""
        folder = os.path.join(self._slicer.place, "")
        return file.removeprefix(folder)

    def _long(self, file: str) -> str:
        return file if os.path.isabs(file) else os.path.join(self._slicer.place, file)


def recorded_place(category: Category, slicer: Slicer) -> str:
    """Where the files are that a slicer has a record of."""
    store, where = category.store, f"{category.store.root}/{slicer.path}"
    try:
        data = store.read(slicer.path)
    except FileNotFoundError:
        raise StateError(
            "the record of the input files that were read is gone", where=where, hint=_REMEDY
        ) from None
    body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        return said.text(body.get("place"))
    except ValueError as error:
        raise CorruptFile(f"the file does not say where its files are: {error}", where=where) from error


def files_in(covers: Mapping[str, Any], category: Category, number: int) -> list[str]:
    """The files that a commit says it has."""
    with saying(category, number, "which files it covers", _REMEDY):
        return [said.text(file) for file in said.items(said.fields(of_source(covers), ["files"])["files"])]
