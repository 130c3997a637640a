"""Law: a step takes whole commits in log order, never goes back, and advances wherever there is input and no
reason to wait.

The coordinator reads only summaries of commits (rows, sketches of event times), never data. Without pacing,
the stream that is behind in event time goes first, and if it has nothing new, the other goes on. With pacing
(paper, section 5.2) it aims at `T_left + after = T_right`: left waits while it is ahead of that, right while
it is ahead by more than the slack. These two cannot both hold, so one stream may always go on. The time of an
idle stream is carried forward until it no longer holds up the other, and the offset records that.

Everything here is a pure function of the offset, the commits and the flags. A step that is planned again
after a crash is therefore planned the same, and nothing in this file reads a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_settings import Pacing
from dovetail.model.offset import ENDED, NEVER, JoinOffset
from dovetail.model.share import HotKey
from dovetail.time.clock import Clock, CommitSummary
from dovetail.time.hot_keys import hot_keys, saved_heat, warmed

Both = tuple[bool, bool]
"""A fact about the left and about the right stream."""


class Pace(NamedTuple):
    """What bounds and drives the plan of a step."""

    left_max_delay_us: int
    right_max_delay_us: int
    max_step_rows: int
    tasks: int
    estimate: EstimateSpec | None = None
    pacing: Pacing | None = None
    after_us: int = 0
    splits: IntervalSpec | None = None  # split the hot keys of this join over the tasks; None: split none
    keeps_turns: bool = False  # record the order in which commits are taken
    by_rows: bool = False  # the stream with fewer rows so far goes first, whatever their times
    inherits: Both = (False, False)  # whose time is what its commits promise, where they promise any
    confirmed_by: int = 1  # rows that must have reached an event time before fixed stream time follows it


class Planned(NamedTuple):
    """Where a step ends, and how that was decided. Pairs are of left and right.

    `clocks`: the stream's clock after each commit taken. `paused`: there was more input, but it had to wait
    for the other stream. `carried`: the stream was idle, and its time was carried forward.
    """

    end: JoinOffset
    clocks: tuple[tuple[Clock, ...], tuple[Clock, ...]] = ((), ())
    paused: Both = (False, False)
    carried: Both = (False, False)


def plan(
    start: JoinOffset,
    left: Sequence[CommitSummary],
    right: Sequence[CommitSummary],
    pace: Pace,
    *,
    final: bool,
    waits: bool = False,
    idle: Both = (False, False),
) -> Planned:
    """How far the next step goes, given the commits of both sides from `start` on.

    `final`: nothing comes after these commits, and the step that takes the last of them ends both streams.
    `waits`: a stream that is ahead waits for the other's next commits; otherwise whatever is there is taken.
    `idle`: which streams have been silent for long. Ends at `start` itself if there is nothing to do.
    """
    commits = left, right
    now = clocks(start, pace)
    taken: tuple[list[Clock], list[Clock]] = [], []
    carried = False, False
    turns = [0]  # how many commits were taken from left, then right, then left, ...
    rows = 0
    while True:
        has = len(taken[0]) < len(left), len(taken[1]) < len(right)
        # A step takes whole commits, so it may exceed the limit by its last commit. Stopping before that
        # commit instead would never get past a commit that is larger than the limit.
        if rows >= pace.max_step_rows:
            break
        # Carry before choosing: the side to go next is decided by the times of both, and the time of an idle
        # stream must not hold up the other within the same step.
        before, now = now, _carried(pace, now, has, idle)
        carried = (
            carried[0] or now[0].time_us > before[0].time_us,
            carried[1] or now[1].time_us > before[1].time_us,
        )
        if pace.by_rows and all(has):
            side: Literal[0, 1] | None = (
                0 if left[len(taken[0])].first_row <= right[len(taken[1])].first_row else 1
            )
        else:
            side = _next_side(pace, now, has, waits)
        if side is None:
            break
        if len(turns) % 2 == side:  # odd: the last entry counts left commits
            turns.append(0)
        turns[-1] += 1
        commit = commits[side][len(taken[side])]
        clock = now[side].after(commit)
        taken[side].append(clock)
        now = (clock, now[1]) if side == 0 else (now[0], clock)
        rows += commit.rows
    times = now[0].time_us, now[1].time_us
    over = final and not any(has)
    # Before the first step there is no state that a carried time could close windows of, so a carried time
    # alone makes no step there. An end alone makes one only if something is still open.
    moved = any(taken) or (times != start.times and start.step > 0)
    if not moved and not (over and start.step > 0 and not start.ended):
        return Planned(start)
    heat, hot = _hot(start, pace, left[: len(taken[0])], right[: len(taken[1])])
    end = start.moved(
        step=start.step + 1,
        left=start.left + len(taken[0]),
        right=start.right + len(taken[1]),
        left_time=ENDED if over else times[0],
        right_time=ENDED if over else times[1],
        left_estimate=now[0].saved,
        right_estimate=now[1].saved,
        hot=[list(key) for key in hot],
        heat=heat,
        tasks=pace.tasks,
        ended=over,
        turns=turns if pace.keeps_turns else [],
        begun=[start.left, start.right] if start.ended else start.begun,
    )
    left_goes, right_goes = _may_go(pace, now)
    paused = (
        has[0] and not left_goes and (waits or has[1]),
        has[1] and not right_goes and (waits or has[0]),
    )
    return Planned(end, (tuple(taken[0]), tuple(taken[1])), paused, carried)


def _next_side(pace: Pace, now: tuple[Clock, Clock], has: Both, waits: bool) -> Literal[0, 1] | None:
    """Whose commit comes next. None: there is none, or it has to wait."""
    if not any(has):
        return None
    if pace.pacing is None:
        return 0 if has[0] and (not has[1] or now[0].time_us <= now[1].time_us) else 1
    goes = _may_go(pace, now)
    if has[0] and goes[0]:
        return 0
    if has[1] and goes[1]:
        return 1
    # Here the only stream with input is ahead of the other: had both input, one of them could go.
    if waits:
        return None
    return 0 if has[0] else 1


def _may_go(pace: Pace, now: tuple[Clock, Clock]) -> Both:
    """Which streams the other's time lets go on. At least one may: `ahead_us` is either at least 0, which
    frees left, or below it and so at most the slack, which frees right."""
    if pace.pacing is None:
        return True, True
    left_us, right_us = now[0].time_us, now[1].time_us
    ahead_us = right_us - left_us - pace.after_us
    # A stream without a time has shown no row yet. It may go on, and the other waits for its first row.
    return (
        left_us == NEVER or (right_us != NEVER and ahead_us >= 0),
        right_us == NEVER or (left_us != NEVER and ahead_us <= pace.pacing.slack_us),
    )


def _carried(pace: Pace, now: tuple[Clock, Clock], has: Both, idle: Both) -> tuple[Clock, Clock]:
    """An idle stream without new commits takes the time that just frees the other, or that of its last rows
    if it is later.

    The targets are the bounds in `_may_go`, and no more: a time that is carried further than needed would
    make rows of the idle stream late for nothing when it wakes up.
    """
    left, right = (
        clock.settled() if idle[side] and not has[side] else clock for side, clock in enumerate(now)
    )
    after_us = pace.after_us if pace.pacing else 0
    slack_us = pace.pacing.slack_us if pace.pacing else 0
    if idle[1] and not has[1] and left.time_us != NEVER:
        right = right.carried(left.time_us + after_us)
    if idle[0] and not has[0] and right.time_us != NEVER:
        left = left.carried(right.time_us - after_us - slack_us)
    return left, right


def _hot(
    start: JoinOffset, pace: Pace, left: Sequence[CommitSummary], right: Sequence[CommitSummary]
) -> tuple[dict[str, Any] | None, tuple[HotKey, ...]]:
    if pace.splits is None:
        return None, ()
    heat = warmed(
        saved_heat(start.heat),
        sum(commit.rows for commit in (*left, *right)),
        [key for commit in left for key in commit.frequent],
        [key for commit in right for key in commit.frequent],
    )
    # With another number of tasks all rows move anyway, so the choice of hot keys starts afresh.
    known = start.hot_keys if start.tasks == pace.tasks else ()
    return heat.to_json(), hot_keys(heat, known, pace.splits, pace.tasks)


def clocks(start: JoinOffset, pace: Pace) -> tuple[Clock, Clock]:
    """Both streams' clocks at an offset. After an end the streams start again."""
    left_time, right_time = start.times
    left_saved, right_saved = (None, None) if start.ended else (start.left_estimate, start.right_estimate)
    return (
        Clock.at(
            left_time,
            pace.left_max_delay_us,
            pace.estimate,
            left_saved,
            confirmed_by=pace.confirmed_by,
            inherits=pace.inherits[0],
        ),
        Clock.at(
            right_time,
            pace.right_max_delay_us,
            pace.estimate,
            right_saved,
            confirmed_by=pace.confirmed_by,
            inherits=pace.inherits[1],
        ),
    )
