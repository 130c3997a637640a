"""The folder of a table whose files are all that readers look at: files appear there whole, under names that
are used once, and small documents are replaced in one step.

Law: a move may be asked for again after any crash. A file that is where it belongs is left there.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dovetail.errors import HomeError, PlaceError, StateError, Unreachable
from dovetail.log.homes.filesystem import Store, open_store

_LOCATION = re.compile(r"([A-Za-z][\w+.-]*):(//[^/]*)?((?:/.*)?)", re.DOTALL)


def plain(location: str) -> str:
    """A location of Hadoop as pyarrow opens it: a path on this machine, or a URI. In locations nothing is
    escaped: `#` and `?` belong to the path, as a parser of URLs would not see it."""
    found = _LOCATION.fullmatch(location)
    if found is None:
        return os.path.abspath(location)
    scheme, host, path = found.groups()
    if scheme == "file":
        return os.path.normpath(path)
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}:{host or '//'}{path}".rstrip("/")


@dataclass(frozen=True)
class TableFolder:
    """`place`: the table, for errors. Paths are below the folder."""

    url: str
    place: str

    @property
    def is_local(self) -> bool:
        return "://" not in self.url

    def below(self, path: str) -> str:
        return posixpath.join(self.url, path)

    def require_writable(self) -> None:
        """Without a try: nothing may change. Elsewhere than on this machine, nobody can say."""
        if not self.is_local:
            return
        there = self.url
        while not os.path.lexists(there):
            there = os.path.dirname(there)
        if not os.path.isdir(there) or not os.access(there, os.W_OK):
            raise PlaceError(
                f"the folder of {self.place} cannot be written to",
                where=there,
                expected="a folder of yours, on this machine as on that of the metastore",
            )

    def is_empty(self) -> bool:
        with self._words():
            return not self._store.names("") and not self._store.folders("")

    def make(self, folder: str) -> None:
        with self._words():
            self._store.make_folder(folder)

    def names(self, folder: str) -> list[str]:
        with self._words():
            return self._store.names(folder)

    def read(self, path: str) -> bytes | None:
        with self._words():
            try:
                return self._store.read(path)
            except FileNotFoundError:
                return None

    def replace(self, path: str, data: bytes) -> None:
        with self._words():
            self._store.replace(path, data)

    @contextmanager
    def alone(self, path: str) -> Iterator[None]:
        """One process at a time, where the folder is on this machine."""
        if not self.is_local:
            yield
            return
        with self._words(), self._store.lock(path):
            yield

    def sync(self, paths: Iterable[str]) -> None:
        """What was written without care for a loss of power is on disk then. Object stores are."""
        if not self.is_local:
            return
        with self._words():
            folders = set()
            for path in paths:
                _sync(self.below(path), os.O_RDONLY)
                folders.add(posixpath.dirname(path))
            for folder in folders:
                _sync(self.below(folder), os.O_RDONLY | os.O_DIRECTORY)

    def move(self, moves: Iterable[tuple[str, str]]) -> None:
        """Give files their places. When this returns, they are there, also after a loss of power."""
        folders = set()
        for source, target in moves:
            folder = posixpath.dirname(target)
            if folder not in folders:
                self.make(folder)
                folders.add(folder)
            with self._words():
                moved = self._moved(source, target)
            if not moved:
                raise StateError(
                    f"a file of {self.place} is lost: its rows count, and it is neither where a task wrote "
                    "it nor where it belongs",
                    where=self.below(target),
                    expected=f"the file there, or {self.below(source)}",
                    hint="put it back; if its rows should be gone, put a Parquet file without rows there",
                )
        if self.is_local:
            with self._words():
                for folder in folders:
                    _sync(self.below(folder), os.O_RDONLY | os.O_DIRECTORY)

    def clear(self, folder: str) -> None:
        from pyarrow import fs

        with self._words():
            filesystem, path = self._filesystem(folder)
            if filesystem.get_file_info(path).type is fs.FileType.Directory:
                filesystem.delete_dir_contents(path)

    def _moved(self, source: str, target: str) -> bool:
        if self.is_local:
            try:
                os.rename(self.below(source), self.below(target))
            except FileNotFoundError:
                return os.path.exists(self.below(target))
            return True
        from pyarrow import fs

        filesystem, old = self._filesystem(source)
        new = self._filesystem(target)[1]
        there, here = (one.type is fs.FileType.File for one in filesystem.get_file_info([new, old]))
        # An object store copies, then deletes. A crash in between leaves both, and the copy is whole.
        if here and there:
            filesystem.delete_file(old)
        elif here:
            filesystem.move(old, new)
        return here or there

    @property
    def _store(self) -> Store:
        return open_store(self.url)

    def _filesystem(self, path: str) -> tuple[Any, str]:
        from pyarrow import fs

        if self.is_local:
            return fs.LocalFileSystem(), self.below(path)
        found, root = fs.FileSystem.from_uri(self.url)
        return found, posixpath.join(root, path)

    @contextmanager
    def _words(self) -> Iterator[None]:
        try:
            yield
        except (HomeError, OSError) as error:
            cause = error.__cause__ if isinstance(error, HomeError) else error
            text = " ".join(str(cause or error).split())[:300]
            kind = PlaceError if self.is_local else Unreachable
            raise kind(f"the files of {self.place} cannot be worked on: {text}", where=self.url) from None


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
