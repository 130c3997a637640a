"""The real command in a process of its own, and what an error must look like there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dovetail

SOURCE = str(Path(dovetail.__file__).parent.parent)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "200"}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dovetail.service.cli.main", *arguments]


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def assert_no_trace(text: str) -> None:
    for sign in ("Traceback", "\tat ", "Exception in thread", "Py4J", "org.apache.spark"):
        assert sign not in text, text


def assert_reported(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One clear error with place and remedy, status 1, and no trace of Python's or Java's."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert_no_trace(done.stdout + done.stderr)
    assert done.stderr.count("error: ") == 1, done.stderr
    said = done.stderr[done.stderr.index("error: ") :]
    for word in (*words, "where:"):
        assert word in said, said
    assert "hint:" in said or "expected:" in said, said
