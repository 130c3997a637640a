"""Law: a plan of a step takes whole commits in log order, never goes back, and advances where there is input
and nothing to wait for.

The coordinator looks only at summaries of commits (rows, sketches of event times), never at data. Without
pacing it lets the stream that is behind in event time go first; where that stream has nothing new, the other
goes on. With pacing (paper, section 5.2) it aims at `T_left + after = T_right`: left waits while it is ahead
of that, right while it is ahead by more than the slack. Both cannot be: one of them may always go on. A
stream that is idle has its time carried forward to where it holds the other up no longer, and the offset
records that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import ENDED, NEVER, JoinOffset
from dovetail.model.pacing import Pacing
from dovetail.model.share import HotKey
from dovetail.time.clock import Clock, CommitSummary
from dovetail.time.hot_keys import hot_keys, saved_heat, warmed


class Pace(NamedTuple):
    """What the plan of a step is bounded and driven by."""

    left_max_delay_us: int
    right_max_delay_us: int
    max_step_rows: int
    tasks: int
    estimate: EstimateSpec | None = None
    pacing: Pacing | None = None
    after_us: int = 0
    splits: IntervalSpec | None = None  # hot keys of this join are split over the tasks; None: of none
    keeps_turns: bool = False  # the order in which commits are taken is recorded
    by_rows: bool = False  # the stream of which fewer rows have entered goes first, whatever their times


class Planned(NamedTuple):
    """Where a step ends, and how it came to that; pairs are of left and right.

    `clocks`: the stream's clock after each commit taken. `paused`: there was more, and it had to wait for the
    other stream. `carried`: the stream was idle, and its time was put forward.
    """

    end: JoinOffset
    clocks: tuple[tuple[Clock, ...], tuple[Clock, ...]] = ((), ())
    paused: tuple[bool, bool] = (False, False)
    carried: tuple[bool, bool] = (False, False)


def plan_step(
    start: JoinOffset,
    left: Sequence[CommitSummary],
    right: Sequence[CommitSummary],
    pace: Pace,
    *,
    final: bool,
    waits: bool = False,
    idle: tuple[bool, bool] = (False, False),
) -> JoinOffset:
    """Where `plan` ends."""
    return plan(start, left, right, pace, final=final, waits=waits, idle=idle).end


def plan(
    start: JoinOffset,
    left: Sequence[CommitSummary],
    right: Sequence[CommitSummary],
    pace: Pace,
    *,
    final: bool,
    waits: bool = False,
    idle: tuple[bool, bool] = (False, False),
) -> Planned:
    """How far the next step goes, given the new commits of both sides from `start` on.

    `final` says that nothing will come after these: the step that takes the last of them ends both streams.
    `waits`: a stream that is ahead waits for the other's next commits; otherwise what is there is taken.
    `idle`: which streams have been silent for long. Ends at `start` itself when there is nothing to do.
    """
    left_clock, right_clock = clocks(start, pace)
    left_clocks: list[Clock] = []
    right_clocks: list[Clock] = []
    turns = [0]
    carried = (False, False)
    rows = 0
    while True:
        has = (len(left_clocks) < len(left), len(right_clocks) < len(right))
        if rows >= pace.max_step_rows:
            break
        before = left_clock.time_us, right_clock.time_us
        left_clock, right_clock = _carried(pace, left_clock, right_clock, has, idle)
        carried = (
            carried[0] or left_clock.time_us > before[0],
            carried[1] or right_clock.time_us > before[1],
        )
        if pace.by_rows and all(has):
            entered = left[len(left_clocks)].first_row, right[len(right_clocks)].first_row
            side: Literal["left", "right"] | None = "left" if entered[0] <= entered[1] else "right"
        else:
            side = _next_side(pace, left_clock.time_us, right_clock.time_us, has, waits)
        if side is None:
            break
        if (len(turns) % 2 == 1) != (side == "left"):
            turns.append(0)
        turns[-1] += 1
        if side == "left":
            commit = left[len(left_clocks)]
            left_clock = left_clock.after(commit)
            left_clocks.append(left_clock)
        else:
            commit = right[len(right_clocks)]
            right_clock = right_clock.after(commit)
            right_clocks.append(right_clock)
        rows += commit.rows
    over = final and not any(has)
    times = left_clock.time_us, right_clock.time_us
    moved = bool(left_clocks or right_clocks) or (times != start.times and start.step > 0)
    if not moved and not (over and start.step > 0 and not start.ended):
        return Planned(start)
    heat, hot = _hot(start, pace, left[: len(left_clocks)], right[: len(right_clocks)])
    end = start.moved(
        step=start.step + 1,
        left=start.left + len(left_clocks),
        right=start.right + len(right_clocks),
        left_time=ENDED if over else left_clock.time_us,
        right_time=ENDED if over else right_clock.time_us,
        left_estimate=left_clock.saved,
        right_estimate=right_clock.saved,
        hot=[list(key) for key in hot],
        heat=heat,
        tasks=pace.tasks,
        ended=over,
        turns=turns if pace.keeps_turns else [],
    )
    left_goes, right_goes = _may_go(pace, *times)
    paused = (
        has[0] and not left_goes and (waits or has[1]),
        has[1] and not right_goes and (waits or has[0]),
    )
    return Planned(end, (tuple(left_clocks), tuple(right_clocks)), paused, carried)


def _next_side(
    pace: Pace, left_us: int, right_us: int, has: tuple[bool, bool], waits: bool
) -> Literal["left", "right"] | None:
    """Whose commit comes next; None: nobody's, or it is to wait."""
    has_left, has_right = has
    if not (has_left or has_right):
        return None
    if pace.pacing is None:
        return "left" if has_left and (not has_right or left_us <= right_us) else "right"
    left_goes, right_goes = _may_go(pace, left_us, right_us)
    if has_left and left_goes:
        return "left"
    if has_right and right_goes:
        return "right"
    if waits:
        return None
    return "left" if has_left else "right"


def _may_go(pace: Pace, left_us: int, right_us: int) -> tuple[bool, bool]:
    """Which streams the other's time lets go on."""
    if pace.pacing is None:
        return True, True
    ahead_us = right_us - left_us - pace.after_us
    return (
        left_us == NEVER or (right_us != NEVER and ahead_us >= 0),
        right_us == NEVER or (left_us != NEVER and ahead_us <= pace.pacing.slack_us),
    )


def _carried(
    pace: Pace, left: Clock, right: Clock, has: tuple[bool, bool], idle: tuple[bool, bool]
) -> tuple[Clock, Clock]:
    """An idle stream without new commits takes on the time that the other goes by."""
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
    known = start.hot_keys if start.tasks == pace.tasks else ()
    return heat.to_json(), hot_keys(heat, known, pace.splits, pace.tasks)


def clocks(start: JoinOffset, pace: Pace) -> tuple[Clock, Clock]:
    """Both streams' clocks at an offset. After an end the streams begin anew."""
    left_time, right_time = start.times
    left_saved, right_saved = (None, None) if start.ended else (start.left_estimate, start.right_estimate)
    return (
        Clock.at(left_time, pace.left_max_delay_us, pace.estimate, left_saved),
        Clock.at(right_time, pace.right_max_delay_us, pace.estimate, right_saved),
    )
