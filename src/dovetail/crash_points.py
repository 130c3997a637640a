"""Points at which a process can be made to die, for tests of recovery; free when off.

`DOVETAIL_CRASH=commit.named:3` kills the process with SIGKILL when it passes the point for the third time. A
point is a kind of file and how far it has come:

    begun     nothing is written yet
    whole     written and synced, but under a name that nobody looks for
    named     it exists for others, though the folder is not synced yet
    deleted   it is gone

Every file operation of a home on local disk passes such points (`log/homes/local.py`), and so do the files
of the live index: a crash between any two of them can be had. What is no file has points of its own:

    coordinator.begun    a step is to be planned             (`spark/join_source.py`)
    coordinator.planned  it is, but Spark does not know yet
    coordinator.done     Spark has said that a step is done for good; nothing is tidied up yet
    sink.begun           a micro-batch is to go into the log (`spark/starting.py`)
    sink.written         its segments are there, no commit names them
    sink.committed       they exist, but Spark does not know yet

Where many processes pass the same points, as Spark's workers do, `DOVETAIL_CRASH_FILE=path` kills one of
them: the first that passes the point written in that file takes the file away and dies.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE, FILE_VARIABLE = "DOVETAIL_CRASH", "DOVETAIL_CRASH_FILE"

KINDS = {
    r"log/[^/]+/segments/": "segment",
    r"log/[^/]+/commits/": "commit",
    r"log/[^/]+/dictionaries/": "dictionary",
    r"log/[^/]+/rejected/": "rejected",
    r"log/[^/]+/readers/": "reader",
    r"log/[^/]+/first\.json": "first",
    r"log/[^/]+/category\.json": "category",
    r"apps/[^/]+/state/.*\.snapshot": "snapshot",
    r"apps/[^/]+/state/.*/steps/": "record",
    r"apps/[^/]+/state/.*/tasks\.json": "tasks",
    r"apps/[^/]+/state/.*/replay/": "replay",
    r"apps/[^/]+/application\.json": "application",
    r"apps/[^/]+/lease\.json": "lease",
    r"apps/[^/]+/metrics\.": "metrics",
}
"""What a path in a home is called."""


@dataclass
class _Armed:
    point: str
    passings_left: int

    def passed(self, point: str) -> None:
        if point == self.point:
            self.passings_left -= 1
            if self.passings_left == 0:
                _die()


@dataclass
class _ArmedByFile:
    path: str

    def passed(self, point: str) -> None:
        try:
            with open(self.path) as file:
                if file.read() != point:
                    return
            os.unlink(self.path)
        except FileNotFoundError:
            return  # nothing is asked for, or another process was first
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def armed(environment: Mapping[str, str]) -> _Armed | _ArmedByFile | None:
    if said := environment.get(VARIABLE):
        point, _, times = said.partition(":")
        return _Armed(point, int(times or 1))
    path = environment.get(FILE_VARIABLE)
    return _ArmedByFile(path) if path else None


_armed = armed(os.environ)


def arm(environment: Mapping[str, str]) -> None:
    """From here on as if the process had been started with this environment: for one that was forked."""
    global _armed  # noqa: PLW0603  (it is of the process, as its environment is)
    _armed = armed(environment)


def passing(kind: str, progress: str) -> None:
    """The process has come to a point."""
    if _armed is not None:
        _armed.passed(f"{kind}.{progress}")


def passing_file(path: str, progress: str) -> None:
    """The same, for a file of a home."""
    if _armed is not None:
        passing(next((kind for shape, kind in KINDS.items() if re.match(shape, path)), "other"), progress)
