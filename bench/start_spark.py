"""Spark's own join, until it is killed: `python -m bench.start_spark FILES STATE OUT CORES`."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import functions as F

from bench import spark_baseline
from bench.start import WINDOW_US
from bench.workload import Dataset, Workload


def run(files: Path, state: Path, out: Path, cores: int) -> None:
    setup = spark_baseline.SparkSetup(cores, 1000)
    spark = spark_baseline.session(cores, "1g", setup.conf())
    both = spark_baseline.joined(spark, Dataset(Workload(), files, 1_000_000), WINDOW_US, 1000)
    names = [
        F.col(f"{side}.{name}").alias(f"{side}_{name}")
        for side, kept in (
            ("left", ("eventtime", "key", "units", "amount", "label")),
            ("right", ("eventtime", "key", "quantity", "score", "tag")),
        )
        for name in kept
    ]
    query = (
        both.select(*names)
        .writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(state))
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
