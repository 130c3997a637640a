"""Files that tasks have written themselves join the output of Spark's file sink.

Law: `_spark_metadata` names the files of each micro-batch once. It is Spark's own log, written through its
own class: readers see no difference, and a path to which Spark's file sink has written stays as it is. Spark
does the same in the same order: it skips a batch that the log has, and names files after they are written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from dovetail.crash_points import crash_point
from dovetail.errors import StateError
from dovetail.slicing.parquet_output import WrittenFile
from dovetail.spark.s3 import spark_uri

LOG = "_spark_metadata"
_BLOCK_BYTES = 32 << 20
"""What Hadoop says of a file on local disk. Nobody splits by it."""


def name_files(spark: SparkSession, folder: str, batch: int, files: Sequence[WrittenFile]) -> None:
    """Let the files of a micro-batch count. Done again, it changes nothing."""
    crash_point("sink", "written")
    log = _sink_log(spark, folder)
    last = log.getLatestBatchId()
    if last.isDefined() and batch <= last.get():
        return
    jvm: Any = spark.sparkContext._jvm
    kind = jvm.org.apache.spark.sql.execution.streaming.sinks.SinkFileStatus
    gateway: Any = spark.sparkContext._gateway
    named = gateway.new_array(kind, len(files))
    for number, file in enumerate(files):
        named[number] = kind(file.uri, file.size, False, file.modified_ms, 1, _BLOCK_BYTES, "add")
    if not log.add(batch, named):
        raise StateError(
            f"another run has written batch {batch} of this output",
            where=os.path.join(folder, LOG),
            expected="one run at a time for each output",
            hint="stop the other run, or give this application a path of its own",
        )


def _sink_log(spark: SparkSession, folder: str) -> Any:
    jvm: Any = spark.sparkContext._jvm
    sinks = jvm.org.apache.spark.sql.execution.streaming.sinks
    nothing = jvm.scala.Option.empty()
    version = sinks.FileStreamSinkLog.VERSION()
    session: Any = spark
    return sinks.FileStreamSinkLog(version, session._jsparkSession, f"{spark_uri(folder)}/{LOG}", nothing)
