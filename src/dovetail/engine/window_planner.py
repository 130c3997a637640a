"""The planning half of an aggregate over time windows: how far the next step goes, which rows are late, and
what retention may remove. A step's rows follow from its two offsets (`engine/window_step.py`).

    learn     stream time after each new commit; rows that are late for their window are set aside
    plan      a step is taken when it closes something, so that a commit costs no Spark job by itself; or when
              it is time for early results
    record    where the step ends is written down for people
    retain    a step is done for good: rows of closed windows may be removed

Why late rows are set aside before the step is planned. Whether a row is late depends on the log alone, and
the commit's number is the batch under which its late rows are appended. So they enter once, however often a
step is planned, and in whatever cut.

Cost: reading commit metadata, and the times of commits that may have late rows. The floor of sessions needs
the rows of open sessions; it is looked for whenever the commits since it have doubled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from dovetail.crash_points import crash_point
from dovetail.engine.awaiting import await_commit
from dovetail.engine.planner import HOST_CLOCK, HostClock, summary
from dovetail.engine.reader_marks import ReaderMarks
from dovetail.engine.window_record import WindowRecord, write_record
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.log.generations import columns_lacking
from dovetail.log.homes.filesystem import open_store
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.window_config import WindowConfig, WindowSettings
from dovetail.model.window_offset import WindowOffset
from dovetail.time.clock import Clock

MOST_WAITING = 256
"""Commits that may wait for a step. More are taken by a step that closes nothing: so that a process that
starts has few to look at."""
FIRST_LOOK = 16
"""Commits of a session stream before its floor is looked for."""
PART_ROWS = 50_000
"""Rows for which a step has one more task."""


class OpenSegment(NamedTuple):
    """A segment, by its commit and its place in it, and stream time before that commit."""

    commit: int
    segment: int
    before_us: int


class WindowPart(NamedTuple):
    """What one task of a step reads: the windows that end after `after_us` and not after `upto_us`, of rows
    in these segments. Sessions are shared out by the hash of their keys, the others by segments. `older`: of
    all segments of the step, those whose rows lack a column that the query reads."""

    pieces: tuple[OpenSegment, ...]
    after_us: int
    upto_us: int
    task: int = 0
    tasks: int = 1
    early: bool = False  # the windows are still open
    older: tuple[OpenSegment, ...] = ()


class _Seen(NamedTuple):
    """What is remembered of a commit: its rows, and the smallest and largest of their times."""

    rows: int
    times: tuple[int, int] | None


class WindowPlanner:
    def __init__(self, config: WindowConfig, clock: HostClock = HOST_CLOCK) -> None:
        self.config = config
        self._clock = clock
        self._known = 0
        self._base = 0  # the commit of the first of:
        self._clocks: list[Clock] = []  # before each commit, and after the last
        self._seen: list[_Seen] = []
        self._look_at = FIRST_LOOK
        self._marks = ReaderMarks(config.reader, config.application, clock.steady_us)

    @property
    def category(self) -> Category:
        return Category.open(self.config.home, self.config.rows)

    def first(self) -> WindowOffset:
        """Where an aggregate that has never run starts."""
        first = self.category.first_commit()
        return WindowOffset(commit=first, floor=first)

    def there_now(self) -> int:
        """The commit after the last one."""
        return self.category.next_commit()

    def await_news(self, given: WindowOffset) -> None:
        """Wait for a moment, or until there is a commit that has not been looked at."""
        looked_at = [self.category] if open_store(self.config.home).local else []
        seen = max(self._known, given.begun().commit)
        await_commit([(category, seen) for category in looked_at], self.config.gate)

    def plan(self, given: WindowOffset, *, until: int | None = None, final: bool = False) -> WindowOffset:
        """The end of the next step; `given` itself if there is nothing to do.

        `until`: only commits before this one are taken. `final`: nothing comes after them, so that the last
        step closes every window.
        """
        crash_point("coordinator", "begun")
        start, category = given.begun(), self.category
        stop = until
        if stop is None:
            stop = self._known = category.next_commit(max(self._known, start.commit))
        self._learn(category, start, stop)
        commit, rows = start.commit, 0
        while commit < stop and rows < self.config.settings.max_step_rows:
            rows += self._seen[commit - self._base].rows
            commit += 1
        full = rows >= self.config.settings.max_step_rows or commit - start.commit >= MOST_WAITING
        over = final and commit == stop
        if commit == start.commit and not (over and start.floor < commit):
            return given
        early = not over and self._early(start, commit)
        if not over and not full and not early and not self._closes(start, commit, hurried=until is not None):
            return given
        end = self._end(start, commit, over)
        if early:
            end = end.moved(early=end.time)
        write_record(self.config, WindowRecord(self._clock.now_us(), end))
        crash_point("coordinator", "planned")
        return end

    def parts(self, given: WindowOffset, end: WindowOffset) -> list[WindowPart]:
        """What the tasks of a step read: the windows that it closes, and if it looks at those that stay open,
        these as well. None if there are no such windows."""
        start = given.begun()
        closing = self._parts(start, end, start.time, end.time)
        if end.early in (NEVER, start.early):
            return closing
        still_open = self._parts(start, end, end.time, ENDED)
        return [*closing, *(part._replace(early=True) for part in still_open)]

    def _parts(self, start: WindowOffset, end: WindowOffset, after_us: int, upto_us: int) -> list[WindowPart]:
        """For the windows that end between two moments."""
        category, window = self.category, self.config.window
        if upto_us <= after_us:
            return []
        self._learn(category, start, end.commit)
        pieces, rows, older = [], [], []
        lacking = columns_lacking(category, self.config.columns)
        for commit in category.commits(start.floor, end.commit):
            before_us = self._before(commit.number)
            for number, info in enumerate(commit.segments):
                low, high = info.sketch.min_us, info.sketch.max_us
                if not info.sketch.count or low >= upto_us:
                    continue  # a row from then on is in no session that closes, nor next to one
                if not window.is_session and (
                    window.first_end(low) > upto_us or window.last_end(high) <= max(after_us, before_us)
                ):
                    continue
                pieces.append(OpenSegment(commit.number, number, before_us))
                rows.append(info.rows)
                if info.generation in lacking:
                    older.append(pieces[-1])
        tasks = max(1, min(self.config.tasks, -(-sum(rows) // PART_ROWS)))
        if not pieces:
            return []
        if window.is_session:
            tasks = tasks if self.config.keys else 1
            shared = WindowPart(tuple(pieces), after_us, upto_us, tasks=tasks, older=tuple(older))
            return [shared._replace(task=task) for task in range(tasks)]
        dealt = _dealt(pieces, rows, tasks)
        return [WindowPart(tuple(some), after_us, upto_us, older=tuple(older)) for some in dealt]

    def retain(self, end: WindowOffset) -> None:
        """The step that ends here is done for good."""
        crash_point("coordinator", "done")
        category = self.category
        if self._marks.move(category, end.floor):
            category.retain()

    def _before(self, commit: int) -> int:
        return self._clocks[commit - self._base].time_us

    def _learn(self, category: Category, start: WindowOffset, stop: int) -> None:
        """Stream time before each commit from the floor of `start` up to `stop`."""
        settings = self.config.settings
        now = clock_at(settings, start.time, start.estimate)
        at = start.commit - self._base
        if not (self._base <= start.floor and at < len(self._clocks) and _same(self._clocks[at], now)):
            # This process knows nothing yet, or of another step: what the offset says is the start.
            self._base, self._seen = start.floor, []
            self._clocks = [clock_at(settings, start.floor_time, start.floor_estimate)]
            for commit in category.commits(start.floor, start.commit):
                self._take(commit)
            self._clocks[-1] = now
        for commit in category.commits(self._base + len(self._seen), stop):
            self._set_aside(category, commit)
            self._take(commit)

    def _take(self, commit: Commit) -> None:
        sketch = commit.sketch
        self._seen.append(_Seen(commit.rows, (sketch.min_us, sketch.max_us) if sketch.count else None))
        self._clocks.append(self._clocks[-1].after(summary(commit)))

    def _set_aside(self, category: Category, commit: Commit) -> None:
        before_us = self._clocks[-1].time_us
        if commit.sketch.count and commit.sketch.min_us < before_us:
            # It imports kernels, which planning does not need.
            from dovetail.engine.late_rows import set_aside

            set_aside(self.config, category, commit, before_us)

    def _closes(self, start: WindowOffset, commit: int, *, hurried: bool) -> bool:
        """Whether a step up to a commit may close anything. A session may wait an eighth of its gap in event
        time, unless nothing more comes: each step sorts the rows of all open sessions."""
        window, upto_us = self.config.window, self._before(commit)
        if upto_us == NEVER or upto_us <= start.time:
            return False
        times = (  # of all commits of the open windows, so that it is asked for last
            seen.times
            for seen in islice(self._seen, start.floor - self._base, commit - self._base)
            if seen.times is not None
        )
        if window.is_session:
            enough = hurried or start.time == NEVER or upto_us - start.time >= window.length_us // 8
            return enough and any(low + window.length_us <= upto_us for low, _ in times)
        return window.ends_between(start.time, upto_us) and any(
            window.first_end(low) <= upto_us and window.last_end(high) > start.time for low, high in times
        )

    def _early(self, start: WindowOffset, commit: int) -> bool:
        """Whether it is time to look at windows that are still open: stream time has passed a multiple of the
        interval, and such windows have rows."""
        early_us, upto_us = self.config.settings.early_us, self._before(commit)
        if early_us is None or upto_us == NEVER:
            return False
        if start.early != NEVER and upto_us // early_us <= start.early // early_us:
            return False
        window = self.config.window
        until = window.last_end if not window.is_session else lambda time_us: time_us + window.length_us
        seen = self._seen[start.floor - self._base : commit - self._base]
        return any(until(one.times[1]) > upto_us for one in seen if one.times is not None)

    def _end(self, start: WindowOffset, commit: int, over: bool) -> WindowOffset:
        clock = self._clocks[commit - self._base]
        moved = start.moved(step=start.step + 1, commit=commit, ended=over)
        if over:
            return moved.moved(time=ENDED, estimate=None, floor=commit, floor_time=NEVER, floor_estimate=None)
        floor = self._floor(start.floor, commit, clock.time_us)
        at_floor = self._clocks[floor - self._base]
        del self._clocks[: start.floor - self._base], self._seen[: start.floor - self._base]
        self._base = start.floor  # the step that is planned still needs what is after its start's floor
        return moved.moved(
            time=clock.time_us,
            estimate=clock.saved,
            floor=floor,
            floor_time=at_floor.time_us,
            floor_estimate=at_floor.saved,
        )

    def _floor(self, floor: int, stop: int, time_us: int) -> int:
        if self.config.window.is_session:
            return self._session_floor(floor, stop, time_us)
        while floor < stop:
            times = self._seen[floor - self._base].times
            if times is not None and self.config.window.last_end(times[1]) > time_us:
                break
            floor += 1
        return floor

    def _session_floor(self, floor: int, stop: int, time_us: int) -> int:
        """Any floor up to the true one is right, so it need not be looked for in every step."""
        if stop - floor < self._look_at:
            return floor
        from dovetail.engine.window_step import first_open_commit

        pieces = list(self._pieces(floor, stop))
        found = first_open_commit(self.config, pieces, time_us)
        floor = stop if found is None else found
        self._look_at = max(FIRST_LOOK, 2 * (stop - floor))
        return floor

    def _pieces(self, start: int, stop: int) -> Iterator[OpenSegment]:
        for commit in self.category.commits(start, stop):
            for number, info in enumerate(commit.segments):
                if info.sketch.count:
                    yield OpenSegment(commit.number, number, self._before(commit.number))


def clock_at(settings: WindowSettings, time_us: int, saved: Mapping[str, Any] | None) -> Clock:
    """The clock of an aggregate's rows, as an offset has saved it."""
    return Clock.at(
        time_us,
        settings.max_delay_us,
        settings.estimate,
        saved,
        confirmed_by=settings.confirmed_by,
        inherits=settings.inherits,
    )


def _same(one: Clock, other: Clock) -> bool:
    return one.time_us == other.time_us and one.saved == other.saved


def _dealt(pieces: list[OpenSegment], rows: list[int], tasks: int) -> list[list[OpenSegment]]:
    """Neighbouring segments together, about the same number of rows to each task."""
    dealt: list[list[OpenSegment]] = [[] for _ in range(tasks)]
    total, seen = max(1, sum(rows)), 0
    for piece, count in zip(pieces, rows, strict=True):
        dealt[min(tasks - 1, seen * tasks // total)].append(piece)
        seen += count
    return [part for part in dealt if part]
