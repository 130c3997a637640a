"""Dovetail end to end beside Spark's own stream-stream join, over the same files.

Each system runs in its own fresh process, warmed up first; repeats alternate between the two. Both must give
the counts of the batch join over the same files, or the benchmark fails. See `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Literal

from dovetail.errors import DovetailError


def parser(name: str = "interval", description: str | None = __doc__) -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog=f"dovetail bench {name}", description=description)
    add = parse.add_argument
    add("--rows", type=int, default=2_000_000, help="rows a side (default: %(default)s)")
    add("--files", type=int, default=20, help="Parquet files a side (default: %(default)s)")
    add("--seed", type=int, default=1, help="of the generator (default: %(default)s)")
    add(
        "--window-minutes",
        type=float,
        default=3.0,
        help="the join's bound on both sides, or a window's length (default: %(default)s)",
    )
    add(
        "--span-minutes",
        type=float,
        default=60.0,
        help="event time of the whole stream (default: %(default)s)",
    )
    add("--cores", type=int, default=2, help="of both systems' Spark master, local[N] (default: %(default)s)")
    add("--driver-memory", default="8g", help="the JVM's heap, for both (default: %(default)s)")
    add("--repeat", type=int, default=1, help="runs of each system, alternating (default: %(default)s)")
    add("--only", choices=("dovetail", "spark"), help="run one system alone")
    add("--data", type=Path, help="where to keep the generated files for the next time (default: nowhere)")
    add("--spark-state", choices=("default", "rocksdb"), default="default", help="Spark's state store")
    add(
        "--spark-files-per-trigger",
        type=int,
        help="Spark's batch size in files a side (default: all of them in one batch)",
    )
    add("--spark-partitions", type=int, help="Spark's shuffle partitions (default: the cores)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the table")
    return parse


def main(argv: list[str]) -> int:
    _make_importable()
    return run(parser(), argv, "interval")


def run(parse: argparse.ArgumentParser, argv: list[str], join: Literal["interval", "tumbling"]) -> int:
    """Compare the two systems as the arguments say, and tell."""
    from bench.comparison import compare
    from bench.report import show
    from bench.workload import Workload

    args = parse.parse_args(argv)
    for name in ("cores", "repeat", "spark_files_per_trigger", "spark_partitions", "window_minutes"):
        if getattr(args, name) is not None and getattr(args, name) <= 0:
            parse.error(f"--{name.replace('_', '-')} must be positive")
    try:
        workload = Workload(args.rows, args.files, args.seed, args.span_minutes)
    except ValueError as error:
        parse.error(str(error))
    try:
        report = compare(args, workload, join)
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            print(error, file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(report.to_json(), indent=1))
    else:
        show(report)
    return 0 if report.equal else 1


def _make_importable() -> None:
    """`dovetail bench` loads this file by its path: let it find the package it belongs to."""
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:
        sys.path.insert(0, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
