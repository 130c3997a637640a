"""Dovetail or Spark's own join over the files of `bench peers`, in a fresh process, with JSON files out.

`python -m bench.peers_child '<order as JSON>'`. Live they are those of `bench latency`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.peers_order import Order, timed
from bench.spark_baseline import SparkSetup, session
from dovetail.service.cli.run import run_application
from dovetail.spark.session import open_session

QUERY = """\
CREATE APPLICATION peers;

CREATE INPUT TABLE left_rows (eventtime TIMESTAMP, key BIGINT, {left_columns})
FROM FILES("{files}/left", format = "json");

CREATE INPUT TABLE right_rows (eventtime TIMESTAMP, key BIGINT, {right_columns})
FROM FILES("{files}/right", format = "json");

CREATE VIEW joined AS
SELECT l.key AS key, {select}
FROM left_rows AS l INNER JOIN right_rows AS r
  ON (l.key = r.key) AND
     (r.eventtime BETWEEN
        l.eventtime - INTERVAL '{window} seconds' AND
        l.eventtime + INTERVAL '{window} seconds')
  WITH (max_delay = INTERVAL '{delay} seconds');

CREATE TABLE results AS SELECT key, {names} FROM joined STORAGE JSON (path = "{out}");
"""


def query(order: Order, files: Path, out: Path) -> str:
    columns = [("l", name) for name in order.names("left")] + [("r", name) for name in order.names("right")]
    return QUERY.format(
        files=files,
        left_columns=order.columns["left"],
        right_columns=order.columns["right"],
        select=", ".join(f"{alias}.{name} AS {name}" for alias, name in columns),
        names=", ".join(name for _, name in columns),
        window=order.window_s,
        delay=order.delay_s,
        out=out,
    )


def by_dovetail(order: Order) -> Callable[[Path, Path], None]:
    """As `dovetail run --drain` does."""
    master = f"local[{order.cores}]"
    spark = open_session("peers", master, order.heap, {})

    def run(files: Path, out: Path) -> None:
        pql = out.with_suffix(".pql")
        pql.write_text(query(order, files, out))
        home = str(out.with_suffix(".home"))
        run_application(pql, home=home, master=master, mode="drain", settings={}, spark=spark)

    return run


def by_spark(order: Order) -> Callable[[Path, Path], None]:
    """All files in one micro-batch, which costs Spark least."""
    state = "rocksdb" if order.system == "spark-rocksdb" else "default"
    spark = session(order.cores, order.heap, SparkSetup(order.cores, 1, state).conf())

    def run(files: Path, out: Path) -> None:
        left, right = (_stream(spark, order, files, side) for side in ("left", "right"))
        window = f"INTERVAL '{order.window_s}' SECOND"
        on = F.expr(
            "left.key = right.key AND "
            f"right.eventtime BETWEEN left.eventtime - {window} AND left.eventtime + {window}"
        )
        pairs = left.join(right, on).select("left.key", *order.names("left"), *order.names("right"))
        writer = pairs.writeStream.format("json").option("path", str(out))
        writer = writer.option("checkpointLocation", str(out.with_suffix(".checkpoint")))
        writer.trigger(availableNow=True).start().awaitTermination()

    return run


def _stream(spark: SparkSession, order: Order, files: Path, side: str) -> DataFrame:
    schema = f"eventtime TIMESTAMP, key BIGINT, {order.columns[side]}"
    rows = spark.readStream.schema(schema).json(f"{files}/{side}")
    return rows.withWatermark("eventtime", f"{order.delay_s} seconds").alias(side)


if __name__ == "__main__":
    given = Order.from_json(sys.argv[1])
    timed(given, (by_dovetail if given.system == "dovetail" else by_spark)(given))
