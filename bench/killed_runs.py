"""Runs that are watched from outside, by the steps that Spark has noted as done, and killed at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

APPLICATION = "bench_interval"
"""For `dovetail_run.query`."""
PATIENCE_S = 900.0
QUIET_S = 5.0


@contextmanager
def running(command: list[str], more: dict[str, str], work: Path) -> Iterator[subprocess.Popen[bytes]]:
    """In a session of its own, which is killed at the end."""
    root = Path(__file__).resolve().parent.parent
    path = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
    with open(work / "said.txt", "ab") as said:
        process = subprocess.Popen(
            [sys.executable, *command],
            start_new_session=True,
            stdout=said,
            stderr=said,
            env={**os.environ, "PYTHONPATH": path, **more},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait(process: subprocess.Popen[bytes], true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"waited in vain; the process's exit status is {process.poll()}")
        time.sleep(0.05)


def wait_until_quiet(process: subprocess.Popen[bytes], count: Callable[[], int]) -> None:
    """Until no further step has been done for a while."""
    seen, since = count(), time.monotonic()

    def quiet() -> bool:
        nonlocal seen, since
        if count() != seen:
            seen, since = count(), time.monotonic()
        return time.monotonic() - since > QUIET_S

    wait(process, quiet)


def commits(checkpoint: Path) -> int:
    """How many batches a query has noted as done."""
    return sum(path.name.isdigit() for path in checkpoint.glob("commits/*"))


def join_commits(home: Path) -> int:
    folders = (home / "apps" / APPLICATION / "checkpoints").glob("*")
    joins = [folder for folder in folders if _plans_joins(folder)]
    return sum(commits(folder) for folder in joins)


def _plans_joins(checkpoint: Path) -> bool:
    first = next(iter(sorted(path for path in checkpoint.glob("offsets/*") if path.name.isdigit())), None)
    return first is not None and "left_floor" in first.read_text()
