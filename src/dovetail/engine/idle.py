"""Law: a silent stream is idle only if its writers have looked at their sources after the timeout, and found
them empty.

A stream may be silent because its source is empty, because its slicer takes long over a batch, or because
the slicer is dead. The log alone cannot tell. Slicers report how far they are (`log/source_progress.py`), and
this follows the reports by the reader's own steady clock:

    read        20            21            22           #8 was not there yet at 20, so it is younger
    report    empty #7      empty #8      empty #9
                                          looked after #8: its writer has looked later than 20

A report that is new may rest on a look that is old: brokers have not answered since, or the writers of its
own source have not reported. So it names an earlier report, which was there before that look began
(`log/report_times.py`), and `looked_us` is a time at which that one was not there. Two machines need not
agree on the time of day. A report that was there when the reader began may be of a run that has died: until
it changes, its writer is silent. So is one that has not changed for some seconds.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dovetail.errors import DovetailError
from dovetail.log.category import Category
from dovetail.log.report_times import ReadTimes
from dovetail.log.source_progress import SourceReport, read_reports
from dovetail.model.offset import NEVER

READ_EVERY_US = 1_000_000
"""A report is replaced about as often. A home on an object store is asked no more than that."""
SILENT_US = 10_000_000
"""A writer that has not reported for this long counts as dead."""


class Standing(NamedTuple):
    """All writers of a category together. `unknown`: none of them ever reports. `behind`: one has rows to
    write, or waits for another who has. `silent`: one does not report, or cannot be read. `empty`: all have
    found their sources empty, and none of them by a look before `looked_us` of the steady clock."""

    state: Literal["unknown", "behind", "silent", "empty"]
    looked_us: int = NEVER


@dataclass
class _Followed:
    report: SourceReport
    reads: ReadTimes
    changed_us: int | None = None  # when a change was last read; None: it has never changed

    @property
    def looked_us(self) -> int:
        """When the report was not there yet that its look came after."""
        found = self.reads.without(self.report.looked_after)
        return NEVER if found is None else found


class SourceWatch:
    """Follows the reports of a category's writers."""

    def __init__(self, category: Category, steady_us: Callable[[], int]) -> None:
        self._category = category
        self._steady_us = steady_us
        self._followed: dict[str, _Followed] = {}
        self._read_us: int | None = None
        self._standing = Standing("unknown")

    def standing(self) -> Standing:
        """Read again if it is time to. Rows that were in a source before `looked_us` are in commits that are
        listed after this call."""
        now_us = self._steady_us()
        if self._read_us is None or now_us - self._read_us >= READ_EVERY_US:
            self._standing = self._read(now_us)
            self._read_us = now_us
        return self._standing

    def quiet_us(self) -> int | None:
        """Rows that were in a source before this time are in commits that are listed after this call; None if
        some may still be on their way. Where no writer reports, silence is all there is to go by."""
        now_us, found = self._steady_us(), self.standing()
        if found.state == "unknown":
            return now_us
        return found.looked_us if found.state == "empty" else None

    def _read(self, now_us: int) -> Standing:
        try:
            reports = read_reports(self._category)
        except DovetailError as error:
            _tell(str(error))
            return Standing("silent")
        before = self._followed
        self._followed = {
            report.producer: self._follow(before.get(report.producer), report, now_us) for report in reports
        }
        return _together(self._here(list(self._followed.values()), now_us), now_us)

    def _follow(self, before: _Followed | None, report: SourceReport, now_us: int) -> _Followed:
        reads = ReadTimes() if before is None else before.reads
        reads.read(report.looks, now_us, report.looked_after)
        if before is None:
            return _Followed(report, reads)
        return _Followed(report, reads, now_us if report != before.report else before.changed_us)

    def _here(self, followed: list[_Followed], now_us: int) -> list[_Followed]:
        """Without the silent writers of applications that are no longer in the home: nobody starts them
        again. A writer that reports has its application, so usually nothing is looked up."""
        if not any(_is_silent(one, now_us) for one in followed):
            return followed
        applications = self._category.store.folders("apps")
        return [
            one for one in followed if not _is_silent(one, now_us) or one.report.application in applications
        ]


def _is_silent(one: _Followed, now_us: int) -> bool:
    return one.changed_us is None or now_us - one.changed_us > SILENT_US


def _together(followed: list[_Followed], now_us: int) -> Standing:
    if not followed:
        return Standing("unknown")
    if any(_is_silent(one, now_us) or one.report.state == "stopped" for one in followed):
        return Standing("silent")
    if any(one.report.state != "empty" for one in followed):
        return Standing("behind")
    return Standing("empty", min(one.looked_us for one in followed))


def is_idle(timeout_us: int, heard_us: int, now_us: int, writers: Standing) -> bool:
    """Whether a stream whose last rows came at `heard_us` no longer holds up the other. Where no writer
    reports, silence is all there is to go by."""
    if now_us - heard_us <= timeout_us:
        return False
    if writers.state == "unknown":
        return True
    return writers.state == "empty" and writers.looked_us - heard_us > timeout_us


@functools.lru_cache(64)  # what a store says of a trouble may name each request
def _tell(trouble: str) -> None:
    """Once for each trouble, to the process's stderr: a join plans many times a minute."""
    logging.getLogger("dovetail").warning("%s", trouble)
