"""Rows before Spark is ready: a run that continues an application takes its first steps without Spark.

    driver    ─ reads the query, holds the home ─┬─ waits for Spark, builds the stages ─┬─ starts queries ─►
    nursery   ─ imports ─────────────────────────┼──────────────────────────────────────┼──────────────────►
    child                                        └─ slices ─ step ─ step ─ step ────────┘

Law: what is done here is what the queries of Spark would have done (`batches_alone.py`), and nothing is
decided here. A run notes what it has found out with Spark's help (`head_start_notes.py`). Only a run of the
same plan in the same circumstances begins by that: it does what the last one would have done, had it lived
for a few seconds more.

The process that does it is a child of the nursery, whose imports are done. It has the locks of the run, so
that nobody else has the application before it has ended. Whatever goes wrong there ends the head start and
nothing else: Spark meets the same a moment later, and reports it.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.changes.closing import read_closing
from dovetail.engine.hold import held_locks
from dovetail.spark.head_start_notes import Circumstances, find_notes, forget, noted, write_notes
from dovetail.spark.nursery import VARIABLE
from dovetail.spark.nursery_client import place_order

if TYPE_CHECKING:
    from dovetail.changes.takeover import Takeover
    from dovetail.plan.physical import Plan
    from dovetail.spark.building import BuiltStage

PROCESS = "dovetail.spark.head_start_process"
PATIENCE_S = 20.0
"""How long the step that is under way may take when Spark is there. After that it is broken off, and Spark
begins it again."""


class HeadStart:
    """For one run. `begin` may find that there is nothing to do; `end` may be called at any time."""

    def __init__(self, home: str, circumstances: Circumstances) -> None:
        self._home, self._circumstances = home, circumstances
        self._child: _Child | None = None

    def __enter__(self) -> HeadStart:
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    def begin(self, takeover: Takeover, log: Path) -> None:
        """Go on with what the last run did, if this one is to do the same. The application must be held."""
        if takeover.before is None or takeover.changes:
            return
        if read_closing(self._home, takeover.plan.application) is not None:
            return
        notes = find_notes(self._home, takeover.plan, self._circumstances)
        nursery = os.environ.get(VARIABLE)
        if notes is not None and nursery is not None and os.path.exists(nursery):
            self._child = _Child(nursery, notes, log)

    def end(self) -> None:
        """Once this returns, nothing is done here any more, and queries may be started."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def note(self, plan: Plan, stages: Sequence[BuiltStage]) -> None:
        """For the next run: how the stages of this one run without Spark, if all of them could."""
        notes = noted(stages) if "://" not in self._home else None
        if notes is None:
            forget(self._home, plan.application)
        else:
            write_notes(self._home, plan, self._circumstances, notes)


class _Child:
    """It ends when its standard input does, and is certainly gone when its standard output is."""

    def __init__(self, nursery: str, notes: Path, log: Path) -> None:
        theirs, self._lives = os.pipe()
        self._gone, said = os.pipe()
        errors = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._order: socket.socket | None = None
        try:
            streams = [theirs, said, errors]
            self._order = place_order(nursery, ["-m", PROCESS, str(notes)], [*streams, *held_locks()])
        except OSError:
            pass  # a nursery that cannot be reached, or too many locks: no child has anything of ours
        finally:
            for descriptor in (theirs, said, errors):
                os.close(descriptor)

    def end(self) -> None:
        os.close(self._lives)
        self._await(PATIENCE_S)
        if self._order is not None:
            self._order.close()  # the nursery ends it if it is still there
        self._await(None)
        os.close(self._gone)

    def _await(self, most_s: float | None) -> None:
        select.select([self._gone], [], [], most_s)
