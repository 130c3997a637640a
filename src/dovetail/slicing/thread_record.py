"""The record that a resident slicer leaves behind: how far it has read, for its successor."""

from __future__ import annotations

from dataclasses import replace

from dovetail.log.category import Category
from dovetail.slicing.covered_commits import commit_in, last_of
from dovetail.slicing.covered_files import CoveredFiles, Slicer, recorded_place
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing


def left_by_thread(category: Category, slicer: Slicer) -> Standing | None:
    """Where a thread stopped to slice into this category; None if it was not the last to do so."""
    last = last_of(category, slicer.producer)
    covers = slicer.covered_in(last)
    if last is None or covers is None:
        return None
    if "commit" in covers:
        return CommitsRead(*commit_in(covers, category, last.number))
    there = replace(slicer, place=recorded_place(category, slicer))
    return FilesDone(frozenset(CoveredFiles(category, there).files))


def forget_thread(category: Category, slicer: Slicer) -> None:
    """Somebody else has its record now."""
    category.drop_reader(slicer.reader)
    category.store.delete(slicer.path)
