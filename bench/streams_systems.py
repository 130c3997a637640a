"""Dovetail and Spark as `bench streams` runs them: all streams joined, the result written to Parquet files.

A join that feeds another one writes its rows, sliced, into the category of that one's left side.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from bench.measure import tree_use
from bench.spark_baseline import session
from bench.streams_between import once_more_cpu_s
from bench.streams_child import Figures, Intermediate
from bench.streams_work import CHOSEN, COLUMNS, Streams, columns, condition, query, written
from dovetail.log.category import Category, list_categories
from dovetail.service.cli.run import run_application
from dovetail.spark.session import open_session

_APPLICATION = "bench_streams"


class Dovetail:
    """The same call as `dovetail run --drain`."""

    def __init__(self, cores: int, driver_memory: str) -> None:
        self._master = f"local[{cores}]"
        self._spark = open_session(_APPLICATION, self._master, driver_memory, {})
        self._durations = _Durations()
        self._spark.streams.addListener(self._durations)

    def run(self, streams: Streams, max_delay_s: int, work: Path) -> Figures:
        work.mkdir(parents=True)
        pql, home, out = work / f"{_APPLICATION}.pql", str(work / "home"), work / "out"
        pql.write_text(query(streams, max_delay_s, out))
        self._durations.clear()
        began, used = time.perf_counter(), tree_use(os.getpid()).cpu_s
        run_application(
            pql,
            home=home,
            master=self._master,
            mode="drain",
            settings={},
            on_figures=lambda figures: None,
            spark=self._spark,
        )
        elapsed_s, cpu_s = time.perf_counter() - began, tree_use(os.getpid()).cpu_s - used
        self._durations.wait()
        queries_s = {name: ms / 1000 for name, ms in self._durations.busy_ms.items()}
        around_s = {name: ms / 1000 for name, ms in self._durations.around_ms.items()}
        steps_s = sum(seconds for name, seconds in around_s.items() if "_with_" in name)
        between = _between(home, work / "once-more", steps_s)
        return Figures(elapsed_s, cpu_s, written(streams, out), between, queries_s)


class _Durations(StreamingQueryListener):
    """How long the micro-batches of each query took, in all, and what of that was around their tasks: to plan
    them, to write offsets, to commit."""

    def __init__(self) -> None:
        self.busy_ms: Counter[str] = Counter()
        self.around_ms: Counter[str] = Counter()
        self._running: set[str] = set()

    def clear(self) -> None:
        self.busy_ms.clear()
        self.around_ms.clear()

    def wait(self, at_most_s: float = 30) -> None:
        """Until the last events are here: Spark sends them after a query has ended."""
        until = time.monotonic() + at_most_s
        while self._running and time.monotonic() < until:
            time.sleep(0.05)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress, name = event.progress, event.progress.name or ""
        self.busy_ms[name] += progress.batchDuration
        self.around_ms[name] += progress.batchDuration - progress.durationMs.get("addBatch", 0)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self._running.add(str(event.runId))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self._running.discard(str(event.runId))


def _between(home: str, scratch: Path, steps_s: float) -> Intermediate:
    """`<app>.<next join>.left` is what a join feeds on to the next one."""
    rows, sizes = Counter[str](), Counter[str]()
    for name in list_categories(home):
        category = Category.open(home, name)
        for commit in category.commits(category.first_commit(), category.next_commit()):
            rows[name] += commit.rows
            sizes[name] += commit.bytes
    # The last join has the view's name, and the others those of their right streams, which come in
    # alphabetical order: the first has the shortest name that goes on with one.
    lefts = [name for name in sizes if name.endswith(".left")]
    first = min(name for name in lefts if "_with_" in name)
    fed = [name for name in lefts if name != first]
    return Intermediate(
        sum(rows[name] for name in fed),
        sum(sizes[name] for name in fed),
        sizes.total(),
        once_more_cpu_s(home, fed, scratch),
        steps_s,
    )


class Spark:
    """Stream-stream joins in a chain, with a watermark on every input."""

    def __init__(self, cores: int, driver_memory: str) -> None:
        self._spark = session(cores, driver_memory, {"spark.sql.shuffle.partitions": str(cores)})

    def run(self, streams: Streams, max_delay_s: int, work: Path) -> Figures:
        out = work / "out"
        began, used = time.perf_counter(), tree_use(os.getpid()).cpu_s
        writer = chain(self._spark, streams, max_delay_s).writeStream.format("parquet")
        writer = writer.option("path", str(out)).option("checkpointLocation", str(work / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        elapsed_s, cpu_s = time.perf_counter() - began, tree_use(os.getpid()).cpu_s - used
        return Figures(elapsed_s, cpu_s, written(streams, out))


def chain(spark: SparkSession, streams: Streams, max_delay_s: int) -> DataFrame:
    """All files are one micro-batch, which is cheapest for Spark. Only the first stream's time is kept: Spark
    refuses rows with two watermarks in the next join, and no condition needs the others."""
    joined = _stream(spark, streams, "a", max_delay_s)
    for name in streams.names[1:]:
        other = _stream(spark, streams, name, max_delay_s).alias(name)
        both = joined.alias("a").join(other, F.expr(condition(streams, name)))
        kept = [f"a.`{column}`" for column in joined.columns]
        joined = both.select(*kept, *(f"{name}.{name}_{column}" for column in CHOSEN))
    return joined.select(*columns(streams))


def _stream(spark: SparkSession, streams: Streams, name: str, max_delay_s: int) -> DataFrame:
    rows = spark.readStream.schema(COLUMNS).parquet(str(streams.files_of(name)))
    named = [f"{column} AS {name}_{column}" for column in CHOSEN]
    return rows.selectExpr("eventtime", "key", *named).withWatermark("eventtime", f"{max_delay_s} seconds")
