"""A home as files: by path below it, on local disk, on any filesystem that pyarrow opens by URI, or on Kafka.

Law of every store: a file under its final name is whole. `create` never replaces a file, `replace` does so in
one step, and a failure at any point leaves at most a temporary file, which nothing reads.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa

from dovetail.errors import HomeError

TEMPORARY = ".tmp-"
"""Names of files being written begin so."""


class Entry(NamedTuple):
    """One file of a folder."""

    name: str
    bytes: int
    modified_s: float


class Output(Protocol):
    """What a file is written through."""

    def write(self, data: Any, /) -> Any: ...


Write = Callable[[str, Callable[[Output], None]], None]
"""`write(path, fill)`: a file under a name of its own, with what `fill` puts into it."""


class Store(Protocol):
    """Files below a home. Paths are relative, with `/`. A missing file is a FileNotFoundError, any other
    trouble a HomeError."""

    root: str
    local: bool
    message_bytes: int | None
    """None: a segment is a file. Else it is messages of one bucket each, up to this size: each piece that
    `fill` writes is one."""

    @property
    def locks(self) -> bool:
        """Whether `lock` keeps processes apart."""

    def read(self, path: str) -> bytes: ...

    def buffer(self, path: str, start: int = 0, size: int | None = None) -> pa.Buffer:
        """The file's bytes, or `size` of them from `start` on, memory-mapped where that is possible. Fewer
        if the file ends before."""

    def pieces(self, path: str, start: int = 0, size: int | None = None) -> list[pa.Buffer]:
        """The same bytes as `buffer` has, end to end, without being laid so: a segment that is messages has a
        piece for each."""

    def size(self, path: str) -> int | None:
        """Bytes of a file, None if there is none."""

    def stamp(self, path: str) -> Hashable:
        """What differs when a file was replaced. None: to find that out costs as much as to read it."""

    def files(self, folder: str) -> list[Entry]:
        """The files of a folder, none if it is missing."""

    def names(self, folder: str) -> list[str]:
        """Those of its files: without looking at each where the store can do that."""

    def folders(self, folder: str) -> list[str]: ...

    def make_folder(self, folder: str) -> None: ...

    def remove_folder(self, folder: str) -> None:
        """Remove a folder and the folders in it, except those that have files."""

    def write(self, path: str, fill: Callable[[Output], None]) -> None:
        """Write a file under a name of its own."""

    def writing(self) -> AbstractContextManager[Write]:
        """To write several files, as `write` does: all are there for good when the context is left, and none
        need be before. `fill` is called at once."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless there is one of that name: False then."""

    def guarded(self, check: Callable[[], None]) -> AbstractContextManager[None]:
        """While this is held, `create` asks `check` first, which raises if this process must not write."""

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Without `durable` the file may be gone or torn after a loss of power: it is not synced."""

    def delete(self, path: str) -> None:
        """Delete a file; no matter if it is gone already."""

    def lock(self, path: str, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Only one holder at a time, where the store can do that. Gives False if another has it, and nobody
        waits or, on an object store, it takes long."""


def absolute_home(home: str) -> str:
    """The same home for every process, whatever its working directory: a URI, or an absolute path."""
    if home.startswith("file:"):
        from pyarrow import fs

        return fs.FileSystem.from_uri(home)[1]  # type: ignore[no-any-return]
    return home if "://" in home else os.path.abspath(os.path.expanduser(home))


@functools.cache
def open_store(home: str) -> Store:
    """The store of a home, one for each process and home."""
    home = absolute_home(home)
    if "://" not in home:
        from dovetail.log.homes.local import LocalStore

        return LocalStore(home)
    if home.startswith("kafka://"):
        from dovetail.log.homes.kafka.store import KafkaStore

        return KafkaStore(home)
    from pyarrow import fs  # a twentieth of a second, which local homes need not wait for

    from dovetail.log.homes.remote import RemoteStore

    try:
        filesystem, root = fs.FileSystem.from_uri(_opened_quickly(home))
    except (pa.ArrowException, OSError) as error:
        raise HomeError(
            f"the home cannot be opened: {error}",
            where=home,
            expected="a local path, or a URI such as s3://bucket/path, gs://..., hdfs://..., kafka://broker:9092/x",
            hint="check the address and the credentials in the environment",
        ) from error
    return RemoteStore(home, shown(home), filesystem, root)


def shown(home: str) -> str:
    """A home as people see it: without how it is reached, and above all without credentials."""
    if "://" not in home:
        return home
    parts = urlsplit(home)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))


def _opened_quickly(home: str) -> str:
    """S3 is asked three times to store a small file, unless pyarrow may wait for the file's end."""
    parts = urlsplit(home)
    if parts.scheme != "s3" or "allow_delayed_open=" in parts.query:
        return home
    return urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, "allow_delayed_open=true"]))))
