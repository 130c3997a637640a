"""Law: when the inputs are declared complete, every time window of an aggregation comes out.

Spark closes a window when its watermark passes the window's end, and the watermark follows the rows. So that
it can be made to pass when no more rows come, the aggregated rows are united with a second stream: a
directory that stays empty until the drain puts one *end row* there, dated beyond all windows. The row moves
the watermark and is then filtered out. The filter carries a nondeterministic term, or the optimizer would
move it below the watermark: one that is false, but not so plainly that the optimizer sees it.

A run that has seen rows may have been stopped, or have died, before their windows ended. The next run sees no
row of them. The watermark that Spark noted with its last batch says how far they went.
"""

from __future__ import annotations

import datetime
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import Watermark
from dovetail.spark.batch_files import checkpoint_lines, damaged
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.s3 import spark_uri

_END = "_dovetail_end"


def with_watermark(
    spark: SparkSession, rows: DataFrame, watermark: Watermark, home: str, application: str, stage: str
) -> DataFrame:
    """The rows with the watermark on their time column, ready to be ended by `write_end_row`."""
    folder = ends_folder(application, stage)
    open_store(home).make_folder(folder)
    ends = spark.readStream.schema(f"{_END} timestamp").parquet(f"{spark_uri(home)}/{folder}")
    nothing = [
        (F.col(_END) if name == watermark.column else F.lit(None))
        .cast(rows.schema[name].dataType)
        .alias(name)
        for name in rows.columns
    ]
    united = rows.withColumn(_END, F.lit(None).cast("timestamp")).union(ends.select(*nothing, _END))
    kept = F.col(_END).isNull() | F.expr("uuid() = ''")
    return united.withWatermark(watermark.column, f"{watermark.delay_us} microseconds").where(kept).drop(_END)


def write_end_row(home: str, application: str, stage: str, end_us: int) -> None:
    """Declare that no row dated before `end_us` will come any more."""
    time = datetime.datetime.fromtimestamp(end_us / 1e6, datetime.UTC)
    table = pa.table({_END: pa.array([time], pa.timestamp("us", "UTC"))})
    file = pa.BufferOutputStream()
    pq.write_table(table, file)
    path = f"{ends_folder(application, stage)}/end-{end_us}.parquet"
    open_store(home).replace(path, file.getvalue().to_pybytes())


def unended_us(
    query: StreamingQuery, home: str, application: str, stage: str, watermark: Watermark
) -> int | None:
    """The largest event time that an aggregation has seen; None if there is none, or an end row was written
    beyond it, so that a drain without new rows moves nothing."""
    noted_us = _noted_us(home, application, stage)
    seen = [at for at in (_seen_us(query), noted_us and noted_us + watermark.delay_us) if at]
    newest_us = max(seen, default=None)
    return None if newest_us is None or newest_us <= _ended_us(home, application, stage) else newest_us


def _seen_us(query: StreamingQuery) -> int | None:
    """Over the progress Spark still remembers."""
    seen = [
        progress.eventTime["max"] for progress in query.recentProgress if "max" in (progress.eventTime or {})
    ]
    if not seen:
        return None
    newest = datetime.datetime.fromisoformat(max(seen).replace("Z", "+00:00"))
    return int(newest.timestamp() * 1_000_000)


def _noted_us(home: str, application: str, stage: str) -> int | None:
    """The watermark that Spark's last committed batch left to the next."""
    checkpoint = Checkpoint(home, application, stage)
    files = checkpoint.store.files(f"{checkpoint.folder}/commits")
    batches = [int(entry.name) for entry in files if entry.name.isdigit()]
    if not batches:
        return None
    path = f"commits/{max(batches)}"
    try:
        noted = json.loads(checkpoint_lines(checkpoint, path)[-1])
        return int(noted.get("nextBatchWatermarkMs", 0)) * 1000 or None
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise damaged(checkpoint, path, str(error)) from error


def _ended_us(home: str, application: str, stage: str) -> int:
    """The time of the last end row, 0 if there is none."""
    entries = open_store(home).files(ends_folder(application, stage))
    ends = [re.fullmatch(r"end-(\d+)\.parquet", entry.name) for entry in entries]
    return max((int(end[1]) for end in ends if end), default=0)


def ends_folder(application: str, stage: str) -> str:
    return f"apps/{application}/ends/{stage}"
