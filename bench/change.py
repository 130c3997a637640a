"""Changes in place: for how long a running application puts nothing out, beside the time of a step.

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

from bench.command import Command, finish, tell

WINDOW_US = 60_000_000
CHANGES = ("a column more", "a wider window", "a column less", "a narrower window")


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


def command() -> Command:
    made = Command("change", __doc__)
    made.number("--repeat", 1, "rounds of four changes each; the table shows medians")
    made.number("--rows", 2_000, "rows of a file; there is one on each side every half second")
    made.number("--between", 15, "seconds between two changes")
    made.number("--cores", 2, "master local[N]")
    return made


def main(argv: list[str]) -> int:
    args = command().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as folder:
        steps, last_steps = measure(Path(folder), args.repeat, args.rows, args.between, args.cores)
    step_s = step_time(steps, last_steps)
    pauses = [
        Pause(name, pause_s, pause_s / step_s)
        for name, pause_s in zip(CHANGES * args.repeat, pauses_of(steps, last_steps), strict=False)
    ]
    document = {"step_s": step_s, "pauses": [asdict(pause) for pause in pauses]}
    finish(args.json, document, lambda: _show(step_s, pauses))
    return 0


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
    """Of each change, in seconds."""
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


def _show(step_s: float, pauses: Sequence[Pause]) -> None:
    print(f"a step takes {step_s:.2f} s")
    for name in CHANGES:
        mine = [pause for pause in pauses if pause.change == name]
        if mine:
            pause_s, steps = (median(getattr(one, of) for one in mine) for of in ("pause_s", "steps"))
            print(f"{name:<20} {pause_s:6.2f} s {steps:6.1f} steps")
