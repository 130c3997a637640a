"""How far a stage has read its source: by the record of a thread, by Spark's checkpoint, or by what was said
when the source was new."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.log.category import Category
from dovetail.model import json_values
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.input_files import local_path
from dovetail.slicing.readings import read_reading
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing
from dovetail.slicing.thread_record import left_by_thread
from dovetail.spark.batch_files import files_done, files_of_batch, last_done, last_planned, offsets_at
from dovetail.spark.checkpoints import Checkpoint


def standing_of(checkpoint: Checkpoint, category: Category | None, slicer: Slicer) -> Standing | None:
    """The reader so far; None: nothing was read. `category`: where the stage writes to, if that is in the
    log."""
    standing = left_by_thread(category, slicer) if category is not None else None
    if standing is not None and last_done(checkpoint) < appended(category, slicer):
        return standing
    return _before(checkpoint, category, slicer)


def files_before(checkpoint: Checkpoint, category: Category, slicer: Slicer) -> Iterable[str]:
    """The files that a thread need not read when it begins: a query of Spark has put them into the category,
    or the source begins after them."""
    known = _before(checkpoint, category, slicer)
    return known.files if isinstance(known, FilesDone) else ()


def read_by_query(checkpoint: Checkpoint, category: Category) -> set[str]:
    """The files that a query of Spark has put into a category under its own name."""
    if last_planned(checkpoint) < 0:
        return set()
    known = _by_spark(checkpoint, category.last_batch(checkpoint.query), "")
    return set(known.files) if isinstance(known, FilesDone) else set()


def commits_before(checkpoint: Checkpoint, category: Category, slicer: Slicer) -> int | None:
    """The first commit of the source that a thread reads when it begins."""
    known = _before(checkpoint, category, slicer)
    return known.commit if isinstance(known, CommitsRead) else None


def said_at_first(home: str, slicer: Slicer) -> Standing | None:
    """Where a source begins that has taken the place of another."""
    if slicer.reading == 1:
        return None
    reading = read_reading(home, slicer.application, slicer.stage, slicer.reading)
    return None if reading is None else reading.standing


def appended(category: Category | None, slicer: Slicer) -> int:
    """The last batch of a stage that is in the log; -1: none."""
    return -1 if category is None else category.last_batch(slicer.producer)


def _before(checkpoint: Checkpoint, category: Category | None, slicer: Slicer) -> Standing | None:
    if last_planned(checkpoint) < 0:
        return said_at_first(checkpoint.home, slicer)
    return _by_spark(checkpoint, appended(category, slicer), slicer.place)


def _by_spark(checkpoint: Checkpoint, in_log: int, place: str) -> Standing | None:
    """What a query of Spark has read. The last batch may be in the log although Spark had not noted that it
    is done."""
    batch = max(last_done(checkpoint), min(in_log, last_planned(checkpoint)))
    if batch < 0:
        return None
    [offset, *_] = offsets_at(checkpoint, batch)
    if "commit" in offset:
        return CommitsRead(offset.get("category", place), json_values.whole(offset["commit"]))
    found = files_done(checkpoint, {})[0]
    for one in range(last_done(checkpoint) + 1, batch + 1):
        found += files_of_batch(checkpoint, one)
    return FilesDone(frozenset(local_path(file) for file in found))
