"""Processes that a service has started for a home, and that outlive it: tests end them with themselves."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def end_all(home: str) -> None:
    """Those that have said that they are there, and those that are only about to: a process that has just
    been started is in no document of the home yet, and would start a JVM long after its test. All of them
    have the home among their arguments, and a session of their own; the service, which tests start, has
    none."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        number = int(path.parent.name)
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if home.encode() in path.read_bytes().split(b"\0") and os.getpgid(number) == number:
                os.killpg(number, signal.SIGKILL)
