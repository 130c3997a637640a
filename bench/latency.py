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
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import Command, finish, tell
from bench.comparison import run_child
from bench.latency_parts import PARTS, Case, cases
from bench.latency_places import Whereabouts, at
from dovetail.errors import DovetailError
from dovetail.service.cli.stop_signals import unwind_on_sigterm

if TYPE_CHECKING:
    from bench.live_files import Staged

RATES = "2000,20000,50000,100000"
SYSTEMS = ("dovetail", "spark", "pql")
DEFAULT_SYSTEMS = SYSTEMS[:2]


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
    made.number("--idle", 30.0, "seconds of silence before the burst")
    add("--part", choices=PARTS, action="append", help="kind of traffic; can be repeated (default: rates)")
    add(
        "--only",
        choices=SYSTEMS,
        action="append",
        help="one system; can be repeated (default: dovetail, spark)",
    )
    add("--format", choices=("parquet", "json"), default="parquet", help="of the files (default: parquet)")
    add(
        "--sink", choices=("arrow", "rows", "parquet"), default="arrow", help="where rows go (default: arrow)"
    )
    add("--trigger", help='of the query with the sink, such as "200 milliseconds" (default: none)')
    made.number("--tasks", None, "tasks of Dovetail's join; default: one per core")
    add("--own-session", action="store_true", help="dovetail.join in a session as `dovetail run` makes it")
    add("--driver-memory", default="4g", help="the JVM's heap, for both (default: 4g)")
    add("--plot", type=Path, help="draw latency over time into this file (.svg or .png)")
    return made


def main(argv: list[str]) -> int:
    made = command()
    args = made.parse_args(argv)
    try:
        rates = [int(rate) for rate in args.rates.split(",")]
    except ValueError:
        made.error(f"--rates: {args.rates!r} is not a list of whole numbers")
    from bench.latency_report import Report, show

    unwind_on_sigterm()
    try:
        report = Report([one for case in cases(args, rates) for one in measure(args, case)])
    except ValueError as error:
        made.error(str(error))
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    if args.plot:
        from bench.latency_plots import draw

        draw(report, args.plot)
    finish(args.json, report.to_json(), lambda: show(report))
    return 0 if report.right else 1


def measure(args: argparse.Namespace, case: Case) -> list[dict[str, Any]]:
    """All systems over the same files, one after the other."""
    from bench.live_files import stage

    found = []
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        tell(f"{case.label}: writing {case.traffic.files} files per side")
        staged = stage(case.traffic, Path(work) / "staged", args.format)
        for system in case.systems or args.only or DEFAULT_SYSTEMS:
            folder = Path(work) / system
            folder.mkdir()
            with at(case.place, folder) as where:
                if case.restart_at is not None:
                    run(args, case, system, staged, folder, where, (0, case.restart_at))
                files = (case.restart_at or 0, case.traffic.files)
                said = run(args, case, system, staged, folder, where, files)
            found.append({"label": case.label, "part": case.part, "system": system, **said})
    return found


def run(
    args: argparse.Namespace,
    case: Case,
    system: str,
    staged: Staged,
    folder: Path,
    where: Whereabouts,
    files: tuple[int, int],
) -> dict[str, Any]:
    """One process, with the files from the first number to before the second."""
    from bench.latency_child import Order

    order = Order(
        system=system,  # type: ignore[arg-type]
        staged=staged.to_json(),
        warm_up_s=case.warm_up_s,
        patience_s=args.patience,
        cores=args.cores,
        driver_memory=args.driver_memory,
        work=str(folder),
        outcome=str(folder / "outcome.json"),
        started_at=time.time(),
        begin=files[0],
        end=files[1],
        sink=args.sink,
        trigger=args.trigger,
        how=case.how,
        applications=case.applications,
        tasks=args.tasks,
        own_session=args.own_session and system == "dovetail",
        shape=case.shape,
        **asdict(where),
    )
    said, peak_rss_bytes = run_child(order, f"{case.label}, {system}", "bench.latency_child")
    return {**said, "peak_rss_bytes": peak_rss_bytes}
