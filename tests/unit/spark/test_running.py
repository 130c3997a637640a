"""An application belongs to one run, and to what that run has started, until all of it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.engine import hold
from dovetail.engine.hold import held_locks, running
from dovetail.errors import StateError
from dovetail.spark import session

RUN = """
import subprocess, sys
from dovetail.engine.hold import running
from dovetail.engine.hold import held_locks
with running(sys.argv[1], "app"):
    child = subprocess.Popen(["sleep", "600"], pass_fds=held_locks(), stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    child.wait()
"""


def test_a_second_run_is_refused_and_the_first_gives_back(tmp_path: Path) -> None:
    with running(str(tmp_path), "app"):
        child = subprocess.Popen(["sleep", "600"], pass_fds=held_locks())
        with pytest.raises(StateError, match="running already"), running(str(tmp_path), "app"):
            pass
        with running(str(tmp_path), "other"):
            pass
    try:
        with running(str(tmp_path), "app"):
            pass  # although the child still has the descriptor
    finally:
        child.kill()
        child.wait()


def test_what_a_killed_run_has_left_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is dead, its JVM not yet: the next run starts when it is, or is refused in the end."""
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        left_behind = int(driver.stdout.readline())
        driver.kill()
        driver.wait()
    try:
        monkeypatch.setattr(hold, "AFTERLIFE_S", 0.3)
        with pytest.raises(StateError, match="running already"), running(str(tmp_path), "app"):
            pass
        monkeypatch.setattr(hold, "AFTERLIFE_S", 60.0)
        ends = subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -9 {left_behind}"])
        with running(str(tmp_path), "app"):
            assert not Path(f"/proc/{left_behind}").exists() or _is_zombie(left_behind)
        ends.wait()
    finally:
        if Path(f"/proc/{left_behind}").exists() and not _is_zombie(left_behind):
            os.kill(left_behind, signal.SIGKILL)


def _is_zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_the_jvm_shares_what_holds_the_application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}
    monkeypatch.setattr(session, "launch_gateway", lambda conf, popen_kwargs: started.update(popen_kwargs))
    with running(str(tmp_path), "app"):
        session.start_jvm(None, tmp_path / "spark.log")  # type: ignore[arg-type]
        assert started["pass_fds"] == held_locks() != ()
    assert held_locks() == ()
