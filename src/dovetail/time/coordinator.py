"""Law: a plan of a step takes whole commits in log order, never goes back, and always advances where there is
input.

The coordinator looks only at summaries of commits (rows, sketches of event times), never at data. It lets the
stream that is behind in event time go first, so that what both sides hold overlaps; where that stream has
nothing new, the other goes on. Pausing a stream that is ahead (section 5.2 of the paper) fits in at
`_next_side`: not choosing a side is pausing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import ENDED, JoinOffset
from dovetail.time.clock import Clock, CommitSummary


class Pace(NamedTuple):
    """What the plan of a step is bounded and driven by."""

    left_max_delay_us: int
    right_max_delay_us: int
    max_step_rows: int
    tasks: int
    estimate: EstimateSpec | None = None


def plan_step(
    start: JoinOffset,
    left: Sequence[CommitSummary],
    right: Sequence[CommitSummary],
    pace: Pace,
    *,
    final: bool,
) -> JoinOffset:
    """How far the next step goes, given the new commits of both sides from `start` on.

    `final` says that nothing will come after these: the step that takes the last of them ends both streams.
    Returns `start` itself when there is nothing to do.
    """
    taken_left = taken_right = rows = 0
    left_clock, right_clock = clocks(start, pace)
    while rows < pace.max_step_rows:
        has_left, has_right = taken_left < len(left), taken_right < len(right)
        if not (has_left or has_right):
            break
        if has_left and (not has_right or left_clock.time_us <= right_clock.time_us):
            commit = left[taken_left]
            left_clock = left_clock.after(commit)
            taken_left += 1
        else:
            commit = right[taken_right]
            right_clock = right_clock.after(commit)
            taken_right += 1
        rows += commit.rows
    over = final and taken_left == len(left) and taken_right == len(right)
    moved = bool(taken_left or taken_right)
    if not moved and not (over and start.step > 0 and not start.ended):
        return start
    return start.moved(
        step=start.step + 1,
        left=start.left + taken_left,
        right=start.right + taken_right,
        left_time=ENDED if over else left_clock.time_us,
        right_time=ENDED if over else right_clock.time_us,
        left_estimate=left_clock.saved,
        right_estimate=right_clock.saved,
        tasks=pace.tasks,
        ended=over,
    )


def clocks(start: JoinOffset, pace: Pace) -> tuple[Clock, Clock]:
    """Both streams' clocks at an offset. After an end the streams begin anew."""
    left_time, right_time = start.times
    left_saved, right_saved = (None, None) if start.ended else (start.left_estimate, start.right_estimate)
    return (
        Clock.at(left_time, pace.left_max_delay_us, pace.estimate, left_saved),
        Clock.at(right_time, pace.right_max_delay_us, pace.estimate, right_saved),
    )


def needed_since(spec: IntervalSpec, offset: JoinOffset) -> tuple[int, int]:
    """Event times from which on left and right rows may still be needed at an offset: what a rebuild reads.

    The right bound reaches back to partners that open left rows may have chosen already (deferred picks).
    """
    left_time, right_time = offset.left_time, offset.right_time
    if offset.ended:
        return ENDED, ENDED
    lowest = -(2**62)
    open_since = max(lowest, right_time) - spec.after_us
    retained_since = max(lowest, left_time) - spec.before_us
    if spec.defers_pick:
        retained_since = min(retained_since, open_since - spec.before_us)
    return open_since, retained_since
