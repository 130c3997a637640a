"""Temporary folders: those of a process, which the next process removes if it was killed, and those of this
user on this host."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path


def process_folder(prefix: str) -> Path:
    """A new folder that names this process."""
    place = Path(tempfile.gettempdir())
    for path in place.glob(f"{prefix}*"):
        found = re.fullmatch(rf"{re.escape(prefix)}(\d+)-.*", path.name)
        if found is not None and not Path(f"/proc/{found[1]}").exists() and _is_ours(path):
            shutil.rmtree(path, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-"))


def hosts_folder() -> Path:
    """Where this user keeps files that can be recreated, on this host; a folder for this process alone if
    that one belongs to somebody else."""
    folder = Path(tempfile.gettempdir()) / f"dovetail-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid == os.getuid():  # nothing of anybody else's is run
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="dovetail-"))


def _is_ours(path: Path) -> bool:
    """Without /proc it is not known which processes are alive, so nothing is removed."""
    try:
        return path.stat().st_uid == os.getuid() and Path("/proc/self").exists()
    except OSError:
        return False
