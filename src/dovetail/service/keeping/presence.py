"""What a run of the service records about itself: that it is alive, which revision it runs, how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dovetail.errors import DovetailError, RunError
from dovetail.log.homes.filesystem import open_store
from dovetail.service.keeping.processes import enter, leave, this_process
from dovetail.service.keeping.wanted import Wanted, read_revision
from dovetail.service.settings import MASTER
from dovetail.service.terms import SERVICE_ORIGIN, service_terms

if TYPE_CHECKING:
    import threading

    from pyspark.sql import SparkSession

    from dovetail.changes.verdict import Change
    from dovetail.engine.handover import Offer

Say = Callable[[str], None]
_REVISION = re.compile(r"revision (\d+)")


class Presence:
    """For one application, in a process of its own or in a pool. The record is written before the application
    is touched, and goes after the end was written. If the process is killed it says neither, and its record
    names a process that is gone."""

    def __init__(self, home: str, wanted: Wanted, say: Say, pool: str = "") -> None:
        self._home, self._wanted, self._say = home, wanted, say
        self.process = this_process(wanted, pool)

    def run(self, stop: threading.Event, spark: Callable[[], SparkSession | None]) -> DovetailError | None:
        """Until it is asked to stop. Gives the error that it ended with."""
        enter(self._home, self.process)
        error: DovetailError | None = None
        try:
            self._run(stop, spark())
        except DovetailError as found:
            error = found
        except Exception as found:  # a bug in Dovetail is a reason, too
            error = RunError(f"internal error: {type(found).__name__}: {found}")
        finally:
            if error is not None:
                self._say(f"error: {error}")
            leave(self._home, self.process, error)
        return error

    def _run(self, stop: threading.Event, spark: SparkSession | None) -> None:
        from dovetail.service.cli.run import run_application

        self._say(f"revision {self._wanted.revision} of {self._wanted.application} starts")
        begins, reslice = still_said(self._home, self._wanted)
        run_application(
            (self._wanted.text, revision_words(self._wanted)),
            home=self._home,
            master=master_of(self._wanted),
            mode="stream",
            settings={},
            begins=begins,
            reslice=reslice,
            stop=stop,
            spark=spark,
            announce=self._announced,
            origin=SERVICE_ORIGIN,
            took=self._took,
        )

    def _took(self, offer: Offer) -> None:
        """The run goes on with another revision. For a moment it is there under both, and never under
        none."""
        found = _REVISION.fullmatch(offer.name)
        assert found is not None
        before = self.process
        self._wanted = read_revision(self._home, before.application, int(found[1]))
        self.process = this_process(self._wanted, before.pool)
        enter(self._home, self.process)
        open_store(self._home).delete(before.path)
        self._say(f"{offer.name} of {before.application} goes on in the same process")

    def _announced(self, version: int, changes: Sequence[Change]) -> None:
        from dovetail.changes.words import change_lines, verdict_words

        self._say(f"version {version} takes over: {verdict_words(changes)}")
        for line in change_lines(changes, places=False):
            self._say(f"  {line}")


def offer_of(wanted: Wanted) -> Offer:
    """A revision for a run that is there to go on with."""
    from dovetail.engine.handover import Offer

    return Offer(wanted.text, revision_words(wanted), None, service_terms(master_of(wanted)))


def still_said(home: str, wanted: Wanted) -> tuple[tuple[str, ...], bool]:
    """Where sources begin, and whether joins begin afresh, as long as the change is ahead for which that was
    said. A start after it must not say so again: an input would return to where it once began."""
    if not wanted.needs_start or version_of(home, wanted.application) != wanted.beside:
        return (), False
    return wanted.begins, wanted.reslice


def version_of(home: str, application: str) -> int:
    """The version that counts; 0: none, or one that has never run."""
    from dovetail.changes.takeover import bound

    found = bound(home, application)
    return 0 if found is None else found.version


def revision_words(wanted: Wanted) -> str:
    return f"revision {wanted.revision}"


def master_of(wanted: Wanted) -> str:
    return wanted.master or MASTER.read()
