"""How far the source of a slicer was read, in terms that a thread of the run and a query of Spark share: so
one can go on where the other stopped."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.log.category import Category
from dovetail.slicing.category_intake import commit_in, last_of
from dovetail.slicing.covered_files import CoveredFiles, Slicer, recorded_place


@dataclass(frozen=True)
class CommitsRead:
    """`commit` is the first commit of the category that was not read."""

    category: str
    commit: int


@dataclass(frozen=True)
class FilesDone:
    files: frozenset[str]


Standing = CommitsRead | FilesDone


def left_by_thread(category: Category, application: str, stage: str) -> Standing | None:
    """Where a thread stopped to slice into this category; None if it was not the last to do so."""
    last = last_of(category, Slicer(application, stage, "").producer)
    if last is None or last.covers is None:
        return None
    if "commit" in last.covers:
        source, commit = commit_in(last.covers, category, last.number)
        return CommitsRead(source, commit)
    place = recorded_place(category, application, stage)
    return FilesDone(frozenset(CoveredFiles(category, Slicer(application, stage, place)).files))


def forget_thread(category: Category, application: str, stage: str) -> None:
    """Somebody else has its record now."""
    slicer = Slicer(application, stage, "")
    category.drop_reader(slicer.reader)
    category.store.delete(slicer.path)
