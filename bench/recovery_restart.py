"""Restart on Spark: `dovetail run` with a large window, and Spark's own join, killed and started again.

The time is from the start of the process to the first step that Spark has noted as done: interpreter, JVM,
planning, state, and the step. A small file a side is there for that step.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import dovetail_run
from bench.killed_runs import APPLICATION, commits, join_commits, running, wait, wait_until_quiet
from bench.recovery_files import WINDOW_US, RestartFiles
from bench.recovery_window import WindowSize
from dovetail.engine.measure import latest_totals
from dovetail.model.join_config import JoinConfig
from dovetail.plan.application_file import read_application
from dovetail.plan.configure import join_config

SPARK_STATES = ("rocksdb", "default")


@dataclass(frozen=True)
class Restart:
    """`state_s`: what a task spent on its state and the step, on average; None: nobody tells."""

    what: str
    rows: int
    first_step_s: float
    state_s: float | None = None


def restart(size: WindowSize, spark_rows: int, work: Path, tell: Callable[[str], None]) -> list[Restart]:
    found = _dovetail(size, work / "dovetail", tell)
    for one in found:
        tell(f"{one.what}: {one.first_step_s:.1f} s")
    for state in SPARK_STATES if spark_rows else ():
        found.append(_spark(spark_rows, size.seed, state, work / f"spark-{state}", tell))
        tell(f"{found[-1].what}: {found[-1].first_step_s:.1f} s")
    return found


def _dovetail(size: WindowSize, work: Path, tell: Callable[[str], None]) -> list[Restart]:
    files, home, index = RestartFiles(work / "files", size.rows, size.seed), work / "home", work / "index"
    tell(f"dovetail: writing and taking {size.rows:,} right rows")
    files.write_window()
    pql = work / "bench.pql"
    pql.write_text(dovetail_run.query(files.dataset, WINDOW_US))
    command = [
        "-m",
        "dovetail.service.cli.main",
        "run",
        str(pql),
        "--home",
        str(home),
        "--master",
        "local[2]",
    ]
    more = {"DOVETAIL_INDEX_DIR": str(index)}
    with running(command, more, work) as process:
        wait(process, lambda: _all_taken(home, size.rows))
        wait_until_quiet(process, lambda: join_commits(home))
    found = []
    for what in ("index kept", "index lost"):
        tell(f"dovetail: {what}")
        if what == "index lost":
            shutil.rmtree(index)
        files.write_next()
        before, spent_us = join_commits(home), _totals(home).get("step_us", 0)
        began = time.monotonic()
        with running(command, more, work) as process:
            wait(process, lambda: join_commits(home) > before)  # noqa: B023
            took = time.monotonic() - began
            wait_until_quiet(process, lambda: join_commits(home))
        tasks = 2
        state_s = (_totals(home).get("step_us", 0) - spent_us) / 1e6 / tasks
        found.append(Restart(f"dovetail run, {what}", size.rows, took, state_s))
    return found


def _spark(rows: int, seed: int, state: str, work: Path, tell: Callable[[str], None]) -> Restart:
    files, checkpoint = RestartFiles(work / "files", rows, seed), work / "checkpoint"
    tell(f"Spark, {state} state store: writing and taking {rows:,} right rows")
    files.write_window()
    command = ["-m", "bench.recovery_spark", str(work / "files"), str(checkpoint), state]
    with running(command, {}, work) as process:
        wait(process, lambda: commits(checkpoint))
        wait_until_quiet(process, lambda: commits(checkpoint))
    tell(f"Spark, {state} state store: restart")
    files.write_next()
    before, began = commits(checkpoint), time.monotonic()
    with running(command, {}, work) as process:
        wait(process, lambda: commits(checkpoint) > before)
        took = time.monotonic() - began
    return Restart(f"Spark's join, {state} state store", rows, took)


def _config(home: Path) -> JoinConfig:
    plan = read_application(str(home), APPLICATION)
    (stage,) = plan.joins
    return join_config(plan, stage, str(home), tasks=2)


def _totals(home: Path) -> dict[str, int]:
    return latest_totals(_config(home))


def _all_taken(home: Path, rows: int) -> bool:
    return join_commits(home) > 0 and _totals(home).get("right_in", 0) >= rows
