"""How far the source of a slicer was read, in terms that a thread of the run and a query of Spark share: so
one can go on where the other stopped."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommitsRead:
    """`commit` is the first commit of the category that was not read."""

    category: str
    commit: int


@dataclass(frozen=True)
class FilesDone:
    files: frozenset[str]


Standing = CommitsRead | FilesDone
