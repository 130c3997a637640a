"""Hours in minutes: several applications under steady traffic, and whether anything of theirs grows.

All joins run in one process at about one commit per second. Memory by kind of process, files, open handles
and latency are sampled, and after the warm-up each gets a slope with its error. A slope of memory, files or
handles that is larger than twice its error and than what the figure may drift ends it with status 1. See
`docs/how-to/benchmark.md`."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import Command, finish, tell
from bench.comparison import run_child
from dovetail.errors import DovetailError, InputError
from dovetail.service.cli.stop_signals import unwind_on_sigterm

if TYPE_CHECKING:
    from bench.soak_report import Soaked

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "how-to/benchmark.md"
PICTURE = DOCS / "pictures/soak.svg"


def command() -> Command:
    made = Command("soak", __doc__)
    made.number("--minutes", 30.0, "length of the measured time")
    made.number("--warm-up-minutes", 10.0, "time before it; workers and heap reach their size in it")
    made.number("--applications", 3, "joins that run at once")
    made.number("--rate", 500, "rows per second, side and application")
    made.number("--window", 60.0, "the joins' bound on both sides, in seconds")
    made.number("--history-minutes", 2.0, "how long the log keeps rows that no window can reach any more")
    made.number("--every", 1.0, "seconds between two files of a side")
    made.number("--sample", 5.0, "seconds between two samples")
    made.number("--cores", 2, "master local[N]")
    made.count("--seed", 1, "random seed")
    add = made.add_argument
    add("--system", choices=("dovetail", "spark", "pql"), default="dovetail", help="(default: dovetail)")
    add("--driver-memory", default="1g", help="the JVM's heap (default: 1g)")
    add("--plot", type=Path, help="draw all figures over time into this file (.svg or .png)")
    add("--write", action="store_true", help="renew the table and the plot of docs/how-to/benchmark.md")
    add(
        "--from",
        type=Path,
        dest="said",
        metavar="FILE",
        help="show, plot or write what --json has printed into this file; nothing runs",
    )
    return made


def main(argv: list[str]) -> int:
    made = command()
    args = made.parse_args(argv)
    if args.write and args.system != "dovetail":
        made.error("the page shows a run of Dovetail: --write goes with --system dovetail")
    from bench.soak_report import show

    unwind_on_sigterm()
    try:
        found = read(args.said) if args.said else run(args, made)
        if args.plot:
            from bench.soak_plots import draw

            draw(found, args.plot)
        if args.write:
            write(found, PAGE, PICTURE)
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    finish(args.json, found.to_json(), lambda: show(found))
    return 0 if found.level and not found.wrong else 1


def run(args: argparse.Namespace, made: Command) -> Soaked:
    from bench.live_traffic import Traffic
    from bench.soak_report import Soaked

    warm_up_s, measured_s = 60 * args.warm_up_minutes, 60 * args.minutes
    try:
        traffic = Traffic(
            args.rate, args.rate, warm_up_s + measured_s, args.every, args.window, seed=args.seed
        )
    except ValueError as error:
        made.error(str(error))
    said = soak(args, traffic, warm_up_s)
    return Soaked(said["samples"], warm_up_s, said["missing"], said["wrong"])


def read(path: Path) -> Soaked:
    """What an earlier run has found."""
    from bench.soak_report import Soaked

    try:
        return Soaked.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"no samples of a soak: {type(error).__name__}: {error}",
            where=str(path),
            expected="what `dovetail bench soak --json` printed",
        ) from error


def write(found: Soaked, page: Path, picture: Path) -> None:
    """The table and the plot of a run, also where something grows: the table says so. A run with wrong pairs,
    or one that ended before it could tell, stays out of the docs.
    """
    from bench.soak_plots import draw
    from bench.soak_report import shown
    from bench.tables import renew_tables

    if found.wrong or not found.table().rows:
        raise InputError(
            f"{found.wrong:,} wrong pairs" if found.wrong else "too few samples for a slope",
            where="the samples after the warm-up",
            expected="a run that can be shown",
            hint=f"{page.name} is left as it was",
        )
    draw(found, picture)
    renew_tables(page, {"soak": lambda: shown(found, os.path.relpath(picture, page.parent))})


def soak(args: argparse.Namespace, traffic: Any, warm_up_s: float) -> dict[str, Any]:
    from bench.live_files import stage
    from bench.soak_child import Order

    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        tell(f"writing {traffic.files} files per side")
        staged = stage(traffic, Path(work) / "staged", "parquet")
        folder = Path(work) / args.system
        folder.mkdir()
        order = Order(
            system=args.system,
            staged=staged.to_json(),
            applications=args.applications,
            sample_s=args.sample,
            warm_up_s=warm_up_s,
            history_s=60 * args.history_minutes,
            cores=args.cores,
            driver_memory=args.driver_memory,
            work=str(folder),
            outcome=str(folder / "outcome.json"),
            started_at=time.time(),
        )
        return run_child(order, args.system, "bench.soak_child")[0]
