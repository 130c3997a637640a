"""Turns the system's errors about a live index into Dovetail errors. An index can be rebuilt, and may be
elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail.errors import StateError


@contextmanager
def index_trouble(root: Path) -> Iterator[None]:
    """Report an index directory that cannot be used. The home's store reports its own trouble; an error that
    names no file, such as a full disk, is about the index."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and not Path(error.filename).is_relative_to(root):
            raise
        raise StateError(
            f"the join index cannot be written: {error.strerror or error}",
            where=str(error.filename or root),
            expected="a local directory with room, that this user may write",
            hint="free space, or set DOVETAIL_INDEX_DIR: the index is rebuilt, no row is lost",
        ) from error
