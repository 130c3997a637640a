"""New files of a folder, found within milliseconds of their arrival.

Law: every data file that is in the folder, and was not among those already read, is found once. A file that
is written under a hidden name and renamed is found whole.

A folder's modification time changes when a name appears in it. So a look costs one call for each folder,
and only those that have changed are listed. The time is that of the kernel's clock, which ticks some
hundred times per second: a name may appear after a listing and in the same tick. Therefore a folder counts
as unchanged only if its time was well past when it was listed. On a filesystem that keeps no such times, or
does not see changes that are made elsewhere, everything is listed again every few seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dovetail.slicing.input_files import is_hidden

SETTLED_NS = 100_000_000
LIST_AGAIN_S = 5.0
FORGET_S = 3600.0
"""A file that has been gone for so long is forgotten: what then comes under its name is another file."""


class FoundFile(NamedTuple):
    path: str
    bytes: int
    modified_ns: int


class FolderTail:
    """The files at or below a place: a folder, or a single file."""

    def __init__(self, place: str, done: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.place = place
        self._clock = clock
        self._known = set(done)  # read, or handed out
        self._settled: dict[str, int] = {}  # folders that need not be listed: their modification time
        self._folders: dict[str, set[str]] = {}  # every folder that was listed, with the folders in it
        self._missing: dict[str, float] = {}  # known files that were not there when everything was listed
        self._all_listed_s = -LIST_AGAIN_S

    @property
    def known(self) -> set[str]:
        """The files that need not be read: they have been, or were handed out to be."""
        return self._known

    def look(self) -> list[FoundFile]:
        """The files that are new since the last look, in the order they came."""
        whole = self._clock() - self._all_listed_s >= LIST_AGAIN_S
        if whole:
            self._settled.clear()
            self._folders.clear()  # all that are there are listed now
            self._all_listed_s = self._clock()
        there: set[str] = set()
        found = [file for file in self._files(there) if file.path not in self._known]
        self._known.update(file.path for file in found)
        if whole:
            self._forget(there)
        return sorted(found, key=lambda file: (file.modified_ns, file.path))

    def _files(self, there: set[str]) -> Iterator[FoundFile]:
        """Those in the folders that have changed. `there` takes every file that was seen."""
        folders = [self.place]
        while folders:
            folder = folders.pop()
            try:
                modified_ns = os.stat(folder).st_mtime_ns
                if self._settled.get(folder) == modified_ns:
                    folders += self._folders[folder]
                    continue
                listed_ns = time.time_ns()
                inner = self._folders[folder] = set()
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if is_hidden(entry.name):
                            continue
                        if entry.is_dir():
                            inner.add(entry.path)
                        else:
                            there.add(entry.path)
                            if entry.path not in self._known:
                                stat = entry.stat()
                                yield FoundFile(entry.path, stat.st_size, stat.st_mtime_ns)
                folders += inner
                if listed_ns - modified_ns > SETTLED_NS:
                    self._settled[folder] = modified_ns
            except NotADirectoryError:
                stat = os.stat(folder)
                there.add(folder)
                yield FoundFile(folder, stat.st_size, stat.st_mtime_ns)
            except FileNotFoundError:
                self._settled.pop(folder, None)  # it went, or a file in it did; the next look lists it again

    def _forget(self, there: set[str]) -> None:
        """A place that is not mounted has no files either: while none of the known ones is there, nothing is
        forgotten, or all of them would be read again."""
        now_s = self._clock()
        if self._known.isdisjoint(there):
            return
        self._missing = {path: self._missing.get(path, now_s) for path in self._known - there}
        gone = [path for path, since_s in self._missing.items() if now_s - since_s > FORGET_S]
        self._known.difference_update(gone)
