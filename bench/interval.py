"""`dovetail bench interval`: Dovetail end to end beside Spark's own stream-stream join, over the same files.

Each system runs in its own fresh process, warmed up first; repeats alternate between the two. Both must give
the counts of the batch join over the same files, or the benchmark fails. See `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.child import SYSTEMS, Order, System, dataset_to_json
from bench.measure import PeakRss
from bench.reference import Counts, batch_join
from bench.report import Outcome, Report, show
from bench.workload import Dataset, Workload, generate
from dovetail.errors import DovetailError, RunError

WARM_UP_ROWS, WARM_UP_FILES = 40_000, 2
_ROOT = Path(__file__).resolve().parent.parent


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="dovetail bench interval", description=__doc__)
    add = parse.add_argument
    add("--rows", type=int, default=2_000_000, help="rows a side (default: %(default)s)")
    add("--files", type=int, default=20, help="Parquet files a side (default: %(default)s)")
    add("--seed", type=int, default=1, help="of the generator (default: %(default)s)")
    add("--window-minutes", type=float, default=3.0, help="the join's bound on both sides (default: %(default)s)")
    add("--span-minutes", type=float, default=60.0, help="event time of the whole stream (default: %(default)s)")
    add("--cores", type=int, default=2, help="of both systems' Spark master, local[N] (default: %(default)s)")
    add("--driver-memory", default="8g", help="the JVM's heap, for both (default: %(default)s)")
    add("--repeat", type=int, default=1, help="runs of each system, alternating (default: %(default)s)")
    add("--only", choices=SYSTEMS, help="run one system alone")
    add("--data", type=Path, help="where to keep the generated files for the next time (default: nowhere)")
    add("--spark-state", choices=("default", "rocksdb"), default="default", help="Spark's state store")
    add("--spark-files-per-trigger", type=int, default=2, help="Spark's batch size in files (default: %(default)s)")
    add("--spark-partitions", type=int, help="Spark's shuffle partitions (default: the cores)")
    add("--json", action="store_true", help="one JSON document on standard output instead of the table")
    return parse


def main(argv: list[str]) -> int:
    parse = parser()
    args = parse.parse_args(argv)
    for name in ("cores", "repeat", "spark_files_per_trigger", "window_minutes"):
        if getattr(args, name) <= 0:
            parse.error(f"--{name.replace('_', '-')} must be positive")
    try:
        workload = Workload(args.rows, args.files, args.seed, args.span_minutes)
    except ValueError as error:
        parse.error(str(error))
    try:
        report = _measure(args, workload)
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


def _measure(args: argparse.Namespace, workload: Workload) -> Report:
    window_us = round(args.window_minutes * 60_000_000)
    spark_setup = {
        "partitions": args.spark_partitions or args.cores,
        "files_per_trigger": args.spark_files_per_trigger,
        "state": args.spark_state,
    }
    systems = (args.only,) if args.only else SYSTEMS
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        data: Path = args.data or Path(work) / "data"
        _tell("writing the workload" if args.data is None else f"workload in {data}")
        timed = generate(workload, data)
        warm_up = generate(Workload(WARM_UP_ROWS, WARM_UP_FILES, args.seed, args.span_minutes), data)
        expected = batch_join(timed, window_us)
        _tell(f"batch join: {expected.matched:,} pairs, {expected.unmatched:,} left rows alone")
        outcomes, versions = [], {}
        for repeat in range(args.repeat):
            for system in systems:
                label = f"{system} {repeat + 1}/{args.repeat}"
                order = _order(args, system, warm_up, timed, window_us, spark_setup, Path(work) / f"{system}-{repeat}")
                said, peak_rss_bytes = _run_child(order, label)
                versions |= said["versions"]
                outcomes.append(_outcome(system, said, peak_rss_bytes))
                _tell(f"{label}: {outcomes[-1].rows_per_s:,.0f} rows/s in {outcomes[-1].elapsed_s:.1f} s")
    return Report(
        rows=workload.rows,
        window_minutes=args.window_minutes,
        max_delay_s=timed.max_delay_us / 1e6,
        cores=args.cores,
        repeats=args.repeat,
        expected=expected,
        outcomes=tuple(outcomes),
        versions=versions,
        spark_setup=spark_setup,
    )


def _order(
    args: argparse.Namespace,
    system: System,
    warm_up: Dataset,
    timed: Dataset,
    window_us: int,
    spark_setup: dict[str, Any],
    work: Path,
) -> Order:
    work.mkdir()
    return Order(
        system=system,
        warm_up=dataset_to_json(warm_up),
        timed=dataset_to_json(timed),
        window_us=window_us,
        cores=args.cores,
        driver_memory=args.driver_memory,
        spark=spark_setup,
        work=str(work),
        outcome=str(work / "outcome.json"),
        started_at=time.time(),
    )


def _run_child(order: Order, label: str) -> tuple[dict[str, Any], int]:
    """Run one system in a fresh process; show its progress, keep its log for the case that it fails."""
    log = Path(order.work) / "log.txt"
    paths = [str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with log.open("w") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", "bench.child", order.to_json()],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=order.work,
        )
        try:
            with PeakRss(child.pid) as peak:
                assert child.stdout is not None
                for line in child.stdout:
                    _tell(f"{label}, {line.rstrip()}")
                child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    if child.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise RunError(f"the {order.system} run failed with exit code {child.returncode}:\n{tail}", where=label)
    return json.loads(Path(order.outcome).read_text()), peak.bytes


def _outcome(system: System, said: dict[str, Any], peak_rss_bytes: int) -> Outcome:
    figures = said["figures"]
    return Outcome(
        system=system,
        elapsed_s=figures["elapsed_s"],
        rows_per_s=figures["input_rows"] / figures["elapsed_s"],
        cpu_s=said["cpu_s"],
        cold_start_s=said["cold_start_s"],
        peak_rss_bytes=peak_rss_bytes,
        state_rows=figures["state_rows"],
        state_bytes=figures["state_bytes"],
        counts=Counts(figures["matched"], figures["unmatched"]),
        details=figures["details"],
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
