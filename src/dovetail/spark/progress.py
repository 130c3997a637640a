"""Where a query goes on: the number of its next batch, as the place that it writes to counts them.

A file output lists its batches in `_spark_metadata`, and the log remembers the last batch of a producer.
Both skip a number that they have, so that a batch that comes twice counts once. A stage that takes over
such a place from another must therefore continue after the last number there: with a lower one its rows would
vanish silently. And Spark's list may not have gaps, so a stage that is given a new place fills in
what it has written elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from dovetail.changes.own_folders import HINT, counts_on, output_folder, own_folders
from dovetail.engine.planner import JoinPlanner
from dovetail.errors import PlanError, StateError
from dovetail.log.category import Category, list_categories
from dovetail.plan.physical import (
    CategoryOutput,
    FileSink,
    ScribeSink,
    ScribeSource,
    SlicerStage,
    rejects_category,
)
from dovetail.plan.rejects_query import rejects_query
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.owed_rejects import forget_owed, owed_rejects
from dovetail.slicing.sides import settle_aside
from dovetail.slicing.standing import FilesDone, Standing
from dovetail.slicing.text_form import kept_by_threads, rejects_producer, thread_producers
from dovetail.slicing.thread_record import forget_thread, left_by_thread
from dovetail.spark.batch_files import last_done, last_planned
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.file_sink import fill_gaps, last_named
from dovetail.spark.seeding import category_offset, repeat_done, seed, write_done
from dovetail.spark.standings import appended, read_by_query, said_at_first


def go_on(spark: SparkSession, built: BuiltStage, home: str, application: str) -> None:
    """Make a stage's next batch one that its output counts. Done again, it changes nothing."""
    checkpoint = Checkpoint(home, application, built.record)
    if last_planned(checkpoint) > last_done(checkpoint):
        return  # it has begun a batch for this very place
    taken = _taken(spark, built, home, application)
    if taken > last_done(checkpoint) >= 0:
        repeat_done(checkpoint, taken)
    elif taken > last_done(checkpoint):
        write_done(checkpoint, taken, _first_offset(built, home))
    if isinstance(built.output, FileSink):
        fill_gaps(spark, output_folder(built.output.path), last_done(checkpoint))


def require_new(spark: SparkSession, built: BuiltStage, home: str, application: str) -> None:
    """Refuse a stage that has never run and a folder that has batches: Spark would take its first batches for
    those, and silently skip them."""
    if not isinstance(built.output, FileSink):
        return
    folder = output_folder(built.output.path)
    if last_planned(Checkpoint(home, application, built.record)) < 0 and last_named(spark, folder) >= 0:
        raise _foreign(built.output, folder)


def require_own(spark: SparkSession, stages: Sequence[BuiltStage], home: str, application: str) -> None:
    """Refuse a change that would go on writing where somebody else has written. Such a folder on this machine
    is refused by the rules (`changes/rules/storage.py`); others only Spark can look into."""
    for sink in (built.output for built in stages if isinstance(built.output, FileSink)):
        folder = output_folder(sink.path)
        if folder not in own_folders(home, application) and last_named(spark, folder) >= 0:
            raise _foreign(sink, folder)


def require_countable(spark: SparkSession, stages: Sequence[BuiltStage], home: str, application: str) -> None:
    """Refuse a change whose new table could not go on behind the batches that its place has. The rules do so
    where they can see them (`changes/rules/tables.py`). `stages`: those that the query before does not have:
    the others have a record of what they have read."""
    for built in stages:
        if built.sinks and not counts_on(built.stage):
            begun = last_planned(Checkpoint(home, application, built.record)) >= 0
            if not begun and _taken(spark, built, home, application) >= 0:
                raise _uncounted(built)


def _foreign(sink: FileSink, folder: str) -> StateError:
    return StateError(
        f"{sink.place} were written by another application, or from another home",
        where=folder,
        expected="a folder of its own for each table",
        hint=HINT,
    )


def take_up(spark: SparkSession, built: BuiltStage, home: str, application: str) -> None:
    """Let a query go on where its stage stands, although that is not in its checkpoint: a thread of an
    earlier run has sliced for it, or its source is new. Done again, it changes nothing."""
    stage = built.stage
    if built.resident is not None or not isinstance(stage, SlicerStage):
        return
    checkpoint = Checkpoint(home, application, built.record)
    slicer = Slicer(application, stage.name, "", stage.reading)
    side = stage.output if isinstance(stage.output, CategoryOutput) else None
    category = Category.open(home, side.category) if side is not None and side.time is not None else None
    by_thread = category is not None and last_done(checkpoint) < appended(category, slicer)
    standing = left_by_thread(category, slicer) if by_thread and category is not None else None
    if standing is None and last_planned(checkpoint) < 0:
        standing = said_at_first(home, slicer)
    if category is not None:
        settle_aside(category, slicer.producer)
    for table in built.rejects or {}:
        rejects = Checkpoint(home, application, rejects_query(stage, home, application, table))
        _take_up_rejects(rejects, table, slicer, standing, by_thread=by_thread)
    if standing is not None:
        _require_one_source(built)
        seed(checkpoint, max(0, _taken(spark, built, home, application)), standing)
    # Only now: until the queries have records of their own, these are the only ones.
    for table in built.rejects or {}:
        forget_owed(home, application, table)
    if category is not None:
        forget_thread(category, slicer)


def _take_up_rejects(
    rejects: Checkpoint, table: str, slicer: Slicer, standing: Standing | None, *, by_thread: bool
) -> None:
    """Let the query that keeps the unreadable rows of a table leave out those that threads have kept. A
    thread keeps them of all that it reads, if its stage is the first to read the table. If another stage has
    been that, files without any are read again: nothing comes out of them."""
    name = rejects_category(rejects.application, table)
    category = Category.open(rejects.home, name) if name in list_categories(rejects.home) else None
    threads = thread_producers(category) if category is not None else set()
    kept: Standing | None = standing if by_thread or last_planned(rejects) < 0 else None
    if category is not None and threads - {rejects_producer(slicer)}:
        known = read_by_query(rejects, category)
        files = kept_by_threads(category)
        kept = FilesDone(frozenset(known | files)) if files - known else None
    if isinstance(kept, FilesDone):
        kept = FilesDone(kept.files - owed_rejects(rejects.home, rejects.application, table))
    if kept is not None:
        last = -1 if category is None else category.last_batch(rejects.query)
        seed(rejects, max(0, last), kept)


def _require_one_source(built: BuiltStage) -> None:
    """Spark's record does not say whose an offset is: it goes by the order of the sources."""
    inputs = built.stage.inputs if isinstance(built.stage, SlicerStage) else ()
    if len(inputs) > 1:
        raise PlanError(
            f"stage {built.name} had one input, and now has {len(inputs)}",
            where=f"stage {built.name}",
            expected="one input, as before",
            hint="give the changed view a new name, and let the tables read that",
        )


def _taken(spark: SparkSession, built: BuiltStage, home: str, application: str) -> int:
    """The last batch that the output has from a stage of this name, or from any other writer; -1: none."""
    match built.output:
        case FileSink(path=path):
            return last_named(spark, output_folder(path))
        case ScribeSink(category=name) | CategoryOutput(category=name):
            there = name in list_categories(home)
            return appended(Category.open(home, name) if there else None, Slicer(application, built.name, ""))
    return -1


def _first_offset(built: BuiltStage, home: str) -> dict[str, Any]:
    """Where the source of a stage begins that has never run."""
    if built.join is not None:
        return JoinPlanner(built.join).first().to_json()
    stage = built.stage
    if isinstance(stage, SlicerStage) and len(stage.inputs) == 1:
        source = stage.inputs[0].source
        if isinstance(source, ScribeSource):
            category = Category.open(home, source.category)
            return category_offset(category.name, category.first_commit())
    raise _uncounted(built)


def _uncounted(built: BuiltStage) -> PlanError:
    return PlanError(
        f"stage {built.name} would go on writing where another one has written",
        where=str(built.output),
        expected="a place of its own",
        hint="give the table another path",
    )
