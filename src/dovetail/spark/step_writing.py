"""Joins whose tasks write their rows themselves: about half of a run's CPU went into turning the Arrow
batches of a join into the JVM's rows and back.

Law: a stage takes this way only where its output is the same by it, row for row and type for type. So it may
change from one way to the other between two runs: checkpoints, categories and files stay valid.

    rows leave the join ─► evaluated, sliced, written in the task ─► a text each ─► the driver: one commit
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from dovetail.changes.own_folders import output_folder
from dovetail.log.category import Category
from dovetail.plan.evaluate import evaluation_of, with_column
from dovetail.plan.physical import CategoryOutput, JoinStage, ScribeSink
from dovetail.plan.projection import plain_projection
from dovetail.slicing.evaluation import Evaluation, TypedColumn
from dovetail.slicing.input_files import is_local
from dovetail.slicing.parquet_output import WrittenFile, parquet_rows
from dovetail.slicing.placement import HASH, Placement
from dovetail.slicing.step_outputs import CountedRows, Evaluated, LogRows, StepOutput, side_rows
from dovetail.spark.append import Append
from dovetail.spark.arrow_types import arrow_schema
from dovetail.spark.batch_promises import promises_of
from dovetail.spark.building import BuiltStage, open_join
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.file_sink import name_files
from dovetail.spark.join_source import WRITTEN, Writing
from dovetail.spark.short_way import is_ansi, is_utc

_PARQUET = (
    "spark.sql.parquet.compression.codec",
    "spark.sql.parquet.outputTimestampType",
    "spark.sql.parquet.writeLegacyFormat",
)


class Joined(NamedTuple):
    """The rows of a stage as a task can make them: the columns that leave the join, and what is computed from
    them; None: nothing is."""

    source: pa.Schema
    computed: Evaluation | None

    @property
    def schema(self) -> pa.Schema:
        return self.source if self.computed is None else self.computed.schema


def joined_rows(built: BuiltStage) -> Joined | None:
    """None: what follows the join needs Spark."""
    stage = built.stage
    if not isinstance(stage, JoinStage) or built.joined is None:
        return None
    source = arrow_schema(built.joined)
    if plain_projection(stage) is not None:  # the join's columns have their names already
        return Joined(source, None)
    spark = built.rows.sparkSession
    computed = evaluation_of(stage, source, ansi=is_ansi(spark), utc=is_utc(spark))
    return None if computed is None else Joined(source, computed)


def rows_into_log(built: BuiltStage, category: Category, placement: Placement) -> DataFrame | None:
    """What the tasks of a join write into a category, one text each; None: its rows go through Spark."""
    joined, output = joined_rows(built), built.output
    if joined is None:
        return None
    made: StepOutput | None
    if isinstance(output, CategoryOutput) and output.time is not None:
        assert placement.validity is not None
        made = side_rows(joined.schema, category, output.keys, output.time, placement.validity)
        return None if made is None else _written(built, joined, made)
    shard = output.shard if isinstance(output, ScribeSink) else None
    made = LogRows(category.home, category.name, placement, shard is not None, category.generation)
    kept = category.schema
    if shard is not None:
        kept = kept.remove(kept.get_field_index(HASH))
        spark = built.rows.sparkSession
        sharded = _sharded(joined, shard, ansi=is_ansi(spark)) if is_utc(spark) else None
        if sharded is None or not _same(joined.schema, kept):
            return None
        return _written(built, sharded, made)
    return _written(built, joined, made) if _same(joined.schema, kept) else None


def rows_counted(built: BuiltStage) -> DataFrame | None:
    """How many rows the tasks of a join make, for an output that takes none."""
    return rows_outside(built, CountedRows())


def rows_outside(built: BuiltStage, output: StepOutput) -> DataFrame | None:
    """What the tasks of a join write to an external system, one text each."""
    joined = joined_rows(built)
    if joined is None or not _same(joined.schema, arrow_schema(built.rows.schema)):
        return None
    return _written(built, joined, output)


def rows_into_files(built: BuiltStage, form: str, path: str) -> DataFrame | None:
    """What the tasks of a join write into a folder of files, one text each."""
    joined, schema = joined_rows(built), arrow_schema(built.rows.schema)
    if form != "parquet" or not is_local(path) or joined is None or not _same(joined.schema, schema):
        return None
    spark = built.rows.sparkSession
    settings = {name: str(spark.conf.get(name)) for name in _PARQUET}
    noted = {
        "org.apache.spark.version": spark.version,
        "org.apache.spark.sql.parquet.row.metadata": built.rows.schema.json(),
    }
    made = parquet_rows(output_folder(path), schema, settings, noted)
    return None if made is None else _written(built, joined, made)


def appending(built: BuiltStage, category: Category, producer: str, checkpoint: Checkpoint) -> Append:
    """Lets exist what the tasks of a micro-batch have written into a category."""
    promise_of = promises_of(built, checkpoint)

    def append(rows: DataFrame, batch: int) -> None:
        from dovetail.slicing.sides import append_written

        written = [row[0] for row in rows.collect()]
        append_written(category, written, producer, batch, promise_of(batch) if promise_of else None)

    return append


def naming(path: str) -> Append:
    """Lets count what the tasks of a micro-batch have written into a folder."""

    def append(rows: DataFrame, batch: int) -> None:
        files = [WrittenFile.from_json(row[0]) for row in rows.collect()]
        name_files(rows.sparkSession, output_folder(path), batch, files)

    return append


def _same(one: pa.Schema, other: pa.Schema) -> bool:
    """Names and types; whether a column may be null, only Spark knows."""
    return bool(one.names == other.names and one.types == other.types)


def _sharded(joined: Joined, shard: str, *, ansi: bool) -> Joined | None:
    """With the value to be hashed in front."""
    from dovetail.joins.rows.key_hash import hashable

    columns = tuple((field.name, TypedColumn(field.name, field.type)) for field in joined.source)
    wider = with_column(shard, HASH, joined.computed or Evaluation(columns), ansi=ansi)
    if wider is None or not hashable(wider.schema.field(HASH).type):
        return None
    return Joined(joined.source, wider)


def _written(built: BuiltStage, joined: Joined, output: StepOutput) -> DataFrame:
    assert built.join is not None
    spark = built.rows.sparkSession
    made = output if joined.computed is None else Evaluated(joined.computed, output)
    text = StructType([StructField(WRITTEN, StringType())])
    built.writing = Writing(joined.source, made)
    return open_join(spark, built.join, text, built.writing)
