"""`dovetail.join` over topics that Spark's own Kafka source reads: its jars are those of a session, so the
program has a process of its own. It is run twice; the second run goes on and drains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from connectors.test_kafka_in import write
from connectors.topics import Topics
from dovetail_dev.spark_kafka import kafka_source_jars
from laws.effort import in_full
from spark.application import committed_files
from spark.batch import ON, count, database, differences, join_sql
from spark.command_line import environment
from spark.events import events

ROWS = 2_000
PROGRAM = """
import sys
import dovetail
from pyspark.sql import SparkSession, functions as f

jars, brokers, left, right, mode = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").config("spark.jars", jars)
    .config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false").getOrCreate()
)

def stream(topic):
    records = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
        .option("subscribe", topic).option("startingOffsets", "earliest").load()
    )
    row = f.from_json(records.value.cast("string"), "eventtime long, k long, id long").alias("row")
    time = f.timestamp_micros("row.eventtime").alias("eventtime")
    return records.select(row).select(time, "row.k", "row.id")

joined = dovetail.join(
    stream(left), stream(right), "k", how="full", left_time="eventtime", right_time="eventtime",
    before="2 minutes", after="3 minutes", max_delay="1 day", name="of_spark", home="home", mode=mode,
)
rows = joined.select("id", "id_right").writeStream.format("parquet")
rows.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start("out").awaitTermination()
spark.stop()
"""


@in_full
def test_topics_that_spark_reads(tmp_path: Path, topics: Topics) -> None:
    left, right = events(ROWS, 300, seed=1), events(ROWS, 300, seed=2)
    names = topics.make("l", 3), topics.make("r", 2)
    jars = ",".join(map(str, kafka_source_jars()))
    for part, mode in enumerate(("available-now", "drain")):
        for topic, rows in zip(names, (left, right), strict=True):
            write(topics, topic, rows.slice(part * ROWS // 2, ROWS // 2))
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, jars, topics.address, *names, mode],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    db = database(l=left, r=right, found=committed_files(tmp_path / "out"))
    expected = join_sql("full", "l.id, r.id", ON)
    assert count(db, expected) > ROWS
    assert differences(db, "SELECT id, id_right FROM found", expected) == {}
