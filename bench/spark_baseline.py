"""Spark's own stream-stream join over the workload's files, set up as well as we know how.

Left outer join within the window, or of both sides' windows and keys, watermarks on both sides, every column
of both sides in the result, results counted by `observe` and dropped by the no-op sink, `availableNow`. What
was tried and what was fastest is in `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.measure import Figures
from bench.workload import Dataset, Side

State = Literal["default", "rocksdb"]

_SCHEMAS: dict[Side, str] = {
    "left": "eventtime TIMESTAMP, key BIGINT, units BIGINT, amount DOUBLE, label STRING",
    "right": "eventtime TIMESTAMP, key BIGINT, quantity BIGINT, score DOUBLE, tag STRING",
}
_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


@dataclass(frozen=True)
class SparkSetup:
    """What can be tuned in Spark's favour."""

    partitions: int
    files_per_trigger: int
    state: State = "default"

    def conf(self) -> dict[str, str]:
        common = {
            "spark.sql.shuffle.partitions": str(self.partitions),
            "spark.sql.streaming.numRecentProgressUpdates": "100000",
        }
        return common | (_ROCKSDB if self.state == "rocksdb" else {})


def session(cores: int, driver_memory: str, conf: dict[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(f"local[{cores}]").appName("bench interval")
    quiet = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    for key, value in (quiet | conf).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def joined(
    spark: SparkSession, dataset: Dataset, window_us: int, files_per_trigger: int, join: str = "interval"
) -> DataFrame:
    sides = [_stream(spark, dataset, side, files_per_trigger) for side in ("left", "right")]
    if join == "tumbling":
        sides = [_windowed(side, window_us) for side in sides]
    left, right = (side.alias(name) for side, name in zip(sides, ("left", "right"), strict=True))
    window = f"INTERVAL '{window_us / 1e6:f}' SECOND"
    on = F.expr(
        "left.key = right.key AND "
        f"right.eventtime BETWEEN left.eventtime - {window} AND left.eventtime + {window}"
    )
    if join == "tumbling":
        on = F.expr("left.key = right.key AND left.window = right.window")
    both = left.join(right, on, "leftOuter")
    alone = F.col("right.key").isNull() & (F.col("left.key") >= 0)
    return both.observe(
        "results", F.count("right.key").alias("matched"), F.count_if(alone).alias("unmatched")
    )


def _windowed(side: DataFrame, window_us: int) -> DataFrame:
    """With its window, which has the watermark: Spark wants one such column, so the time is made plain."""
    window = F.window("eventtime", f"{window_us} microseconds")
    plain = F.timestamp_micros(F.unix_micros("eventtime"))
    return side.withColumn("window", window).withColumn("eventtime", plain)


def _stream(spark: SparkSession, dataset: Dataset, side: Side, files_per_trigger: int) -> DataFrame:
    options = {"maxFilesPerTrigger": files_per_trigger} | ({"header": True} if dataset.form == "csv" else {})
    read = spark.readStream.format(dataset.form).schema(_SCHEMAS[side]).options(**options)
    stream = read.load(str(dataset.inputs(side)))
    return stream.withWatermark("eventtime", f"{dataset.max_delay_us // 1_000_000} seconds")


def run(
    spark: SparkSession,
    dataset: Dataset,
    window_us: int,
    setup: SparkSetup,
    *,
    checkpoint: Path,
    tell: Callable[[str], None],
    join: str = "interval",
) -> Figures:
    """Work the files off and say what it took. `tell` hears of every micro-batch."""
    started = time.perf_counter()
    results = joined(spark, dataset, window_us, setup.files_per_trigger, join)
    query = (
        results.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    shown = -1
    while not query.awaitTermination(1):
        last = query.lastProgress
        if last is not None and last["batchId"] > shown:
            shown = last["batchId"]
            tell(f"batch {shown}: {last['numInputRows']:,} rows in {last['batchDuration'] / 1000:.1f} s")
    elapsed_s = time.perf_counter() - started
    return _figures(list(query.recentProgress), dataset, elapsed_s)


def _figures(batches: list[Any], dataset: Dataset, elapsed_s: float) -> Figures:
    counted = [(batch, batch["observedMetrics"]["results"]) for batch in batches]
    first = next((batch for batch, seen in counted if seen["matched"] or seen["unmatched"]), None)
    peak = max((batch["stateOperators"][0] for batch in batches), key=lambda state: state["numRowsTotal"])
    return Figures(
        elapsed_s=elapsed_s,
        input_rows=dataset.input_rows,
        matched=sum(seen["matched"] for _, seen in counted),
        unmatched=sum(seen["unmatched"] for _, seen in counted),
        first_result_at=_end_s(first) if first else None,
        state_rows=peak["numRowsTotal"],
        state_bytes=peak["memoryUsedBytes"],
        details={"batches": [_batch(batch) for batch in batches]},
    )


def _end_s(batch: Any) -> float:
    began = datetime.fromisoformat(batch["timestamp"].replace("Z", "+00:00")).timestamp()
    return began + float(batch["durationMs"]["triggerExecution"]) / 1000


def _batch(batch: Any) -> dict[str, Any]:
    state = batch["stateOperators"][0]
    return {
        "rows": batch["numInputRows"],
        "ms": dict(batch["durationMs"]),
        "state_rows": state["numRowsTotal"],
        "state_bytes": state["memoryUsedBytes"],
        "state_current_bytes": state["customMetrics"].get("stateOnCurrentVersionSizeBytes"),
        "state_ms": {name: state[name] for name in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")},
    }
