"""A slicer that lives in the process of the run: new rows enter the log within milliseconds.

Law: each part of a source enters the log once, in one commit that says what it covers. What is not in the log
does not exist.

A query of Spark needs most of a second for each micro-batch, however small: it looks for input, writes down
what it will do, plans, schedules tasks, and writes down that it is done. Where a stage only picks and
renames columns, none of that is needed. A thread looks for what is new, reads it with Arrow, writes
segments and appends a commit. The commit itself records what was read, so there is nothing else to write
and nothing that could disagree.

    look ──► take a part ──► segments ──► commit (rows, and what they cover) ──► look

Several threads share a large part; Arrow, NumPy and the kernels leave the interpreter's lock alone while they
work.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from dovetail.crash_points import crash_point
from dovetail.errors import HomeError, Unreachable
from dovetail.log.category import Category
from dovetail.log.report_times import ReportTimes, steady_us
from dovetail.log.source_progress import SourceReport, WriterState, drop_report, write_report
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.intake import Intake
from dovetail.slicing.sides import append_parts, settle_aside

THREADS = os.cpu_count() or 1
REPORT_S = 1.0
REST_S = 0.1


@dataclass(frozen=True)
class Rhythm:
    """Seconds between two looks at a source in which nothing is new, and between two commits of a source from
    which little comes: each commit costs its readers something. On an object store both are requests."""

    look_s: float
    commit_s: float


LOCAL, REMOTE = Rhythm(0.02, 0.1), Rhythm(0.25, 0.5)

_active: dict[tuple[str, str], ResidentSlicer] = {}
"""By home and producer. Two at once would number their batches alike, and the log would take the second
one's for a repetition of the first's. Other processes are kept away by the hold on the application."""


class ResidentSlicer:
    """Slices in a thread: as long as `lives` says, or (`finite`) until what is there now is in the log. Then
    `finished` is called, or after an error `failed`. While it `rests` nothing is read. `open_intake` is
    called in the thread."""

    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        open_intake: Callable[[], Intake],
        *,
        finite: bool,
        finished: Callable[[], None] = lambda: None,
        failed: Callable[[Exception], None] = lambda error: None,
        lives: Callable[[], bool] = lambda: True,
        rests: Callable[[], bool] = lambda: False,
        steady_us: Callable[[], int] = steady_us,
    ) -> None:
        self.error: Exception | None = None
        self._category, self._slicer, self._open = category, slicer, open_intake
        self._finite = finite
        self._finished, self._failed, self._lives, self._rests = finished, failed, lives, rests
        self._rhythm = LOCAL if category.store.local else REMOTE
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.run, name=f"slice {slicer.stage}", daemon=True)
        now_us = _now_us()
        self._report = SourceReport(slicer.producer, slicer.application, "starting", 0, now_us, now_us)
        self._steady_us, self._times = steady_us, ReportTimes()
        self._reported_s = -REPORT_S
        self._telling = threading.Lock()

    def start(self) -> None:
        """One that works for the same producer is stopped first, as Spark does with a query of that name."""
        name = self._category.home, self._slicer.producer
        earlier = _active.get(name)
        if earlier is not None:
            earlier.stop()
        _active[name] = self
        # Here, and not in the thread, which may get no core for a while: a join takes a side without a report
        # for one whose writer never reports, and then goes by silence alone.
        with suppress(HomeError):  # the thread meets it, too, and says so
            self._tell("starting", None)
        self._thread.start()

    @property
    def is_active(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def stop(self) -> None:
        """After the part that is under way."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def run(self) -> None:
        """Slice in this thread."""
        try:
            if self._finite:
                drop_report(self._category, self._slicer.producer)  # it says nothing about this run
            self._tell("starting", None)
            settle_aside(self._category, self._slicer.producer)
            intake = self._open()
            self._slice(intake)
            intake.close()
            self._tell("stopped", intake)
            if self._finite and not self._stop.is_set():
                self._finished()
        except Exception as error:
            self.error = error
            self._failed(error)
        finally:
            name = self._category.home, self._slicer.producer
            if _active.get(name) is self:  # what it was made of goes with it, and may be a whole session
                del _active[name]

    def _slice(self, intake: Intake) -> None:
        intake.look()
        with ThreadPoolExecutor(THREADS, "dovetail-slicing") as threads, self._telling_meanwhile(intake):
            while not self._stop.is_set() and self._lives():
                if self._rests():
                    self._tell("stopped", intake)
                    self._stop.wait(REST_S)
                    continue
                if intake.more():
                    began_s = time.monotonic()
                    self._tell("behind", intake)
                    self._append(intake, threads)
                    if self._finite or intake.more():
                        continue
                    self._stop.wait(self._rhythm.commit_s - (time.monotonic() - began_s))
                elif self._finite and intake.exhausted:
                    return
                else:
                    looked_us = intake.settled_us
                    self._tell("waiting" if looked_us is None else "empty", intake, looked_us)
                    intake.rest()
                    self._stop.wait(self._rhythm.look_s)
                intake.look()

    def _append(self, intake: Intake, threads: ThreadPoolExecutor) -> None:
        crash_point("sink", "begun")
        part = intake.take()
        try:
            written = part.write(threads)
        except Unreachable as away:
            if part.put_off is None:
                raise
            part.put_off(away)  # no commit will name what was written of it
            return
        append_parts(
            self._category,
            written,
            self._slicer.producer,
            intake.next_batch,
            part.promise,
            part.covers,
        )
        intake.appended(part)
        crash_point("sink", "committed")

    @contextmanager
    def _telling_meanwhile(self, intake: Intake) -> Iterator[None]:
        """A large part may take minutes. Without a report for so long the slicer would count as dead."""
        over = threading.Event()

        def repeat() -> None:
            while not over.wait(REPORT_S):
                with suppress(HomeError):  # the next report may succeed, and so may the part
                    if self._report.state == "behind":
                        self._tell("behind", intake)

        thread = threading.Thread(target=repeat, name=f"report {self._slicer.stage}", daemon=True)
        if not self._finite:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if not self._finite:
                thread.join()

    def _tell(self, state: WriterState, intake: Intake | None, looked_us: int | None = None) -> None:
        """How far the slicer is, about once a second and when its state changes. `looked_us`: when the look
        began that tells so."""
        with self._telling:
            now_s, last = time.monotonic(), self._report
            if self._finite or (state == last.state and now_s - self._reported_s < REPORT_S):
                return
            looked_after = None if looked_us is None else self._times.before(looked_us)
            waiting = intake.waiting() if intake else None
            self._report = last.then(state, _now_us(), waiting, looked_after)
            self._reported_s = now_s
            write_report(self._category, self._report)
            self._times.written(self._report.looks, self._steady_us())


def _now_us() -> int:
    return time.time_ns() // 1000
