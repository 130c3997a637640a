"""The planning half of a join's driver: what the next step takes, the record of it, and what retention may
remove after it. It reads commit metadata only and imports no kernels, so a process that only plans starts
quickly.

    plan      how far the next step goes: the coordinator, over the new commits of both sides
    record    the plan is written down for people, before any task can act on it
    (run)     `driver.py`, or tasks of Spark
    retain    a step is done for good: old commits and snapshots may be removed

A join that has been changed (`config.query` is not that of the state) first gets a step of its own, which
takes no commits and turns its state into one of the new configuration: `model/kind_change.py`.

The clock is passed in: tests and simulations have one of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from dovetail.crash_points import crash_point
from dovetail.engine.asked_tasks import tasks_to_plan
from dovetail.engine.awaiting import await_commit
from dovetail.engine.downstream import runs_ahead
from dovetail.engine.filling import filled_to
from dovetail.engine.floors import with_changed_floors, with_floors
from dovetail.engine.home_snapshots import HomeSnapshots
from dovetail.engine.idle import SourceWatch, Standing, is_idle
from dovetail.engine.queries import config_at, remember
from dovetail.engine.reader_marks import ReaderMarks
from dovetail.engine.step_log import StepLog
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.log.homes.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import JoinKind
from dovetail.model.kind_change import check_change, turns_lazy
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Side
from dovetail.slicing.placement import TIME
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, Planned, plan
from dovetail.time.hot_keys import still_split
from dovetail.time.recording import record_of

LOOKED_BACK = 64
"""How many commits to search for one with an event time, to find out how long a stream has been silent."""


class HostClock(NamedTuple):
    """`now_us` is the time of day; `steady_us` never jumps, and only differences of it mean anything."""

    now_us: Callable[[], int]
    steady_us: Callable[[], int]


HOST_CLOCK = HostClock(lambda: time.time_ns() // 1000, lambda: time.monotonic_ns() // 1000)

Sides = tuple[Category, Category]
"""Opened once for a plan: on an object store opening one is four requests."""

Amend = Callable[[JoinOffset], JoinOffset]
"""Changes where a planned step ends before it is recorded: other hot keys, say."""


class _Heard(NamedTuple):
    """The last commit of a stream that had an event time, and when this process first saw it."""

    commit: int
    seen_us: int


class JoinPlanner:
    def __init__(self, config: JoinConfig, clock: HostClock = HOST_CLOCK) -> None:
        self.config = config
        self._clock = clock
        self._known: dict[Side, int] = {"left": 0, "right": 0}
        began = _Heard(-1, clock.steady_us())
        self._heard: dict[Side, _Heard] = {"left": began, "right": began}
        self._watches: dict[Side, SourceWatch] = {}
        self._step_log: StepLog | None = None
        self._writing_us = 0
        self._remembered = False
        self._marks = ReaderMarks(config.reader, config.application, clock.steady_us)
        self._in_vain: tuple[int, int] | None = None  # what was there when there was nothing to do

    @property
    def categories(self) -> Sides:
        home = self.config.home
        return Category.open(home, self.config.left), Category.open(home, self.config.right)

    def first(self) -> JoinOffset:
        """Where a join that has never run starts: at the first commits that the log still has."""
        left, right = (category.first_commit() for category in self.categories)
        return JoinOffset(left=left, right=right, left_floor=left, right_floor=right, query=self.config.query)

    def there_now(self) -> tuple[int, int]:
        """The commits after the last ones of both sides."""
        left, right = (category.next_commit() for category in self.categories)
        return left, right

    def await_news(self, start: JoinOffset) -> None:
        """Wait for a moment, or until a side has a commit that did not exist when a step from here was last
        planned. A stream that waits for the other always has commits: they do not count as new."""
        if start.tasks and start.query != self.config.query:
            return  # a change waits for nothing
        seen = self._in_vain if self._in_vain is not None else (start.left, start.right)
        looked_at = self.categories if open_store(self.config.home).local else ()
        await_commit(list(zip(looked_at, seen, strict=False)), self.config.gate)

    def plan(
        self,
        start: JoinOffset,
        *,
        until: tuple[int, int] | None = None,
        final: bool = False,
        tasks: int | None = None,
        amend: Amend | None = None,
    ) -> JoinOffset:
        """The end of the next step; `start` itself if there is nothing to do.

        `until`: only commits before these are taken, and no stream waits for the other. None: the streams
        live on, and one that is ahead may have to wait. `final`: nothing comes after `until`, so that the
        last step ends both streams. `tasks`: another number than was asked for. A step that changes the
        query heeds none of them. Rows from before a join began are taken in steps of their own, so that what
        comes out begins exactly with the first row after it.
        """
        crash_point("coordinator", "begun")
        began_us = self._clock.steady_us()
        config, (left, right) = self.config, self.categories
        if start.tasks and start.query != config.query:
            return self._plan_change(start, began_us, (left, right))
        if fills := config.fills(start):
            until, final = (config.filled[0], config.filled[1]), False
        stops: tuple[int | None, int | None] = until or (None, None)
        # Before the commits are listed: a slicer that has found its source empty has committed all that was
        # there. In the other order a commit between the two looks would be missed, and its rows late.
        waits = until is None
        writers = (self._writers(left, "left"), self._writers(right, "right")) if waits else None
        new = self._new(left, "left", start.left, stops[0]), self._new(right, "right", start.right, stops[1])
        idle = False, False
        if writers is not None:
            idle = self._idle(left, "left", writers[0]), self._idle(right, "right", writers[1])
        self._in_vain = start.left + len(new[0]), start.right + len(new[1])
        if waits and runs_ahead(config.home, config.feeds, config.settings.max_step_rows):
            return start
        pace = pace_of(config, tasks or tasks_to_plan(config, start.tasks))
        planned = plan(start, *new, pace, final=final, waits=waits, idle=idle)
        if planned.end is start:
            return start
        self._in_vain = None
        planned = planned._replace(end=planned.end.moved(query=config.query))
        if fills:
            planned = planned._replace(end=filled_to(config, planned.end, (left, right)))
        self._remember(stateless=not start.tasks)
        end = self._recoverable(start, amend(planned.end) if amend else planned.end, (left, right))
        self._record(start, planned, new, self._clock.steady_us() - began_us)
        crash_point("coordinator", "planned")
        return end

    def _plan_change(self, start: JoinOffset, began_us: int, sides: Sides) -> JoinOffset:
        """The step that turns the state into one of this configuration. Several changes since the last step
        are one: what was in between has never run."""
        old, new = config_at(self.config, start.query), self.config
        check_change(old.join_kind, new.join_kind)
        self._remember(stateless=False)
        end = start.moved(
            step=start.step + 1,
            query=new.query,
            turns=[],
            # Tasks stay as they are, and so do hot keys, but for those that the new kind must not split.
            hot=[list(key) for key in still_split(start.hot_keys, new.spec)],
            paired=self._paired(start, old.join_kind, sides),
        )
        end = self._recoverable(start, end, sides)
        self._in_vain = None
        self._record(start, Planned(end), ([], []), self._clock.steady_us() - began_us)
        crash_point("coordinator", "planned")
        return end

    def _paired(self, start: JoinOffset, old: JoinKind, sides: Sides) -> list[int]:
        if turns_lazy(old, self.config.join_kind):
            stops = zip(sides, (start.left, start.right), strict=True)
            return [category.first_row(stop) for category, stop in stops]
        return [] if turns_lazy(self.config.join_kind, old) else start.paired

    def _remember(self, *, stateless: bool) -> None:
        """Once per process, before any offset names this configuration."""
        if not self._remembered:
            remember(self.config, stateless=stateless)
            self._remembered = True

    def recoverable(self, start: JoinOffset, end: JoinOffset) -> JoinOffset:
        """`end` with all that a rebuild needs to know: from which commits on it reads the log, and the
        recovery path from a step whose snapshots are in the home."""
        return self._recoverable(start, end, self.categories)

    def _recoverable(self, start: JoinOffset, end: JoinOffset, sides: Sides) -> JoinOffset:
        if start.changes_to(end):
            old = config_at(self.config, start.query).join_kind
            floored = with_changed_floors(old, self.config, end, *sides)
        else:
            floored = with_floors(self.config, end, *sides)
        return HomeSnapshots(self.config).remembering(start, floored)

    def retain(self, end: JoinOffset) -> None:
        """The step that ends here is done for good: let retention and the removal of old snapshots go on."""
        crash_point("coordinator", "done")
        needed: dict[str, int] = {}
        sides = self.categories
        for category, floor in zip(sides, end.needed, strict=True):
            kept = min(floor, self._history(category, floor))
            # Both sides of a self join may be one category. The mark is that of the side that is behind.
            needed[category.name] = min(needed.get(category.name, kept), kept)
        for category in {category.name: category for category in sides}.values():
            if self._marks.move(category, needed[category.name]):
                category.retain()
        HomeSnapshots(self.config).drop(before=end.way[0].step)

    def _new(self, category: Category, side: Side, start: int, stop: int | None) -> list[CommitSummary]:
        if stop is None:
            stop = self._known[side] = category.next_commit(max(self._known[side], start))
        return [summary(commit) for commit in category.commits(start, stop)]

    def _history(self, category: Category, floor: int) -> int:
        """The first commit, up to `floor`, that is kept for `why` and `preview`: young enough, and within the
        size limit."""
        settings, first = self.config.settings, category.first_commit()
        if first >= floor:
            return first
        first = category.first_written(first, floor, self._clock.now_us() - settings.history_us)
        return category.first_stored(first, floor, settings.history_bytes) if first < floor else first

    def _record(
        self,
        start: JoinOffset,
        planned: Planned,
        new: tuple[list[CommitSummary], list[CommitSummary]],
        planning_us: int,
    ) -> None:
        """Before the offset is handed out: a step that runs has been recorded."""
        if self._step_log is None:
            self._step_log = StepLog(self.config.home, self.config.state_path)
        began_us = self._clock.steady_us()
        planning_us += self._writing_us
        self._step_log.write(record_of(start, planned, *new, self._clock.now_us(), planning_us))
        self._writing_us = self._clock.steady_us() - began_us

    def _writers(self, category: Category, side: Side) -> Standing:
        """How far the slicers of a side are."""
        if self.config.settings.idle_timeout_us is None:
            return Standing("unknown")  # nobody asks
        if side not in self._watches:
            self._watches[side] = SourceWatch(category, self._clock.steady_us)
        return self._watches[side].standing()

    def _idle(self, category: Category, side: Side, writers: Standing) -> bool:
        """No row with a time has come for long: since one was seen, or since this process began, by a clock
        that does not jump. One that does would close windows whose rows are on their way. And none is to
        come: see `idle.py`."""
        timeout_us = self.config.settings.idle_timeout_us
        if timeout_us is None:
            return False
        last, first = self._known[side] - 1, category.first_commit()
        timeless = 0
        while last >= first and timeless < LOOKED_BACK and not category.commit(last).sketch.count:
            last, timeless = last - 1, timeless + 1
        now_us = self._clock.steady_us()
        if last >= first and timeless < LOOKED_BACK and last != self._heard[side].commit:
            self._heard[side] = _Heard(last, now_us)
        return is_idle(timeout_us, self._heard[side].seen_us, now_us, writers)


def pace_of(config: JoinConfig, tasks: int) -> Pace:
    """What bounds and drives the plan of a step."""
    settings, kind = config.settings, config.join_kind
    return Pace(
        settings.left_max_delay_us,
        settings.right_max_delay_us,
        settings.max_step_rows,
        tasks,
        settings.estimate,
        settings.pacing,
        kind.paced_after_us,
        kind.spec if config.splits_hot_keys else None,
        keeps_turns=kind.keeps_turns,
        by_rows=kind.by_rows,
        inherits=(settings.left_inherits, settings.right_inherits),
        confirmed_by=settings.confirmed_by,
    )


def summary(commit: Commit) -> CommitSummary:
    """What the coordinator looks at."""
    return CommitSummary(
        commit.rows,
        commit.sketch.max_us if commit.sketch.count else None,
        tuple(segment.sketch for segment in commit.segments),
        commit.written_at_us,
        tuple(key for segment in commit.segments for key in segment.frequent),
        commit.first_row,
        commit.promised(TIME),
    )
