"""Dovetail, Spark's own join, Flink SQL and Pathway over the same files, each in its own process.

All of them join two streams of JSON files within ±3 minutes and write the pairs as JSON files, which must be
those of DuckDB's batch join, or the benchmark fails. Then each joins live files at a low rate, for latency.
Flink and Pathway are installed on request. See `docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.command import Command, finish, tell
from bench.comparison import run_child
from bench.peers_install import PACKAGES, default_folder, python_of
from bench.peers_order import Order
from dovetail.errors import DovetailError
from dovetail.service.cli.stop_signals import unwind_on_sigterm

if TYPE_CHECKING:
    from bench.peers_report import Ran, Report
    from bench.peers_work import Work

SYSTEMS = ("dovetail", "spark", "spark-rocksdb", "flink", "pathway")
WARM_UP_ROWS, WARM_UP_FILES = 50_000, 4
README = Path(__file__).resolve().parent.parent / "README.md"


def command() -> Command:
    made = Command("peers", __doc__)
    made.number("--rows", 500_000, "rows per side")
    made.number("--files", 20, "files per side")
    made.count("--seed", 1, "random seed")
    made.number("--cores", 2, "cores of each system")
    made.count("--rate", 2_000, "rows per second and side for latency; 0 leaves it out")
    made.number("--seconds", 10.0, "how long latency is measured")
    made.number("--warm-up", 8.0, "seconds of traffic before that")
    add = made.add_argument
    add("--only", choices=SYSTEMS, action="append", help="one system; can be repeated")
    add("--heap", default="4g", help="the JVM's heap, for those that have one (default: 4g)")
    add("--install", action="store_true", help="install Flink and Pathway from PyPI if they are not there")
    add(
        "--peers-dir",
        type=Path,
        default=default_folder(),
        help="where they are installed (default: dovetail-bench-peers in the user's cache)",
    )
    add("--write", action="store_true", help="renew the table of the README")
    return made


def main(argv: list[str]) -> int:
    args = command().parse_args(argv)
    from bench.peers_report import show
    from bench.tables import renew_tables

    unwind_on_sigterm()
    try:
        with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
            report = measure(args, Path(folder))
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    if args.write and report.equal:
        renew_tables(README, {"peers": report.table().markdown})
    finish(args.json, report.to_json(), lambda: show(report))
    return 0 if report.equal else 1


def measure(args: argparse.Namespace, folder: Path) -> Report:
    from bench.live_files import stage
    from bench.live_traffic import Traffic
    from bench.peers_live import live
    from bench.peers_report import LeftOut, Report
    from bench.peers_work import Work

    tell("writing the files")
    work = Work(folder / "timed", args.rows, args.files, args.seed)
    warm_up = Work(
        folder / "warm-up", min(WARM_UP_ROWS, args.rows), min(WARM_UP_FILES, args.files), args.seed
    )
    for one in (work, warm_up):
        one.write()
    report = Report(args.rows, args.rate, args.cores, work.expected())
    tell(f"batch join: {report.expected.pairs:,} pairs")
    staged = None
    if args.rate:
        traffic = Traffic(args.rate, args.rate, args.warm_up + args.seconds, seed=args.seed)
        staged = stage(traffic, folder / "staged", "json")
    for system in args.only or SYSTEMS:
        try:
            python = python_of(system, args.peers_dir, args.install)
            report.ran[system] = at_rest(order(args, system, work, warm_up, folder / system), python)
            tell(f"{system}: {report.rows_per_s(system):,.0f} rows/s")
            if staged:
                report.live[system] = live(args, system, python, staged, folder / f"{system}-live")
        except DovetailError as error:
            if system not in PACKAGES:
                raise
            report.left_out.append(LeftOut(system, _reason(error.what)))
            tell(f"{system} is left out: {error}")
    return report


def _reason(what: str) -> str:
    """The last line of a log that names an error; else the last one."""
    lines = [line.strip() for line in what.splitlines() if line.strip()]
    return next((line for line in lines[::-1] if re.search(r"(Error|Exception): ", line)), lines[-1])


def order(args: argparse.Namespace, system: str, work: Work, warm_up: Work, folder: Path) -> Order:
    from bench.peers_work import COLUMNS, DELAY_S, WINDOW_S

    return Order(
        system=system,
        files=str(work.path),
        warm_up=str(warm_up.path),
        columns=COLUMNS,
        window_s=WINDOW_S,
        delay_s=DELAY_S,
        cores=args.cores,
        heap=args.heap,
        work=str(folder),
        outcome=str(folder / "outcome.json"),
        started_at=time.time(),
    )


def at_rest(order: Order, python: str) -> Ran:
    """The timed run over files that are all there."""
    from bench.peers_report import Ran
    from bench.peers_work import found
    from bench.process_memory import peak_pss

    Path(order.work).mkdir()
    module = f"bench.peers_{order.system}" if order.system in PACKAGES else "bench.peers_child"
    said, peak = run_child(order, order.system, module, python=python, peak_of=peak_pss)
    return Ran(said["elapsed_s"], said["cpu_s"], peak, found(Path(said["out"])))
