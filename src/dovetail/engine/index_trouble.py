"""Errors of the system about a live index, as errors for people: an index is a cache, and its place is a
choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail.errors import StateError


@contextmanager
def index_trouble(root: Path) -> Iterator[None]:
    """Tell of an index directory that cannot be used. Trouble with the home is told by the home's store: what
    names no file, such as a full disk, is the index's."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and not Path(error.filename).is_relative_to(root):
            raise
        raise StateError(
            f"the join index cannot be written: {error.strerror or error}",
            where=str(error.filename or root),
            expected="a local directory with room, that this user may write",
            hint="free it, or set DOVETAIL_INDEX_DIR to another: the index is built anew, no row is lost",
        ) from error
