"""Named points where a test can kill the process, to check that recovery works. They cost nothing when off.

`DOVETAIL_CRASH=commit.named:3` kills the process with SIGKILL the third time it reaches the point
`commit.named`. For files, a point is the kind of file and how far the operation has come:

    begun     nothing is written yet
    whole     written and synced, under a temporary name that nobody reads
    named     visible to others, but the folder is not synced yet
    deleted   removed

Every file operation of a home on local disk reaches such points (`log/homes/local.py`), and so do the files
of the live index. A test can therefore crash between any two of them. Other points:

    coordinator.begun    before a step is planned       (`spark/join_source.py`, `spark/window_source.py`)
    coordinator.planned  after it is planned, before Spark knows
    coordinator.done     Spark has committed a step, nothing is cleaned up yet
    sink.begun           before a batch is written to the log  (`spark/starting.py`, `slicing/resident.py`,
                         `spark/batches_alone.py`)
    sink.written         its segments exist, but no commit names them; or its Parquet files, but no list does
                         or its rows are in an external system, where nobody reads them (`spark/outside.py`)
    sink.committed       after the commit, before anyone knows
    merge.noted          large files are written and noted, but no list names them (`slicing/file_merging.py`)
    merge.named          a list names them

Spark has many workers that reach the same points. `DOVETAIL_CRASH_FILE=path` kills one of them: the first
process that reaches the point written in the file deletes the file and dies.
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
    r"log/[^/]+/generations/": "generation",
    r"log/[^/]+/dictionaries/": "dictionary",
    r"log/[^/]+/rejected/": "rejected",
    r"log/[^/]+/readers/": "reader",
    r"log/[^/]+/progress/": "progress",
    r"log/[^/]+/first\.json": "first",
    r"log/[^/]+/bundles/": "bundle",
    r"log/[^/]+/packs/": "pack",
    r"log/[^/]+/checkpoints/": "table",
    r"log/[^/]+/retention\.json": "limits",
    r"log/[^/]+/category\.json": "category",
    r"apps/[^/]+/state/.*\.(snapshot|piece)": "snapshot",
    r"apps/[^/]+/state/.*/steps/": "record",
    r"apps/[^/]+/state/.*/queries/": "query",
    r"apps/[^/]+/state/.*/tasks\.json": "tasks",
    r"apps/[^/]+/state/.*/replay/": "replay",
    r"apps/[^/]+/state/.*/windows\.json": "windows",
    r"apps/[^/]+/slicers/": "slicer",
    r"apps/[^/]+/readings/": "reading",
    r"apps/[^/]+/closing\.json": "closing",
    r"apps/[^/]+/application\.json": "application",
    r"apps/[^/]+/versions/": "version",
    r"apps/[^/]+/handover\.json": "handover",
    r"apps/[^/]+/(shadow|progress)\.json": "shadow",
    r"apps/[^/]+/lease\.json": "lease",
    r"apps/[^/]+/metrics\.": "metrics",
}
"""Paths in a home, and the kind of file each is."""


@dataclass
class _Armed:
    point: str
    hits_left: int

    def reached(self, point: str) -> None:
        if point == self.point:
            self.hits_left -= 1
            if self.hits_left == 0:
                _die()


@dataclass
class _ArmedByFile:
    path: str

    def reached(self, point: str) -> None:
        try:
            with open(self.path) as file:
                if file.read() != point:
                    return
            os.unlink(self.path)
        except FileNotFoundError:
            return  # no crash is requested, or another process took the file first
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def armed(environment: Mapping[str, str]) -> _Armed | _ArmedByFile | None:
    if wanted := environment.get(VARIABLE):
        point, _, times = wanted.partition(":")
        return _Armed(point, int(times or 1))
    path = environment.get(FILE_VARIABLE)
    return _ArmedByFile(path) if path else None


_armed = armed(os.environ)


def arm(environment: Mapping[str, str]) -> None:
    """Act as if the process had started with this environment. For forked processes."""
    global _armed  # noqa: PLW0603  (it belongs to the process, as its environment does)
    _armed = armed(environment)


def crash_point(kind: str, progress: str) -> None:
    """The process has reached this point. Die here if a test asked for it."""
    if _armed is not None:
        _armed.reached(f"{kind}.{progress}")


def file_crash_point(path: str, progress: str) -> None:
    """The same for a file of a home."""
    if _armed is not None:
        crash_point(next((kind for shape, kind in KINDS.items() if re.match(shape, path)), "other"), progress)
