"""Peers are installed on request, each into an environment of its own, never into the project's.

A peer that is not there, or cannot be installed, is an error that says so; the benchmark leaves it out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.command import tell
from dovetail.errors import RunError

PACKAGES = {
    "flink": ("apache-flink==2.3.0", "840 MB"),
    "pathway": ("pathway==0.33.0", "1.6 GB"),
}
PATIENCE_S = 3600


def version_of(peer: str) -> str:
    return PACKAGES[peer][0].partition("==")[2]


def default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "dovetail-bench-peers"


def python_of(system: str, folder: Path, install: bool) -> str:
    """The Python that can run this system. A peer is there once its folder has the file `complete`."""
    if system not in PACKAGES:
        return sys.executable
    package, size = PACKAGES[system]
    home = folder / f"{package.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    python, complete = home / "bin" / "python", home / "complete"
    if complete.exists():
        return str(python)
    if not install:
        raise RunError(f"{package} is not installed", where=str(home), hint=f"--install fetches it ({size})")
    tell(f"installing {package} into {home} ({size})")
    shutil.rmtree(home, ignore_errors=True)  # an attempt that was interrupted
    home.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    for command in ([sys.executable, "-m", "venv", str(home)], pip):
        failure = _failure(command)
        if failure:
            shutil.rmtree(home, ignore_errors=True)
            raise RunError(f"{package} cannot be installed: {failure}", where=str(home))
    complete.touch()
    return str(python)


def _failure(command: list[str]) -> str:
    """Why a command failed; nothing if it did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if not done.returncode:
        return ""
    said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return said[-1] if said else f"exit code {done.returncode}"
