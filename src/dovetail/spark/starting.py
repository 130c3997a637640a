"""A built stage as a running query: where its rows go, and where Spark keeps its progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from dovetail.errors import DovetailError
from dovetail.log.category import Category
from dovetail.plan.physical import (
    CategoryOutput,
    ConsoleSink,
    FileSink,
    FilesSource,
    NoopSink,
    ScribeSink,
    SlicerStage,
)
from dovetail.spark.building import BuiltStage
from dovetail.spark.inputs import check_files
from dovetail.spark.slicer import HASH, TIME, Placement, append_batch, make_category

Mode = Literal["stream", "available-now", "drain"]
POLL = "200 milliseconds"
SHARDED_BUCKETS = 64

Failures = dict[str, DovetailError]
"""Errors raised on the driver inside a micro-batch, by stage: Spark would only hand their text on."""


def start(built: BuiltStage, home: str, application: str, mode: Mode, failures: Failures) -> list[StreamingQuery]:
    """Start a stage's query, and one for each of its inputs that may hold unreadable rows."""
    place = f"{home}/apps/{application}/checkpoints"
    queries = [_query(_writer(built, home, application, failures), f"{place}/{built.name}", built.name, mode)]
    for table, rows in (built.rejects or {}).items():
        category = make_category(rows, home, rejects_category(application, table), 1)
        writer = _into_category(rows, category, f"{built.name}.rejects", Placement(None, None), failures, built)
        name = f"{built.name}.rejects.{table}"
        queries.append(_query(writer, f"{place}/{name}", name, mode))
    return queries


def rejects_category(application: str, table: str) -> str:
    """Where the unreadable rows of an input table are kept."""
    return f"{application}.rejects.{table}"


def describe_output(built: BuiltStage, home: str) -> str:
    """Where the rows of a stage can be found, for people."""
    match built.output:
        case ScribeSink(category=category) | CategoryOutput(category=category):
            return f"category {category} in {home}"
        case FileSink(format=form, path=path):
            return f"{form} files in {path}"
        case ConsoleSink():
            return "the console"
    return "nowhere (NOOP)"


def _query(writer: DataStreamWriter, checkpoint: str, name: str, mode: Mode) -> StreamingQuery:
    writer = writer.queryName(name).option("checkpointLocation", checkpoint)
    if mode == "stream":
        return writer.trigger(processingTime=POLL).start()
    return writer.trigger(availableNow=True).start()


def _writer(built: BuiltStage, home: str, application: str, failures: Failures) -> DataStreamWriter:
    rows, output = built.rows, built.output
    match output:
        case CategoryOutput(category=name, keys=keys):
            placement = Placement(HASH, TIME) if keys else Placement(None, _first_timestamp(rows))
            producer = f"{application}.{built.name}"
            return _into_category(rows, Category.open(home, name), producer, placement, failures, built)
        case ScribeSink(category=name, shard=shard, buckets=buckets):
            if shard:  # the hash stays with the rows: a reader can tell the bucket by it
                rows = rows.select(F.xxhash64(F.expr(shard)).alias(HASH), "*")
                buckets = buckets or SHARDED_BUCKETS
            category = make_category(rows, home, name, buckets or 1)
            placement = Placement(HASH if shard else None, _first_timestamp(rows))
            return _into_category(rows, category, f"{application}.{built.name}", placement, failures, built)
        case FileSink(format=form, path=path):
            return rows.writeStream.format(form).option("path", path)
        case ConsoleSink():
            return rows.writeStream.format("console").option("truncate", "false")
        case NoopSink():
            return rows.writeStream.format("noop")


def _into_category(
    rows: DataFrame,
    category: Category,
    producer: str,
    placement: Placement,
    failures: Failures,
    built: BuiltStage,
) -> DataStreamWriter:
    check = _file_check(built)

    def append(batch_rows: DataFrame, batch: int) -> None:
        try:
            check(batch_rows)
            append_batch(batch_rows, batch, category, producer, placement)
        except DovetailError as error:
            failures[built.name] = error
            raise

    return rows.writeStream.foreachBatch(append)


def _file_check(built: BuiltStage) -> Callable[[DataFrame], None]:
    """New Parquet files are looked at before Spark reads them: a wrong one would give nulls, or a puzzling error."""
    tables = [
        table
        for table in (built.stage.inputs if isinstance(built.stage, SlicerStage) else ())
        if isinstance(table.source, FilesSource) and table.source.format == "parquet"
    ]
    if len(tables) != 1:
        return lambda rows: None
    first = None

    def check(rows: DataFrame) -> None:
        nonlocal first
        first = check_files(rows.inputFiles(), tables[0].columns, first)

    return check


def _first_timestamp(rows: DataFrame) -> str | None:
    """The column whose times a commit's sketch is made of."""
    return next((field.name for field in rows.schema if field.dataType.typeName() == "timestamp"), None)
