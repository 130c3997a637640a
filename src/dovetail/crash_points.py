"""Points at which a process can be made to die, for tests of recovery; free when off.

`DOVETAIL_CRASH=commit.named:3` kills the process with SIGKILL when it passes the point for the third time. A
point is a kind of file and how far it has come:

    begun     nothing is written yet
    whole     written and synced, but under a name that nobody looks for
    named     it exists for others, though the folder is not synced yet
    deleted   it is gone

Every file operation of a home on local disk passes such points (`log/local.py`), and so do the files of the
live index: a crash between any two of them can be had.
"""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass

VARIABLE = "DOVETAIL_CRASH"

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
    r"apps/[^/]+/application\.json": "application",
    r"apps/[^/]+/metrics\.": "metrics",
}
"""What a path in a home is called."""


@dataclass
class _Armed:
    point: str
    passings_left: int


def _armed() -> _Armed | None:
    said = os.environ.get(VARIABLE)
    if not said:
        return None
    point, _, times = said.partition(":")
    return _Armed(point, int(times or 1))


_ARMED = _armed()


def passing(kind: str, progress: str) -> None:
    """The process has come to a point."""
    if _ARMED is None or _ARMED.point != f"{kind}.{progress}":
        return
    _ARMED.passings_left -= 1
    if _ARMED.passings_left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def passing_file(path: str, progress: str) -> None:
    """The same, for a file of a home."""
    if _ARMED is not None:
        passing(next((kind for shape, kind in KINDS.items() if re.match(shape, path)), "other"), progress)
