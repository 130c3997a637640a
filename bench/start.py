"""Starts: from the command to the first joined row, first and again, beside Spark's own join; memory in use.

A small application joins Parquet files into Parquet files. It starts four times: as after an installation
that nothing has prepared; with its environment read from the disk, as the first one after a set-up or a boot;
with an empty home, where it has run before; and again with that home, after it was killed. Spark's own join
over the same files does the same, but for the first: nothing of it can be prepared. Then both run on for a
while, with a small file a second, and the memory of all their processes is measured."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, get_args

from bench.command import Command, finish, tell

System = Literal["dovetail", "spark"]
Start = Literal["bare", "cold", "first", "again"]
"""bare: no archive of classes, no compiled kernels or modules, nothing of the environment in memory; cold:
only the last of these; first: an empty home; again: the same home."""
WINDOW_US = 60_000_000
LIVE_ROWS = 2_000


@dataclass(frozen=True)
class Started:
    system: System
    start: Start
    first_row_s: float


@dataclass(frozen=True)
class Living:
    """Memory of the processes of one kind, after some time."""

    system: System
    kind: str
    processes: int
    pss_bytes: int


def command() -> Command:
    made = Command("start", __doc__)
    made.number("--repeat", 1, "starts of each kind; the table shows medians")
    made.number("--rows", 10_000, "rows of a file")
    made.number("--cores", 2, "master local[N]")
    made.count("--live", 30, "seconds before memory is measured; 0 leaves it out")
    made.add_argument("--only", choices=get_args(System), action="append", help="one system alone")
    return made


def main(argv: list[str]) -> int:
    args = command().parse_args(argv)
    started: list[Started] = []
    living: list[Living] = []
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
        for number in range(args.repeat):
            for system in args.only or get_args(System):
                work = Path(folder) / f"{system}-{number}"
                work.mkdir()
                for found in measure(system, work, args, memory=number == 0 and args.live > 0):
                    (started if isinstance(found, Started) else living).append(found)  # type: ignore[arg-type]
    document = {
        "started": [asdict(one) for one in started],
        "living": [asdict(one) for one in living],
        "ratios": ratios(started),
    }
    finish(args.json, document, lambda: _show(started, living))
    return 0


def measure(
    system: System, work: Path, args: argparse.Namespace, *, memory: bool
) -> Iterator[Started | Living]:
    from bench.killed_runs import running, wait
    from bench.process_memory import held_by

    application = _Application(system, work, args.rows, args.cores)
    for start in get_args(Start):
        if start == "bare" and system == "spark":
            continue
        if start != "again":
            application.forget()
        if start in ("bare", "cold"):
            forget_environment()
        application.feed(args.rows)
        before, began = application.results(), time.monotonic()
        command, environment = application.command, dict[str, str]()
        if start == "bare":
            command = [*command, *unprepared(args.cores)]
            environment = dict.fromkeys(("NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX"), str(work / "compiled"))
        with running(command, environment, work) as process:
            wait(process, lambda: application.results() > before)  # noqa: B023
            took = time.monotonic() - began
            tell(f"{system}, {start}: {took:.1f} s")
            yield Started(system, start, took)
            if start == "again" and memory:
                for _ in range(args.live):
                    application.feed(LIVE_ROWS)
                    time.sleep(1)
                for kind, held in held_by(process.pid).items():
                    yield Living(system, kind, held.processes, held.pss_bytes)


class _Application:
    """One system's join, with its files, its state and its results in one folder."""

    def __init__(self, system: System, work: Path, rows: int, cores: int) -> None:
        from bench import dovetail_run
        from bench.recovery_files import RestartFiles

        self._work, self._out, self._state = work, work / "out", work / "state"
        self._files = RestartFiles(work / "files", rows, seed=1)
        if system == "spark":
            paths = [str(path) for path in (work / "files", self._state, self._out)]
            self.command = ["-m", "bench.start_spark", *paths, str(cores)]
            return
        query = dovetail_run.query(self._files.dataset, WINDOW_US)
        pql = work / "start.pql"
        pql.write_text(query.replace("STORAGE NOOP", f'STORAGE PARQUET(path = "{self._out}")'))
        where = ["--home", str(self._state), "--master", f"local[{cores}]"]
        self.command = ["-m", "dovetail.service.cli.main", "run", str(pql), *where]

    def forget(self) -> None:
        for folder in (self._state, self._out):
            shutil.rmtree(folder, ignore_errors=True)

    def feed(self, rows: int) -> None:
        self._files.write_next(rows)

    def results(self) -> int:
        """Files with rows that have come out."""
        from bench.recovery_files import has_rows

        return sum(has_rows(path) for path in self._out.rglob("*.parquet"))


def unprepared(cores: int) -> list[str]:
    """Options of a run that has the JVM's settings of any other, but no archive of classes."""
    from dovetail.spark.session import local_jvm

    return ["--set", f"spark.driver.extraJavaOptions={' '.join(local_jvm(cores))}"]


def forget_environment() -> None:
    """Ask the system to drop what it has in memory of Python, its packages, Java and our code. What running
    processes have mapped stays, so this takes a machine where nothing else of the kind runs."""
    import dovetail

    java = shutil.which("java")
    folders = [sys.prefix, sys.base_prefix, str(Path(dovetail.__file__).parent)]
    if java is not None:
        folders.append(str(Path(java).resolve().parent.parent))
    for folder in folders:
        for path in Path(folder).rglob("*"):
            if path.is_file() and not path.is_symlink():
                _forget_pages(path)


def _forget_pages(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def ratios(started: list[Started]) -> dict[str, float]:
    """What is promised: a start beside Spark's, and starting again beside the first time."""
    middle = middles(started)
    wanted = {
        "again, beside bare": (("dovetail", "again"), ("dovetail", "bare")),
        "cold, beside Spark": (("dovetail", "cold"), ("spark", "cold")),
        "first, beside Spark": (("dovetail", "first"), ("spark", "first")),
        "again, beside cold": (("dovetail", "again"), ("dovetail", "cold")),
        "again, beside first": (("dovetail", "again"), ("dovetail", "first")),
    }
    return {
        name: middle[one] / middle[other]
        for name, (one, other) in wanted.items()
        if one in middle and other in middle
    }


def middles(started: list[Started]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for one in started:
        found.setdefault((one.system, one.start), []).append(one.first_row_s)
    return {key: median(times) for key, times in found.items()}


def _show(started: list[Started], living: list[Living]) -> None:
    from rich.console import Console
    from rich.table import Table

    console, middle = Console(), middles(started)
    systems = sorted({one.system for one in started})
    table = Table(title="seconds to the first joined row")
    for head in ("start", *systems):
        table.add_column(head, justify="left" if head == "start" else "right")
    for start in get_args(Start):
        seconds = [middle.get((system, start)) for system in systems]
        table.add_row(start, *("" if one is None else f"{one:.1f}" for one in seconds))
    console.print(table)
    for name, ratio in ratios(started).items():
        console.print(f"{name}: {ratio:.2f}")
    if living:
        table = Table(title="memory (PSS), MB")
        for head in ("system", "kind", "processes", "MB"):
            table.add_column(head, justify="left" if head in ("system", "kind") else "right")
        for system in systems:
            mine = [one for one in living if one.system == system]
            for one in (*mine, _all(system, mine)):
                table.add_row(one.system, one.kind, str(one.processes), f"{one.pss_bytes / 1e6:,.0f}")
        console.print(table)


def _all(system: Any, living: list[Living]) -> Living:
    processes, size = sum(one.processes for one in living), sum(one.pss_bytes for one in living)
    return Living(system, "all", processes, size)
