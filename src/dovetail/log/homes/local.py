"""A home on local disk: every write is durable and atomic, and any number of processes may write at once.

A file is written under a temporary name and synced. Then it gets its final name by `link`, which fails if
the name is taken (`create`), or by `rename`, which replaces (`write`, `replace`). Then its folder is synced.

Why in this order. A name that reaches the disk before the content would, after a loss of power, belong to an
empty or torn file: so the content is synced first. A name that is not on disk when we return could vanish
with the power, and with it a commit that was acknowledged: so the folder is synced before anyone is answered.
Between the two, others may already see the name and act on it. That is safe where names reach the disk in the
order they were given (the journals of ext4 and XFS): whatever they sync afterwards takes this name along.

Nobody looks for segments before their commit names them. So threads sync one while the next is made
(`writing`), and their folder is synced once, after the last of them and before the commit.

Files that are replaced every second and only show progress (`durable=False`) are not synced: others see them
whole, and after a loss of power they are not needed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import uuid
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

import pyarrow as pa

from dovetail.crash_points import file_crash_point
from dovetail.errors import HomeError
from dovetail.log.homes.filesystem import TEMPORARY, Entry, Output, Write

SYNCING_AT_ONCE = 4
"""Files of one writer: then it waits, for a disk that slow would only fall further behind."""
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class LocalStore:
    local = True
    message_bytes: int | None = None
    locks = True

    def __init__(self, root: str) -> None:
        self.root = root

    def _path(self, path: str) -> str:
        return os.path.join(self.root, path)

    def read(self, path: str) -> bytes:
        with self._trouble("read", path), open(self._path(path), "rb") as file:
            return file.read()

    def buffer(self, path: str, start: int = 0, size: int | None = None) -> pa.Buffer:
        with self._trouble("read", path):
            if os.path.getsize(self._path(path)) <= start:
                return pa.py_buffer(b"")  # an empty file cannot be mapped
            with pa.memory_map(self._path(path)) as file:
                file.seek(start)
                return file.read_buffer(size)

    def pieces(self, path: str, start: int = 0, size: int | None = None) -> list[pa.Buffer]:
        return [self.buffer(path, start, size)]

    def size(self, path: str) -> int | None:
        try:
            return os.path.getsize(self._path(path))
        except FileNotFoundError:  # the usual answer of those who look for what is new, so it comes quickly
            return None
        except OSError:
            with self._trouble("read", path):
                raise

    def stamp(self, path: str) -> Hashable:
        try:
            with self._trouble("read", path):
                found = os.stat(self._path(path))
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def files(self, folder: str) -> list[Entry]:
        found = []
        for entry in self._scan(folder):
            with contextlib.suppress(FileNotFoundError):  # it may go while we look
                if entry.is_file():
                    stat = entry.stat()
                    found.append(Entry(entry.name, stat.st_size, stat.st_mtime))
        return found

    def names(self, folder: str) -> list[str]:
        return [entry.name for entry in self._scan(folder) if entry.is_file()]

    def folders(self, folder: str) -> list[str]:
        return [entry.name for entry in self._scan(folder) if entry.is_dir()]

    def _scan(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with self._trouble("list", folder), os.scandir(self._path(folder)) as entries:
                return list(entries)
        except FileNotFoundError:
            return []

    def make_folder(self, folder: str) -> None:
        with self._trouble("make", folder):
            path = self._path(folder)
            missing = []
            while not os.path.isdir(path):
                missing.append(path)
                path = os.path.dirname(path)
            for path in reversed(missing):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path)
                _sync_folder(os.path.dirname(path))
            if not os.path.isdir(self._path(folder)):
                raise NotADirectoryError(errno.ENOTDIR, "a file is in the way", path)

    def remove_folder(self, folder: str) -> None:
        for path, _, _ in os.walk(self._path(folder), topdown=False):
            with contextlib.suppress(OSError):  # it has files, or is gone already
                os.rmdir(path)

    def write(self, path: str, fill: Callable[[Output], None]) -> None:
        with self._temporary(path, fill) as temporary:
            os.rename(temporary, self._path(path))
            file_crash_point(path, "named")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Write]:
        folders: set[str] = set()
        syncing: deque[Future[None]] = deque()

        def write(path: str, fill: Callable[[Output], None]) -> None:
            if len(syncing) == SYNCING_AT_ONCE:
                syncing.popleft().result()
            folders.add(os.path.dirname(self._path(path)))
            syncing.append(threads.submit(self._synced_and_named, path, *self._filled(path, fill)))

        with ThreadPoolExecutor(SYNCING_AT_ONCE, "dovetail-syncing") as threads:
            yield write
            for one in syncing:
                one.result()
        for folder in sorted(folders):
            with self._trouble("write", os.path.relpath(folder, self.root), missing=True):
                _sync_folder(folder)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if durable:
            self.write(path, lambda file: file.write(data))
            return
        file, temporary = self._filled(path, lambda file: file.write(data))
        with self._trouble("write", path, missing=True):
            try:
                file.close()
                os.rename(temporary, self._path(path))
                file_crash_point(path, "named")
            finally:
                self._dropped(file, temporary)

    def create(self, path: str, data: bytes) -> bool:
        final = self._path(path)
        with self._temporary(path, lambda file: file.write(data)) as temporary:
            try:
                # Not `rename`: that would replace the commit of a faster writer. `link` decides in one
                # step of the filesystem, for all processes and on NFS too.
                os.link(temporary, final)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                # A filesystem without hard links: take turns instead.
                with self.lock(path=os.path.join(os.path.dirname(path), ".lock")):
                    if os.path.exists(final):
                        return False
                    os.rename(temporary, final)
            file_crash_point(path, "named")
        return True

    @contextlib.contextmanager
    def guarded(self, check: Callable[[], None]) -> Iterator[None]:
        """Nothing to guard: a run holds a lock here, which goes with its process."""
        yield

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError), self._trouble("delete", path):
            os.unlink(self._path(path))
            file_crash_point(path, "deleted")

    @contextlib.contextmanager
    def lock(self, path: str, *, wait: bool = True) -> Iterator[bool]:
        with self._trouble("lock", path):
            descriptor = os.open(self._path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            held = True  # the system releases it when the process ends, however that happens
            with self._trouble("lock", path):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                except BlockingIOError:
                    held = False
            yield held
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _temporary(self, path: str, fill: Callable[[Output], None]) -> Iterator[str]:
        """A synced file beside `path`; the caller gives it its name, then the folder is synced."""
        file, temporary = self._filled(path, fill)
        with self._synced(path, file, temporary):
            yield temporary
            _sync_folder(os.path.dirname(temporary))

    def _synced_and_named(self, path: str, file: BinaryIO, temporary: str) -> None:
        with self._synced(path, file, temporary):
            os.rename(temporary, self._path(path))
            file_crash_point(path, "named")

    def _filled(self, path: str, fill: Callable[[Output], None]) -> tuple[BinaryIO, str]:
        """An open file beside `path`, with its content, and its name; not synced."""
        temporary = os.path.join(os.path.dirname(self._path(path)), TEMPORARY + uuid.uuid4().hex)
        file_crash_point(path, "begun")
        with self._trouble("write", path, missing=True):
            file = open(temporary, "xb")  # noqa: SIM115  (it is closed when it is synced)
            try:
                fill(file)
                file.flush()
            except BaseException:
                self._dropped(file, temporary)
                raise
        return file, temporary

    @contextlib.contextmanager
    def _synced(self, path: str, file: BinaryIO, temporary: str) -> Iterator[None]:
        """The file is synced and closed; after that, whatever happens, nothing has its temporary name."""
        with self._trouble("write", path, missing=True):
            try:
                os.fsync(file.fileno())
                file.close()
                file_crash_point(path, "whole")
                yield
            finally:
                self._dropped(file, temporary)

    @staticmethod
    def _dropped(file: BinaryIO, temporary: str) -> None:
        with contextlib.suppress(OSError):  # a full disk was reported where it was noticed first
            file.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)

    @contextlib.contextmanager
    def _trouble(self, verb: str, path: str, *, missing: bool = False) -> Iterator[None]:
        """Errors of the system as HomeErrors; a missing file passes, unless `missing` is trouble too."""
        try:
            yield
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not missing:
                raise
            raise HomeError(
                f"cannot {verb} a file of the home: {error.strerror or error}",
                where=self._path(path),
                hint="check that the home is a folder this user may write, and that its disk is not full; "
                "another home is chosen with --home or DOVETAIL_HOME",
            ) from error


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
