"""A home on any other filesystem that pyarrow opens by URI.

An object store publishes an object whole when it is closed, so files are written directly; elsewhere they
are moved into place. pyarrow does not offer "create unless it exists". On S3 `conditional.py` does, where the
store can: there a commit is never overwritten, and a lock is a claim that one process could create
(`claims.py`). Elsewhere a category has **one writer**, and one process trims it. `lease.py` keeps runs of an
application apart. Readers are free.
"""

from __future__ import annotations

import contextlib
import functools
import posixpath
import uuid
from collections.abc import Callable, Hashable, Iterator

import pyarrow as pa
from pyarrow import fs

from dovetail.crash_points import file_crash_point
from dovetail.errors import HomeError
from dovetail.log.homes.claims import Claims
from dovetail.log.homes.conditional import ConditionalPut, conditional_put
from dovetail.log.homes.filesystem import TEMPORARY, Entry, Output, Write

_OBJECT_STORES = {"s3", "gcs", "abfs"}


class RemoteStore:
    local = False
    message_bytes: int | None = None

    def __init__(self, home: str, root: str, filesystem: fs.FileSystem, folder: str) -> None:
        self.root = root
        self._home = home
        self._filesystem = filesystem
        self._folder = folder
        self._made: set[str] = set()
        self._guards: list[Callable[[], None]] = []
        self._claims = Claims(self)

    @functools.cached_property
    def conditional(self) -> ConditionalPut | None:
        """How objects are created once, where the store can do that. Found out when the first is created."""
        return conditional_put(self._home, self.root, self._folder, getattr(self._filesystem, "region", None))

    @property
    def locks(self) -> bool:
        return self.conditional is not None

    @contextlib.contextmanager
    def guarded(self, check: Callable[[], None]) -> Iterator[None]:
        """While this is held, `check` may forbid to create files."""
        self._guards.append(check)
        try:
            yield
        finally:
            self._guards.remove(check)

    def _path(self, path: str) -> str:
        return posixpath.join(self._folder, path)

    def read(self, path: str) -> bytes:
        return self.buffer(path).to_pybytes()  # type: ignore[no-any-return]

    def buffer(self, path: str, start: int = 0, size: int | None = None) -> pa.Buffer:
        with self._trouble("read", path), self._filesystem.open_input_file(self._path(path)) as file:
            if start == 0 and size is None:
                return file.read_buffer()
            left = max(0, file.size() - start)
            return pa.py_buffer(file.read_at(left if size is None else min(size, left), start))

    def pieces(self, path: str, start: int = 0, size: int | None = None) -> list[pa.Buffer]:
        return [self.buffer(path, start, size)]

    def size(self, path: str) -> int | None:
        with self._trouble("read", path):
            info = self._filesystem.get_file_info(self._path(path))
        return info.size if info.type == fs.FileType.File else None

    def stamp(self, path: str) -> Hashable:
        """A small object is read as quickly as it is asked about."""
        return None

    def files(self, folder: str) -> list[Entry]:
        return [
            Entry(info.base_name, info.size, (info.mtime_ns or 0) / 1e9)
            for info in self._list(folder)
            if info.type == fs.FileType.File
        ]

    def names(self, folder: str) -> list[str]:
        return [entry.name for entry in self.files(folder)]

    def folders(self, folder: str) -> list[str]:
        return [info.base_name for info in self._list(folder) if info.type == fs.FileType.Directory]

    def _list(self, folder: str) -> list[fs.FileInfo]:
        with self._trouble("list", folder):
            selector = fs.FileSelector(self._path(folder), allow_not_found=True)
            return self._filesystem.get_file_info(selector)  # type: ignore[no-any-return]

    def make_folder(self, folder: str) -> None:
        if folder in self._made:
            return  # an object store is asked for each part of the path
        with self._trouble("make", folder):
            self._filesystem.create_dir(self._path(folder), recursive=True)
        self._made.add(folder)

    def remove_folder(self, folder: str) -> None:
        for name in self.folders(folder):
            self.remove_folder(f"{folder}/{name}")
        if self._list(folder):
            return
        self._made.discard(folder)
        with contextlib.suppress(FileNotFoundError), self._trouble("delete", folder):
            self._filesystem.delete_dir(self._path(folder))

    def write(self, path: str, fill: Callable[[Output], None]) -> None:
        self._claims.check()
        file_crash_point(path, "begun")
        final = self._path(path)
        direct = self._filesystem.type_name in _OBJECT_STORES
        if direct:
            fill = _filled(fill)
        target = final if direct else posixpath.join(posixpath.dirname(final), TEMPORARY + uuid.uuid4().hex)
        with self._trouble("write", path):
            with self._filesystem.open_output_stream(target, compression=None) as file:
                fill(file)
            if not direct:
                self._filesystem.move(target, final)
        file_crash_point(path, "named")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Write]:
        yield self.write

    def create(self, path: str, data: bytes) -> bool:
        for check in self._guards:
            check()
        if self.conditional is not None:
            file_crash_point(path, "begun")
            made = self.conditional.create(self._path(path), data)
            file_crash_point(path, "named")
            return made
        if self.size(path) is not None:
            return False
        self.replace(path, data)
        return True

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.write(path, lambda file: file.write(data))

    def delete(self, path: str) -> None:
        self._claims.check()
        file_crash_point(path, "begun")
        with contextlib.suppress(FileNotFoundError), self._trouble("delete", path):
            self._filesystem.delete_file(self._path(path))
            file_crash_point(path, "deleted")

    @contextlib.contextmanager
    def lock(self, path: str, *, wait: bool = True) -> Iterator[bool]:
        if not self.locks:  # nothing to lock with: one process that trims is the rule here
            yield True
            return
        with self._claims.held(path, wait=wait) as held:
            yield held

    @contextlib.contextmanager
    def _trouble(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise HomeError(
                f"cannot {verb} a file of the home: {error}",
                where=posixpath.join(self.root, path),
                hint="check the address, the credentials in the environment and the right to write there",
            ) from error


def _filled(fill: Callable[[Output], None]) -> Callable[[Output], None]:
    """The file's content, made now: a file that is opened and then closed by an error would exist."""
    content = pa.BufferOutputStream()
    fill(content)
    data = content.getvalue()

    def write(file: Output) -> None:
        file.write(data)

    return write
