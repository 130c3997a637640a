"""What the files of a folder are made of: how they are checked, cut into pieces and sliced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from dovetail.slicing.sides import Written


class FilePiece(NamedTuple):
    """Some rows of a file, for one thread. `rows` may be an estimate."""

    path: str
    number: int
    rows: int


class FileForm(Protocol):
    def pieces(self, files: Sequence[str]) -> list[FilePiece]:
        """For files that are there. One that does not fit is an error, before a row of any is read."""

    def write(self, pieces: Iterable[FilePiece]) -> Written:
        """Their rows as segments. Any thread may ask."""

    def settle(self, batch: int) -> list[Written]:
        """All pieces of a batch are written: what else is to be in its commit."""


def dealt(pieces: Sequence[FilePiece], tasks: int) -> list[list[FilePiece]]:
    """Neighbouring pieces together, about the same number of rows to each task."""
    total = sum(piece.rows for piece in pieces)
    shares: list[list[FilePiece]] = [[] for _ in range(tasks)]
    seen = 0
    for piece in pieces:
        shares[min(tasks - 1, seen * tasks // max(1, total))].append(piece)
        seen += piece.rows
    return [share for share in shares if share]
