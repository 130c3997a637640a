"""Dovetail end to end beside Spark's own stream-stream join, over the same files.

Each system runs in its own fresh process, warmed up first; repeats alternate between the two. Both must give
the counts of the batch join over the same files, or the benchmark fails. See `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from bench.command import Command, finish, tell
from dovetail.errors import DovetailError


def command(name: str = "interval", description: str | None = __doc__) -> Command:
    made = Command(name, description)
    made.count("--rows", 2_000_000, "rows per side")
    made.count("--files", 20, "Parquet files per side")
    made.count("--seed", 1, "random seed")
    made.number("--window-minutes", 3.0, "the join's bound on both sides, or a window's length")
    made.number("--span-minutes", 60.0, "event time of the whole stream")
    made.number("--cores", 2, "cores of both systems: master local[N]")
    made.number("--repeat", 1, "runs of each system, alternating")
    made.number("--spark-files-per-trigger", None, "Spark's batch size in files per side; default: all")
    made.number("--spark-partitions", None, "Spark's shuffle partitions; default: one per core")
    add = made.add_argument
    add("--format", choices=("parquet", "json", "csv"), default="parquet", help="of the files (parquet)")
    add("--driver-memory", default="8g", help="the JVM's heap, for both (default: 8g)")
    add("--only", choices=("dovetail", "spark"), help="run one system alone")
    add("--data", type=Path, help="keep the generated files in this folder, for the next time")
    add("--spark-state", choices=("default", "rocksdb"), default="default", help="Spark's state store")
    return made


def main(argv: list[str]) -> int:
    return run(command(), argv, "interval")


def run(made: Command, argv: list[str], join: Literal["interval", "tumbling"]) -> int:
    """Compare the two systems as the arguments say, and report."""
    from bench.comparison import compare
    from bench.report import show
    from bench.workload import Workload

    args = made.parse_args(argv)
    try:
        workload = Workload(args.rows, args.files, args.seed, args.span_minutes)
    except ValueError as error:
        made.error(str(error))
    try:
        report = compare(args, workload, join)
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    finish(args.json, report.to_json(), lambda: show(report))
    return 0 if report.equal else 1
