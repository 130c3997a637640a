"""Changes of a running application: what each costs, as a ratio to what it must not exceed.

    pauses   for how long a change in place puts nothing out, beside the time of a step
    diff     how long `dovetail diff` takes for an application of many lines, against one second
    check    how long `dovetail check` takes for it, right or full of mistakes, against three seconds
    window   how long it takes to widen a window of many rows, beside a restart

A small application runs in stream mode, and files come all the time. Its query is changed again and again: a
column more and less, a window wider and narrower. The pause of a change is the time from the plan of the last
step of the old query to that of the first step that takes rows by the new one. A step is the median time from
one plan to the next while nothing changes. Both are read from the records of the steps."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import change_check, change_diff, change_window
from bench.command import Command, finish, tell

WINDOW_US = 60_000_000
PARTS = ("pauses", "diff", "check", "window")
CHANGES = ("a column more", "a wider window with its pairs", "a column less", "a narrower window")


@dataclass(frozen=True)
class Planned:
    """When a step was planned, and whether it takes rows."""

    step: int
    at_us: int
    takes_rows: bool


@dataclass(frozen=True)
class Pause:
    change: str
    pause_s: float
    steps: float


@dataclass(frozen=True)
class Ratio:
    """Something that took a time, and what it must not exceed."""

    what: str
    took_s: float
    beside: str
    beside_s: float

    @property
    def ratio(self) -> float:
        return self.took_s / self.beside_s

    @property
    def verdict(self) -> str:
        return "holds" if self.ratio <= 1 else "does not hold"


def command() -> Command:
    made = Command("change", __doc__)
    made.parts(PARTS)
    made.number("--repeat", 1, "rounds of four changes each; and of the other parts: the table shows medians")
    made.number("--rows", 2_000, "rows of a file; there is one on each side every half second")
    made.number("--between", 15, "seconds between two changes")
    made.number("--cores", 2, "master local[N]")
    made.number("--lines", 200, "lines of the application that is compared and checked")
    made.number("--window-rows", 20_000_000, "right rows in the window that becomes wider")
    return made


def main(argv: list[str]) -> int:
    args = command().parse_args(argv)
    parts, found = args.only or PARTS, list[Ratio]()
    document: dict[str, Any] = {}
    if "pauses" in parts:
        with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
            steps, last_steps = measure(Path(folder), args.repeat, args.rows, args.between, args.cores)
        step_s = step_time(steps, last_steps)
        lengths = zip(CHANGES * args.repeat, pauses_of(steps, last_steps), strict=False)
        pauses = [Pause(name, pause_s, pause_s / step_s) for name, pause_s in lengths]
        document |= {"step_s": step_s, "pauses": [asdict(pause) for pause in pauses]}
        found += pause_ratios(step_s, pauses)
    if "diff" in parts:
        tell(f"diff of an application of {args.lines} lines")
        found.append(diff_ratio(args.lines, args.repeat))
    if "check" in parts:
        tell(f"check of an application of {args.lines} lines")
        found.append(check_ratio(args.lines, args.repeat))
    if "window" in parts:
        tell(f"a window of {args.window_rows:,} rows becomes wider")
        found.append(window_ratio(args.window_rows, args.repeat))
    document["ratios"] = [{**asdict(one), "ratio": one.ratio, "verdict": one.verdict} for one in found]
    finish(args.json, document, lambda: _show(found))
    return 0


def diff_ratio(lines: int, repeat: int) -> Ratio:
    times = list[float]()
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
            lines, took_s = change_diff.measure(Path(folder), lines)
        times.append(took_s)
    return Ratio(f"diff of {lines} lines", median(times), "one second", 1.0)


def check_ratio(lines: int, repeat: int) -> Ratio:
    times = list[float]()
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
            lines, took_s = change_check.measure(Path(folder), lines)
        times.append(took_s)
    return Ratio(f"check of {lines} lines", median(times), "three seconds", 3.0)


def window_ratio(rows: int, repeat: int) -> Ratio:
    made = list[change_window.Widening]()
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
            made.append(change_window.measure(Path(folder), rows))
    middle = sorted(made, key=lambda one: one.ratio)[len(made) // 2]
    what = f"{middle.held_rows:,} rows become {middle.wide_rows:,}"
    return Ratio(what, middle.change_s, "a restart", middle.restart_s)


def pause_ratios(step_s: float, pauses: Sequence[Pause]) -> list[Ratio]:
    """What each kind of change costs beyond the step that would have been there anyway."""
    found = []
    for name in CHANGES:
        mine = [pause.pause_s for pause in pauses if pause.change == name]
        if mine:
            found.append(Ratio(f"{name}: time lost", max(0.0, median(mine) - step_s), "a step", step_s))
    return found


def measure(work: Path, repeat: int, rows: int, between: int, cores: int) -> tuple[list[Planned], list[int]]:
    """The steps of the run, and the last step of each version but the last."""
    from bench import dovetail_run
    from bench.killed_runs import APPLICATION, running, wait
    from bench.recovery_files import RestartFiles
    from dovetail.changes.versions import read_version, version_numbers
    from dovetail.engine.step_log import StepLog
    from dovetail.model.join_config import state_path

    files, home, pql = RestartFiles(work / "files", rows, seed=1), work / "home", work / "change.pql"
    first = dovetail_run.query(files.dataset, WINDOW_US)
    pql.write_text(first)
    given = [
        "-m",
        "dovetail.service.cli.main",
        "run",
        str(pql),
        "--home",
        str(home),
        "--master",
        f"local[{cores}]",
    ]
    records = StepLog(str(home), state_path(APPLICATION, "joined"))
    over = threading.Event()

    def feed() -> None:
        while not over.wait(0.5):
            files.write_next(rows)

    files.write_next(rows)
    feeder = threading.Thread(target=feed, daemon=True)
    with running(given, {}, work) as process:
        feeder.start()
        wait(process, lambda: len(list(records.read(1))) > 5)
        for number in range(repeat * len(CHANGES)):
            time.sleep(between)
            pql.write_text(text_of(first, number % len(CHANGES)))
            tell(CHANGES[number % len(CHANGES)])
            subprocess.run([sys.executable, *given], check=True, capture_output=True)
        time.sleep(between)
        over.set()
        feeder.join()
    steps = [
        Planned(
            one.step, one.planned_at_us, one.left.stop + one.right.stop > one.left.start + one.right.start
        )
        for one in records.read(1)
    ]
    numbers = version_numbers(str(home), APPLICATION)[1:]
    return steps, [read_version(str(home), APPLICATION, number).took_over["joined"] for number in numbers]


def text_of(first: str, number: int) -> str:
    """The query after the changes of a round up to this one."""
    text = first
    if number in (0, 1):
        text = text.replace("SELECT left_eventtime", "SELECT 1 AS one, left_eventtime")
    if number in (1, 2):
        text = text.replace(f"'{WINDOW_US // 1_000_000} seconds'", f"'{2 * WINDOW_US // 1_000_000} seconds'")
    return text


def pauses_of(steps: Sequence[Planned], last_steps: Sequence[int]) -> list[float]:
    """For each change, in seconds."""
    found = []
    for last in last_steps:
        before = next(one for one in steps if one.step == last)
        after = next((one for one in steps if one.step > last and one.takes_rows), None)
        if after is not None:
            found.append((after.at_us - before.at_us) / 1e6)
    return found


def step_time(steps: Sequence[Planned], last_steps: Sequence[int]) -> float:
    """The median time from one step with rows to the next, where no change is between them."""
    gaps = [
        (after.at_us - before.at_us) / 1e6
        for before, after in itertools.pairwise(steps)
        if before.takes_rows and after.takes_rows and before.step not in last_steps
    ]
    return median(gaps)


def _show(found: Sequence[Ratio]) -> None:
    for one in found:
        print(
            f"{one.what:<42} {one.took_s:7.2f} s   {one.beside} {one.beside_s:7.2f} s   "
            f"ratio {one.ratio:.2f}   {one.verdict}"
        )
