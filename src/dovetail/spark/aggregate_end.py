"""Law: when the inputs are declared complete, every time window of an aggregation comes out.

Spark closes a window when its watermark passes the window's end, and the watermark follows the rows. So that
it can be made to pass when no more rows come, the aggregated rows are united with a second stream: a
directory that stays empty until the drain puts one *end row* there, dated beyond all windows. The row moves
the watermark and is then filtered out. The filter carries a nondeterministic term, or the optimizer would
move it below the watermark: one that is false, but not so plainly that the optimizer sees it.
"""

from __future__ import annotations

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dovetail.log.homes.filesystem import open_store
from dovetail.plan.physical import Watermark
from dovetail.spark.s3 import spark_uri

_END = "_dovetail_end"


def with_watermark(
    spark: SparkSession, rows: DataFrame, watermark: Watermark, home: str, application: str, stage: str
) -> DataFrame:
    """The rows with the watermark on their time column, ready to be ended by `write_end_row`."""
    folder = _folder(application, stage)
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
    path = f"{_folder(application, stage)}/end-{end_us}.parquet"
    open_store(home).replace(path, file.getvalue().to_pybytes())


def _folder(application: str, stage: str) -> str:
    return f"apps/{application}/ends/{stage}"
