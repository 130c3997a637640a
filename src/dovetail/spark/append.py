"""How a micro-batch gets into the log: tasks write its rows as segments, then one commit makes them exist.

Law: a micro-batch that is run again changes nothing. If a file that Spark had found for it is gone, that is
counted, not skipped silently.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import DataFrame

from dovetail.log.category import Category
from dovetail.log.homes.filesystem import shown
from dovetail.plan.physical import FilesSource, InputTable, SlicerStage, vanished_category
from dovetail.slicing.input_files import input_files, is_local, is_on_s3, partition_names, plain_place
from dovetail.slicing.parquet_files import check_files, common_schema
from dovetail.slicing.placement import Placement
from dovetail.spark.batch_files import files_of_batch, last_planned
from dovetail.spark.batch_promises import PromiseOf, promises_of
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.short_way import is_ansi, is_utc, short_way
from dovetail.spark.slicer import write_batch, write_files

Append = Callable[[DataFrame, int], None]
"""To be called from `foreachBatch`."""
Write = Callable[[DataFrame, int, list[str]], list[str]]
"""Writes a micro-batch of these files; gives what its tasks have written."""


def append_batch(
    rows: DataFrame,
    batch: int,
    category: Category,
    producer: str,
    placement: Placement,
    promise_of: PromiseOf | None = None,
) -> None:
    from dovetail.slicing.sides import append_written

    promise = promise_of(batch) if promise_of else None
    append_written(category, write_batch(rows, category, placement), producer, batch, promise)


def appender(
    built: BuiltStage, category: Category, producer: str, placement: Placement, checkpoint: Checkpoint
) -> Append:
    """For the rows of a stage."""
    tables = _file_tables(built)
    if not tables:
        return partial(
            append_batch,
            category=category,
            producer=producer,
            placement=placement,
            promise_of=promises_of(built, checkpoint),
        )
    planned_before = last_planned(checkpoint)
    write = _parquet(built, category, placement, planned_before) or (
        lambda rows, batch, files: write_batch(rows, category, placement)
    )

    def append(rows: DataFrame, batch: int) -> None:
        from dovetail.slicing.sides import append_written
        from dovetail.slicing.vanished_files import record_vanished, vanished

        if batch <= planned_before and category.last_batch(producer) >= batch:
            return  # its files were read: removing them now removes no row
        by_table = files_by_table(tables, files_of_batch(checkpoint, batch))
        written = write(rows, batch, [file for files in by_table.values() for file in files])
        # Only now: one that went while it was read may be read in part.
        for table, files in by_table.items():
            noted = vanished_category(checkpoint.application, table)
            record_vanished(category.home, noted, vanished(files), f"{producer}.vanished", batch)
        append_written(category, written, producer, batch)

    return append


def _parquet(
    built: BuiltStage, category: Category, placement: Placement, planned_before: int
) -> Write | None:
    """For a stage whose one input is Parquet files. New files are looked at first: a wrong one would give
    nulls, or a puzzling error. One that ended an earlier run may have been removed since, as its error
    advised."""
    stage = built.stage
    assert isinstance(stage, SlicerStage)
    source = stage.inputs[0].source
    if len(stage.inputs) > 1 or not isinstance(source, FilesSource) or source.format != "parquet":
        return None
    if not is_local(source.path):
        return None  # Spark reads it, and reports what is wrong with a file
    files = input_files(source.path, source.format)
    declared = [column.name for column in stage.inputs[0].columns]
    parts = partition_names(source.path, files)
    names = [name for name in declared if name not in parts]
    short = None
    known = common_schema(files, names)
    if placement.validity is not None and names == declared:  # what a path says, Spark reads
        spark = built.rows.sparkSession
        short = short_way(stage, known, category, placement.validity, ansi=is_ansi(spark), utc=is_utc(spark))

    def write(rows: DataFrame, batch: int, files: list[str]) -> list[str]:
        from dovetail.slicing.vanished_files import vanished

        gone = vanished(files) if batch <= planned_before else []
        there = [file for file in files if file not in gone]
        check_files(there, names, known)
        if short is None:
            return write_batch(rows, category, placement)
        return write_files(rows.sparkSession.sparkContext, there, short)

    return write


def _file_tables(built: BuiltStage) -> list[InputTable]:
    """The inputs of a stage that are files where we can look for them."""
    inputs = built.stage.inputs if isinstance(built.stage, SlicerStage) else ()
    return [
        table
        for table in inputs
        if isinstance(table.source, FilesSource)
        and (is_local(table.source.path) or is_on_s3(table.source.path))
    ]


def files_by_table(tables: Sequence[InputTable], files: Sequence[str]) -> dict[str, list[str]]:
    """The files of each table, in their order. A file is the table's whose path it is at or below. However a
    path is written, no file is left out: what fits no table is the first one's."""
    places = {table.name: _place(table) for table in tables}
    found: dict[str, list[str]] = {table.name: [] for table in tables}
    for file in files:
        path = plain_place(file)
        owner = next((name for name, place in places.items() if f"{path}/".startswith(place)), None)
        found[owner or tables[0].name].append(file)
    return found


def _place(table: InputTable) -> str:
    assert isinstance(table.source, FilesSource)
    place = plain_place(shown(table.source.path))
    return os.path.join(place if is_on_s3(place) else os.path.abspath(place), "")
