"""Spark's own join over the files of a restart, until it is killed: `python -m bench.recovery_spark ...`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from bench import spark_baseline
from bench.recovery_files import WINDOW_US
from bench.workload import Dataset, Workload

CORES, MEMORY = 2, "6g"


def main(files: Path, checkpoint: Path, state: str) -> None:
    setup = spark_baseline.SparkSetup(CORES, 1000, cast("spark_baseline.State", state))
    spark = spark_baseline.session(CORES, MEMORY, setup.conf())
    joined = spark_baseline.joined(spark, Dataset(Workload(), files, 1_000_000), WINDOW_US, 1000)
    query = joined.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
