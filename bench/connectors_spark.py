"""Spark's own Kafka source over the same topic, with the same parse: `python -m bench.connectors_spark`.

It runs in a process of its own. Rows are read with `availableNow`, parsed by `from_json` into the same
columns and given to Spark's `noop` sink, so nothing is written. The CPU time is that of the JVM and of this
process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from bench.measure import tree_use
from dovetail_dev.spark_kafka import kafka_source_jars

COLUMNS = "id BIGINT, user STRING, t TIMESTAMP, amount DOUBLE, note STRING"
_SAYS = "cpu seconds: "


def spark_cpu_s(brokers: str, topic: str, rows: int, repeat: int) -> list[float]:
    """CPU seconds of each run after a warm-up."""
    asked = [sys.executable, "-m", "bench.connectors_spark", brokers, topic, str(rows), str(repeat)]
    there = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # bench, dev and src
    done = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True, env=there)
    (said,) = (line for line in done.stdout.splitlines() if line.startswith(_SAYS))
    found: list[float] = json.loads(said.removeprefix(_SAYS))
    return found


def _measured(brokers: str, topic: str, rows: int, repeat: int) -> list[float]:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    jars = ",".join(map(str, kafka_source_jars()))
    cores = os.cpu_count() or 1
    builder: Any = SparkSession.builder
    spark = (
        builder.master(f"local[{cores}]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    taken_s = []
    for _ in range(repeat + 1):
        records = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", brokers)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
        )
        parsed = records.select(f.from_json(f.col("value").cast("string"), COLUMNS).alias("row")).select(
            "row.*"
        )
        with tempfile.TemporaryDirectory() as folder:
            began_s = tree_use(os.getpid()).cpu_s
            query = (
                parsed.writeStream.format("noop")
                .option("checkpointLocation", folder)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            taken_s.append(tree_use(os.getpid()).cpu_s - began_s)
            read = sum(progress["numInputRows"] for progress in query.recentProgress)
            assert read == rows, f"{read} of {rows} rows were read"
    spark.stop()
    return taken_s[1:]


if __name__ == "__main__":
    address, name, *numbers = sys.argv[1:]
    print(_SAYS + json.dumps(_measured(address, name, *map(int, numbers))))
