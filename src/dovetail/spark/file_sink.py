"""Files that tasks have written themselves join the output of Spark's file sink.

Law: `_spark_metadata` names the files of each micro-batch once. It is Spark's own log, written through its
own class, or as that writes it where Spark is not there yet (`file_list.py`). So readers see no difference,
and a path to which Spark's file sink has written stays as it is. Spark does the same in the same order: it
skips a batch that the log has, and names files after they are written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from pyspark.sql import SparkSession

from dovetail.crash_points import crash_point
from dovetail.errors import StateError
from dovetail.slicing.parquet_output import WrittenFile
from dovetail.spark.file_list import BLOCK_BYTES, LOG
from dovetail.spark.s3 import spark_uri


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
        named[number] = kind(file.uri, file.size, False, file.modified_ms, 1, BLOCK_BYTES, "add")
    if not log.add(batch, named):
        raise StateError(
            f"another run has written batch {batch} of this output",
            where=os.path.join(folder, LOG),
            expected="one run at a time for each output",
            hint="stop the other run, or give this application a path of its own",
        )


def last_named(spark: SparkSession, path: str) -> int:
    """The last batch that the output at a path has; -1: none."""
    last = _sink_log(spark, path).getLatestBatchId()
    return int(last.get()) if last.isDefined() else -1


def fill_gaps(spark: SparkSession, path: str, until: int) -> None:
    """Let the output have all batches up to this one, those that are missing without files. Spark puts the
    lists of several batches together now and then, and stops at one that is not there."""
    log, last = _sink_log(spark, path), last_named(spark, path)
    if last < 0 and until >= 0:
        last = _begin_whole(spark, path, until)
    gateway: Any = spark.sparkContext._gateway
    jvm: Any = spark.sparkContext._jvm
    nothing = gateway.new_array(jvm.org.apache.spark.sql.execution.streaming.sinks.SinkFileStatus, 0)
    for batch in range(last + 1, until + 1):
        log.add(batch, nothing)


def _begin_whole(spark: SparkSession, path: str, until: int) -> int:
    """Begin the list of a new output with one that was put together: it stands for all batches before it,
    however many there were. Gives its number; -1 if there is no need for one yet."""
    every = int(str(spark.conf.get("spark.sql.streaming.fileSink.log.compactInterval")))
    whole = (until + 1) // every * every - 1
    if whole >= 0:
        jvm: Any = spark.sparkContext._jvm
        session: Any = spark
        file = jvm.org.apache.hadoop.fs.Path(f"{spark_uri(path)}/{LOG}/{whole}.compact")
        files = file.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        with closing(files.create(file, True)) as output:
            output.write(b"v1")
    return whole


def _sink_log(spark: SparkSession, folder: str) -> Any:
    jvm: Any = spark.sparkContext._jvm
    sinks = jvm.org.apache.spark.sql.execution.streaming.sinks
    nothing = jvm.scala.Option.empty()
    version = sinks.FileStreamSinkLog.VERSION()
    session: Any = spark
    return sinks.FileStreamSinkLog(version, session._jsparkSession, f"{spark_uri(folder)}/{LOG}", nothing)
