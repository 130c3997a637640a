"""A built stage as a running query: where its rows go, and where Spark keeps its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from dovetail.connectors.options import EVERY
from dovetail.crash_points import crash_point
from dovetail.errors import DovetailError
from dovetail.log.category import Category, list_categories
from dovetail.log.generations import require_following
from dovetail.log.homes.filesystem import shown
from dovetail.log.limits import keep
from dovetail.plan.physical import (
    CategoryOutput,
    ConsoleSink,
    FileSink,
    NoopSink,
    OutsideSink,
    ScribeSink,
    rejects_category,
)
from dovetail.plan.rejects_query import rejects_query
from dovetail.slicing.placement import HASH, TIME, Placement
from dovetail.spark.aggregation import Aggregation
from dovetail.spark.append import Append, append_batch, appender
from dovetail.spark.arrow_types import arrow_schema
from dovetail.spark.building import BuiltStage
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.failures import INTERRUPTED, TaskError, failure_of, interrupted
from dovetail.spark.hang_up import hung_up
from dovetail.spark.outside import WriteOutside, committing, sink_of
from dovetail.spark.s3 import spark_uri
from dovetail.spark.slicer import make_category
from dovetail.spark.step_writing import (
    appending,
    naming,
    rows_counted,
    rows_into_files,
    rows_into_log,
    rows_outside,
)

Mode = Literal["stream", "available-now", "drain", "once"]
"""`once`: only the batch that a run before has begun."""
POLL, AT_ONCE = "200 milliseconds", "0 seconds"
"""How often Spark looks at a source of its own; ours wait until something is there (`engine/awaiting.py`)."""
SHARDED_BUCKETS = 64
FORGOTTEN_S, LOOK_S = 30.0, 0.05
_STILL_ACTIVE = "is already active in this SparkSession"
"""A query that has failed says so before Spark has forgotten its name."""

Failures = dict[str, DovetailError]
"""Errors raised on the driver inside a micro-batch, by stage: Spark passes only their text on."""


def start(
    built: BuiltStage, home: str, application: str, mode: Mode, failures: Failures
) -> list[StreamingQuery]:
    """Start a stage's query, and one for each of its inputs that may hold unreadable rows."""
    checkpoint = Checkpoint(home, application, built.record)
    writer = _writer(built, home, application, checkpoint, failures)
    queries = [_query(writer, checkpoint, built.name, mode, pace(built))]
    for table, rows in (built.rejects or {}).items():
        category = make_category(rows, home, rejects_category(application, table), 1, "auto", "rejects")
        name = rejects_query(built.stage, home, application, table)
        kept = Checkpoint(home, application, name)
        append = partial(append_batch, category=category, producer=name, placement=Placement(None, None))
        writer = rows.writeStream.foreachBatch(_reporting(append, built.name, failures, kept))
        queries.append(_query(writer, kept, name, mode))
    return queries


def start_patiently(
    built: BuiltStage,
    home: str,
    application: str,
    mode: Mode,
    failures: Failures,
    given_up: Callable[[], bool] = lambda: False,
) -> list[StreamingQuery]:
    """Start a stage whose query may have failed a moment ago, and that Spark may not have forgotten yet."""
    deadline_s = time.monotonic() + FORGOTTEN_S
    while True:
        try:
            return start(built, home, application, mode, failures)
        except DovetailError:
            raise
        except Exception as error:
            if _STILL_ACTIVE not in str(error) or time.monotonic() > deadline_s or given_up():
                raise failure_of(error, built.name) from error
        time.sleep(LOOK_S)


def require_output(built: BuiltStage, home: str, application: str) -> None:
    """Raise what a start would raise about the columns of an output category. Nothing is written."""
    if isinstance(built.output, ScribeSink) and built.output.category in list_categories(home):
        name, shard = built.output.category, built.output.shard
        rows = built.rows if built.result is None else built.result
        if _writes_alone(home, name, application):
            require_following(home, name, arrow_schema((_sharded(rows, shard) if shard else rows).schema))


def describe_output(built: BuiltStage, home: str) -> str:
    """Where the rows of a stage can be found, for people."""
    place = built.output.place
    return f"{place} in {shown(home)}" if isinstance(built.output, ScribeSink | CategoryOutput) else place


def pace(built: BuiltStage) -> str:
    """How often Spark looks whether there is something to do."""
    match built.output:
        case OutsideSink(options=options):
            every_us: Any = dict(options).get(EVERY.name)
        case FileSink():
            every_us = built.output.every_us
        case _:
            every_us = None
    if every_us:
        return f"{max(1, every_us // 1000)} milliseconds"
    return AT_ONCE if built.starts_process else POLL


def _query(
    writer: DataStreamWriter, checkpoint: Checkpoint, name: str, mode: Mode, poll: str = POLL
) -> StreamingQuery:
    checkpoint.remove_drafts()
    checkpoint.keep()  # what we have written for Spark, if anything
    writer = writer.queryName(name).option("checkpointLocation", checkpoint.uri)
    if mode == "stream":
        return writer.trigger(processingTime=poll).start()
    if mode == "once":
        return writer.trigger(once=True).start()
    return writer.trigger(availableNow=True).start()


def _writer(
    built: BuiltStage, home: str, application: str, checkpoint: Checkpoint, failures: Failures
) -> DataStreamWriter:
    rows = built.rows if built.result is None else built.result
    producer = f"{application}.{built.name}"
    match built.output:
        case CategoryOutput(category=name, time=time):
            category = Category.open(home, name)
            placement = (
                Placement(HASH, TIME, built.validity) if time else Placement(None, _first_timestamp(rows))
            )
        case ScribeSink(name, shard, buckets, compression, keep_us, keep_bytes):
            if shard:
                rows = _sharded(rows, shard)
                buckets = buckets or SHARDED_BUCKETS
            evolve = _writes_alone(home, name, application)
            category = make_category(rows, home, name, buckets or 1, compression, "output", evolve=evolve)
            keep(category, keep_us, keep_bytes)
            placement = Placement(HASH if shard else None, _first_timestamp(rows))
        case FileSink(format=form, path=path, partitioned=parts, options=options):
            written = rows_into_files(built, form, path) if not parts else None
            if written is not None:
                return written.writeStream.foreachBatch(
                    _reporting(naming(path), built.name, failures, checkpoint)
                )
            writer = rows.writeStream.format(form).options(**dict(options))
            return (writer.partitionBy(*parts) if parts else writer).option("path", spark_uri(path))
        case OutsideSink() as output:
            sink, schema = sink_of(output, checkpoint), arrow_schema(rows.schema)
            sink.prepare(schema)
            made = sink.output(schema)
            written = rows_outside(built, made)
            append = committing(sink, WriteOutside(made) if written is None else None)
            return (rows if written is None else written).writeStream.foreachBatch(
                _reporting(append, built.name, failures, checkpoint)
            )
        case ConsoleSink():
            return rows.writeStream.format("console").option("truncate", "false")
        case NoopSink():
            counted = rows_counted(built)
            return (rows if counted is None else counted).writeStream.format("noop")
    written = rows_into_log(built, category, placement) if built.join is not None else None
    if written is not None:
        append = appending(built, category, producer, checkpoint)
        return written.writeStream.foreachBatch(_reporting(append, built.name, failures, checkpoint))
    append = appender(built, category, producer, placement, checkpoint)
    if (aggregation := built.aggregation) is not None:
        append = _aggregating(append, aggregation, getattr(built.output, "shard", None))
        rows = built.rows
    return rows.writeStream.foreachBatch(_reporting(append, built.name, failures, checkpoint))


def _sharded(rows: DataFrame, shard: str) -> DataFrame:
    """With the hash that the bucket is chosen by. It stays with the rows: a reader can tell their bucket."""
    return rows.select(F.xxhash64(F.expr(shard)).alias(HASH), "*")


def _aggregating(append: Append, aggregation: Aggregation, shard: str | None) -> Append:
    def run(rows: DataFrame, batch: int) -> None:
        made = aggregation.over(rows)
        append(_sharded(made, shard) if shard else made, batch)

    return run


def _reporting(append: Append, stage: str, failures: Failures, checkpoint: Checkpoint) -> Append:
    """Keep the error itself and give Spark a short one. Spark passes only a text on. When a query is being
    stopped, it searches that text with an expression that recurses for each character."""

    def run(rows: DataFrame, batch: int) -> None:
        try:
            crash_point("sink", "begun")
            checkpoint.keep()
            append(rows, batch)
            crash_point("sink", "committed")
        except Exception as error:
            if interrupted(error):
                raise TaskError(INTERRUPTED) from None
            if hung_up(error):
                return  # nobody is left to report to
            failures[stage] = failure_of(error, stage)
            raise TaskError(failures[stage].what) from None

    return run


def _writes_alone(home: str, name: str, application: str) -> bool:
    """Whether an output may get other columns: only its own application has written to it."""
    if name not in list_categories(home):
        return True
    category = Category.open(home, name)
    stop = category.next_commit()
    producers = category.commit(stop - 1).producers if stop else {}
    return not stop or (bool(producers) and all(one.startswith(f"{application}.") for one in producers))


def _first_timestamp(rows: DataFrame) -> str | None:
    """The column whose times a commit's sketch is made of."""
    return next((field.name for field in rows.schema if field.dataType.typeName() == "timestamp"), None)
