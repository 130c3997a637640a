"""Dovetail and Spark as `bench latency` runs them: a join of live files, each batch of its rows stamped.

Both run in the same kind of session, one that a user would make, with as many shuffle partitions as cores.
Both results have all columns of both sides, and go to the same sink. A batch is stamped when all its rows
are where the sink puts them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import dovetail
from bench.latency_parts import Shape
from bench.live_files import COLUMNS, Format
from bench.live_traffic import Traffic
from bench.workload import Side

System = Literal["dovetail", "spark", "pql"]
How = Literal["inner", "left"]
Sink = Literal["arrow", "rows", "parquet"]
SEEN = ("key", "left_file", "right_file")


class Batch(NamedTuple):
    """Rows that came out together, and when they were there."""

    at: float
    rows: pa.Table


@dataclass(frozen=True)
class Application:
    """One join: where its files appear, where it may write, and what it is called."""

    files: Path
    work: Path
    name: str
    traffic: Traffic
    format: Format
    how: How
    tasks: int | None = None
    shape: Shape = "interval"
    home: str | None = None
    history_s: float | None = None

    @property
    def home_at(self) -> str:
        return f"{self.home}/{self.name}" if self.home else str(self.work / "home")


def stream(spark: SparkSession, application: Application, side: Side) -> DataFrame:
    reader = spark.readStream.schema(COLUMNS[side]).format(application.format)
    return reader.load(str(application.files / side))


def by_dovetail(spark: SparkSession, application: Application) -> DataFrame:
    kept = {} if application.history_s is None else {"history": f"{application.history_s:g} seconds"}
    return dovetail.join(
        stream(spark, application, "left"),
        stream(spark, application, "right"),
        on="key",
        how=application.how,
        left_time="eventtime",
        right_time="eventtime",
        before=f"{application.traffic.window_s:g} seconds",
        after=f"{application.traffic.window_s:g} seconds",
        max_delay=f"{application.traffic.max_delay_s} seconds",
        name=application.name,
        home=application.home_at,
        tasks=application.tasks,
        **kept,
    )


def by_spark(spark: SparkSession, application: Application) -> DataFrame:
    delay = f"{application.traffic.max_delay_s} seconds"
    left, right = (
        stream(spark, application, side).withWatermark("eventtime", delay).alias(side)
        for side in ("left", "right")
    )
    window = f"INTERVAL '{application.traffic.window_s:f}' SECOND"
    on = F.expr(
        "left.key = right.key AND "
        f"right.eventtime BETWEEN left.eventtime - {window} AND left.eventtime + {window}"
    )
    both = left.join(right, on, "inner" if application.how == "inner" else "leftOuter")
    return both.select(
        "left.*", F.col("right.eventtime").alias("eventtime_right"), "right_file", "score", "tag"
    )


class Batches:
    """What came out so far. `first` is set with the first row."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.first = threading.Event()
        self.first_at = float("nan")
        self.rows = 0

    def take(self, at: float, rows: pa.Table) -> None:
        self.batches.append(Batch(at, rows))
        self.rows += rows.num_rows
        if rows.num_rows and not self.first.is_set():
            self.first_at = at
            self.first.set()


class StampedSink(Batches):
    """`foreachBatch` calls it."""

    def __init__(self, kind: Sink, folder: Path) -> None:
        super().__init__()
        self._put: Callable[[DataFrame, int], pa.Table] = {
            "arrow": _as_arrow,
            "rows": _as_rows,
            "parquet": lambda rows, batch: _as_files(rows, folder / str(batch)),
        }[kind]

    def __call__(self, rows: DataFrame, batch: int) -> None:
        found = self._put(rows, batch)
        self.take(time.time(), found)


def _as_arrow(rows: DataFrame, batch: int) -> pa.Table:
    return rows.select(*SEEN).toArrow()


def _as_rows(rows: DataFrame, batch: int) -> pa.Table:
    found = rows.select(*SEEN).collect()
    return pa.table({name: pa.array([row[name] for row in found], pa.int64()) for name in SEEN})


def _as_files(rows: DataFrame, folder: Path) -> pa.Table:
    rows.write.mode("overwrite").parquet(str(folder))
    return pq.read_table(folder, columns=list(SEEN))


def start(
    spark: SparkSession, system: System, application: Application, sink: StampedSink, trigger: str | None
) -> StreamingQuery:
    """Without a trigger the next micro-batch begins as soon as there are rows, which serves both best."""
    joined = (by_spark if system == "spark" else by_dovetail)(spark, application)
    writer = joined.writeStream.foreachBatch(sink).queryName(f"{application.name}.out")
    writer = writer.option("checkpointLocation", str(application.work / "checkpoint"))
    return (writer.trigger(processingTime=trigger) if trigger else writer).start()


class Phases(NamedTuple):
    """A micro-batch as Spark reports it. `at`: when it began, in seconds since the epoch."""

    query: str
    at: float
    rows: int
    ms: dict[str, int]


def phases(queries: list[StreamingQuery]) -> list[Phases]:
    found = []
    for query in queries:
        for progress in query.recentProgress:
            said = json.loads(progress.json) if hasattr(progress, "json") else dict(progress)
            began = datetime.fromisoformat(said["timestamp"].replace("Z", "+00:00")).timestamp()
            name = (query.name or str(query.id)).rpartition(".")[2]
            found.append(Phases(name, began, said["numInputRows"], said["durationMs"]))
    return found
