"""Which version of an application ran a step of one of its joins.

A version takes over behind a certain step of each join, and says so. Where one does not, because the join had
not run yet or the version is of an earlier release, the clock decides: a step is of the version that was made
before it was planned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from dovetail.changes.versions import Version, lineage, read_version
from dovetail.engine.step_log import StepLog
from dovetail.errors import DovetailError
from dovetail.model.join_config import state_path
from dovetail.plan.application_file import read_current
from dovetail.plan.physical import Plan


@dataclass(frozen=True)
class Reign:
    """`after_step`: the last step of the version before; None: not known."""

    version: int
    made_at_us: int
    after_step: int | None

    def has(self, step: int, planned_at_us: int) -> bool:
        if self.after_step is None:
            return planned_at_us >= self.made_at_us
        return step > self.after_step


@dataclass(frozen=True)
class Timeline:
    """The versions that a join has had, the newest first."""

    reigns: tuple[Reign, ...]

    def version_at(self, step: int, planned_at_us: int) -> int | None:
        """None: the file of that version, or of one after it, cannot be read."""
        return next((one.version for one in self.reigns if one.has(step, planned_at_us)), None)


def timeline(home: str, application: str, join: str) -> Timeline:
    """From the version of now to its parent, and so on, as far as their files can be read."""
    reigns = []
    number: int | None = read_current(home, application).version
    version = _readable(home, application, number)
    while version is not None:
        before = _readable(home, application, version.parent)
        came = version.parent is None or (before is not None and not _has(before, join))
        after = version.took_over.get(join, 0 if came else None)
        reigns.append(Reign(version.number, version.made_at_us, after))
        if came:
            return Timeline(tuple(reigns))
        number, version = version.parent, before
    if number == 1:  # there is none before the first, so it need not be read
        reigns.append(Reign(1, 0, 0))
    return Timeline(tuple(reigns))


def counted(home: str, application: str, numbers: Sequence[int]) -> dict[int, bool | None]:
    """Which of these versions have ever taken over. None: the file of a version after it cannot be read, and
    whether it led there is not known."""
    ran, unreadable = set[int](), read_current(home, application).version
    for version in lineage(home, application, unreadable):
        ran.add(version.number)
        unreadable = version.parent or 0
    ran |= {unreadable, 1}  # there is none before the first
    return {number: True if number in ran else False if number > unreadable else None for number in numbers}


def recorded_steps(plan: Plan, home: str) -> dict[str, int]:
    """The last step of each join that was planned. Without records the join runs on all the same."""
    steps: dict[str, int] = {}
    for stage in plan.joins:
        with suppress(DovetailError):
            if records := StepLog(home, state_path(plan.application, stage.name)).recent(1):
                steps[stage.name] = records[-1].step
    return steps


def _has(version: Version, join: str) -> bool:
    return any(stage.name == join for stage in version.plan.joins)


def _readable(home: str, application: str, number: int | None) -> Version | None:
    if number is None:
        return None
    with suppress(DovetailError):
        return read_version(home, application, number)
    return None
