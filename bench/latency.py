"""Latency from a row's arrival to its match: Dovetail beside Spark's own join, live, at several rates.

Small files appear by the clock, and a pair's latency is the time from the moment when its later row appeared
to the moment when the sink had it. Each system runs in its own fresh process, over the same files. Both must
give exactly the pairs that the traffic has, or the benchmark fails. See `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import Command, finish, tell
from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from bench.live_traffic import Traffic

RATES = "2000,20000,50000,100000"


def command() -> Command:
    made = Command("latency", __doc__)
    add = made.add_argument
    add("--rates", default=RATES, help=f"rows per second and side, with commas (default: {RATES})")
    made.number("--seconds", 40.0, "how long latency is measured at each rate")
    made.number("--warm-up", 20.0, "seconds of traffic before that")
    made.number("--patience", 60.0, "seconds after the last file in which pairs may still come out")
    made.number("--every", 0.25, "seconds between two files of a side")
    made.number("--cores", 2, "cores of both systems: master local[N]")
    made.count("--seed", 1, "random seed")
    add("--only", choices=("dovetail", "spark"), help="run one system alone")
    add("--format", choices=("parquet", "json"), default="parquet", help="of the files (default: parquet)")
    add(
        "--sink", choices=("arrow", "rows", "parquet"), default="arrow", help="where rows go (default: arrow)"
    )
    add("--trigger", help='of the query with the sink, such as "200 milliseconds" (default: none)')
    add("--driver-memory", default="4g", help="the JVM's heap, for both (default: 4g)")
    return made


def main(argv: list[str]) -> int:
    made = command()
    args = made.parse_args(argv)
    try:
        rates = [int(rate) for rate in args.rates.split(",")]
    except ValueError:
        made.error(f"--rates: {args.rates!r} is not a list of whole numbers")
    from bench.latency_report import Report, show
    from bench.live_traffic import Traffic

    seconds = args.warm_up + args.seconds
    found: list[dict[str, Any]] = []
    try:
        for rate in rates:
            traffic = Traffic(rate, rate, seconds, args.every, seed=args.seed)
            found += measure(args, traffic, f"{rate:,} rows/s")
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    report = Report(found)
    finish(args.json, report.to_json(), lambda: show(report))
    return 0 if report.right else 1


def measure(args: argparse.Namespace, traffic: Traffic, label: str, **more: Any) -> list[dict[str, Any]]:
    """All systems over the same files, one after the other."""
    from bench.child import SYSTEMS
    from bench.comparison import end_on_sigterm, run_child
    from bench.latency_child import Order
    from bench.live_files import stage

    end_on_sigterm()
    found = []
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        tell(f"{label}: writing {traffic.files} files per side")
        staged = stage(traffic, Path(work) / "staged", args.format)
        for system in (args.only,) if args.only else SYSTEMS:
            folder = Path(work) / system
            folder.mkdir()
            order = Order(
                system=system,
                staged=staged.to_json(),
                warm_up_s=args.warm_up,
                patience_s=args.patience,
                cores=args.cores,
                driver_memory=args.driver_memory,
                work=str(folder),
                outcome=str(folder / "outcome.json"),
                started_at=time.time(),
                sink=args.sink,
                trigger=args.trigger,
                **more,
            )
            said, peak_rss_bytes = run_child(order, f"{label}, {system}", "bench.latency_child")
            found.append({"label": label, "system": system, "peak_rss_bytes": peak_rss_bytes, **said})
    return found
