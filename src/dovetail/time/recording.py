"""The record of a planned step, for people: how far it goes, what it leaves, and each stream's time."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.model.offset import ENDED, NEVER, JoinOffset
from dovetail.model.step_record import CommitTaken, SideRecord, StepRecord
from dovetail.time.clock import Clock, CommitSummary
from dovetail.time.coordinator import Planned


def record_of(
    start: JoinOffset,
    planned: Planned,
    left: Sequence[CommitSummary],
    right: Sequence[CommitSummary],
    planned_at_us: int,
    planning_us: int = 0,
) -> StepRecord:
    """The record of a step from `start`, which was planned from the commits `left` and `right`."""
    end = planned.end
    return StepRecord(
        step=end.step,
        planned_at_us=planned_at_us,
        planning_us=planning_us,
        ended=end.ended,
        left=_side(0, planned, start.left, end.left_time, left),
        right=_side(1, planned, start.right, end.right_time, right),
        tasks=end.tasks,
        query=end.query,
        read_back=(end.left_floor, end.right_floor) if start.changes_to(end) else None,
    )


def _side(
    side: int, planned: Planned, start: int, time_us: int, commits: Sequence[CommitSummary]
) -> SideRecord:
    clocks = planned.clocks[side]
    taken, backlog = commits[: len(clocks)], commits[len(clocks) :]
    return SideRecord(
        start=start,
        stop=start + len(taken),
        time_us=time_us,
        rows=sum(commit.rows for commit in taken),
        backlog_commits=len(backlog),
        backlog_rows=sum(commit.rows for commit in backlog),
        backlog_us=_ahead_us(time_us, backlog),
        paused=planned.paused[side],
        carried=planned.carried[side],
        taken=tuple(
            _taken(number, commit, clock)
            for number, (commit, clock) in enumerate(zip(taken, clocks, strict=True), start)
        ),
    )


def _ahead_us(time_us: int, backlog: Sequence[CommitSummary]) -> int | None:
    newest = [commit.newest_us for commit in backlog if commit.newest_us is not None]
    return max(0, max(newest) - time_us) if newest and time_us not in (NEVER, ENDED) else None


def _taken(number: int, commit: CommitSummary, clock: Clock) -> CommitTaken:
    behind_us = commit.written_at_us - clock.time_us if clock.time_us != NEVER else None
    if clock.estimate is None or clock.spec is None:
        return CommitTaken(number, commit.newest_us, clock.time_us, behind_us, held_back=clock.held_back)
    estimate = clock.estimate
    values = estimate.values[-clock.spec.ascending :]
    return CommitTaken(
        number, commit.newest_us, clock.time_us, behind_us, estimate.window, values, estimate.accuracy
    )
