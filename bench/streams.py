"""Joins of three and five streams in one view, beside Spark's own joins in a chain, over the same files.

Each system runs in its own fresh process, warmed up first; repeats alternate between the two. Both must give
the rows of the batch join, by count and hash, or the benchmark fails. For Dovetail it also says what the rows
between the joins take, which is the most that one operator for all streams could save. See
`docs/how-to/benchmark.md`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import Command, finish, tell
from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from rich.table import Table

    from bench.child import System
    from bench.streams_child import Figures
    from bench.streams_work import Result, Streams

WARM_UP_ROWS = 20_000
COUNTS = (3, 5)


def command() -> Command:
    made = Command("streams", __doc__)
    made.count("--rows", 300_000, "rows per stream")
    made.count("--files", 8, "Parquet files per stream")
    made.count("--seed", 1, "random seed")
    made.number("--partners", 1.0, "rows of each other stream that a row finds, on average")
    made.number("--cores", 2, "cores of both systems: master local[N]")
    made.number("--repeat", 1, "runs of each system, alternating")
    add = made.add_argument
    add("--streams", type=int, action="append", help="how many streams; can be repeated (default: 3 and 5)")
    add("--driver-memory", default="4g", help="the JVM's heap, for both (default: 4g)")
    add("--only", choices=("dovetail", "spark"), help="run one system alone")
    return made


@dataclass(frozen=True)
class Joined:
    """All runs over one number of streams."""

    streams: int
    input_rows: int
    expected: Result
    runs: dict[str, list[Figures]]

    @property
    def equal(self) -> bool:
        return all(run.result == self.expected for runs in self.runs.values() for run in runs)

    def rows_per_s(self, system: str) -> list[float]:
        return [self.input_rows / run.elapsed_s for run in self.runs[system]]

    @property
    def ratio(self) -> float | None:
        """For the medians, Dovetail's rate to Spark's."""
        if len(self.runs) < 2:
            return None
        return statistics.median(self.rows_per_s("dovetail")) / statistics.median(self.rows_per_s("spark"))

    @property
    def between(self) -> dict[str, float] | None:
        """What the rows between joins take, and the steps of all joins but one: shares of the log's bytes, of
        the CPU time and of the run's time."""
        found = [(run, run.intermediate) for run in self.runs.get("dovetail", []) if run.intermediate]
        if not found:
            return None
        return {
            "bytes": statistics.median(one.bytes / one.log_bytes for _, one in found),
            "cpu": statistics.median(one.once_more_cpu_s / run.cpu_s for run, one in found),
            "steps": statistics.median(one.steps_s / run.elapsed_s for run, one in found),
        }

    def to_json(self) -> dict[str, Any]:
        rates = {f"{system}_rows_per_s": self.rows_per_s(system) for system in self.runs}
        found = {"between_share": self.between, "ratio": self.ratio, "equal": self.equal}
        return {**asdict(self), **rates, **found}


def main(argv: list[str]) -> int:
    from bench.streams_work import Streams

    made = command()
    args = made.parse_args(argv)
    try:
        wanted = [
            Streams("", count, args.rows, args.files, args.seed, args.partners)
            for count in args.streams or COUNTS
        ]
    except ValueError as error:
        made.error(str(error))
    try:
        found = [measure(args, streams) for streams in wanted]
    except DovetailError as error:
        if args.json:
            print(json.dumps(error.to_json()))
        else:
            tell(str(error))
        return 1
    finish(args.json, [one.to_json() for one in found], lambda: show(found))
    return 0 if all(one.equal for one in found) else 1


def measure(args: argparse.Namespace, streams: Streams) -> Joined:
    from bench.child import SYSTEMS
    from bench.comparison import run_child
    from bench.streams_child import Figures, Order
    from bench.streams_work import batch_join
    from dovetail.service.cli.stop_signals import unwind_on_sigterm

    unwind_on_sigterm()
    systems: tuple[System, ...] = (args.only,) if args.only else SYSTEMS
    runs: dict[str, list[Figures]] = {system: [] for system in systems}
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        timed = replace(streams, path=f"{work}/timed")
        warm_rows = min(WARM_UP_ROWS, streams.rows)
        warm_up = replace(streams, path=f"{work}/warm-up", rows=warm_rows)
        max_delay_s = max(timed.generate(), warm_up.generate())
        expected = batch_join(timed)
        tell(f"{streams.count} streams, batch join: {expected.rows:,} rows")
        for repeat in range(args.repeat):
            for system in systems:
                label = f"{streams.count} streams, {system} {repeat + 1}/{args.repeat}"
                folder = Path(work) / f"{system}-{repeat}"
                folder.mkdir()
                order = Order(
                    system=system,
                    warm_up=asdict(warm_up),
                    timed=asdict(timed),
                    max_delay_s=max_delay_s,
                    cores=args.cores,
                    driver_memory=args.driver_memory,
                    work=str(folder),
                    outcome=str(folder / "outcome.json"),
                    started_at=time.time(),
                )
                said, _ = run_child(order, label, "bench.streams_child")
                figures = Figures.from_json(said)
                runs[system].append(figures)
                rate = timed.input_rows / figures.elapsed_s
                tell(f"{label}: {rate:,.0f} rows/s in {figures.elapsed_s:.1f} s")
    return Joined(streams.count, timed.input_rows, expected, runs)


def show(found: Sequence[Joined]) -> None:
    from rich.console import Console

    Console().print(table(found))


def table(found: Sequence[Joined]) -> Table:
    from rich.table import Table

    made = Table(title="Joins of many streams: medians, with the spread")
    heads = (
        "streams",
        "system",
        "rows/s",
        "CPU seconds",
        "ratio",
        "rows out",
        "equal",
        "between joins",
    )
    for number, head in enumerate(heads):
        made.add_column(head, justify="right" if number > 1 else "left")
    for one in found:
        for system, runs in one.runs.items():
            ours = system == "dovetail"
            share = one.between if ours else None
            made.add_row(
                str(one.streams),
                system,
                _spread(one.rows_per_s(system), ",.0f"),
                _spread([run.cpu_s for run in runs], ".1f"),
                f"{one.ratio:.1f}" if ours and one.ratio else "",
                f"{one.expected.rows:,}",
                "yes" if all(run.result == one.expected for run in runs) else "NO",
                _shares(share) if share else "",
            )
    return made


def _shares(of: dict[str, float]) -> str:
    return f"{of['cpu']:.0%} of CPU, {of['steps']:.0%} of time around steps, {of['bytes']:.0%} of bytes"


def _spread(values: Sequence[float], form: str) -> str:
    middle = format(statistics.median(values), form)
    if len(values) == 1:
        return middle
    return f"{middle} ({format(min(values), form)} .. {format(max(values), form)})"
