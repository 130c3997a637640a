"""What is written down of a step: the plan's own numbers, and why the times are what they are."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.join_settings import Pacing
from dovetail.model.offset import ENDED, JoinOffset
from dovetail.model.sketch import EventTimeSketch
from dovetail.model.step_record import CommitTaken, StepRecord
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, Planned, plan
from dovetail.time.recording import record_of

PACE = Pace(left_max_delay_us=10, right_max_delay_us=20, max_step_rows=100, tasks=3)
PACED = Pace(0, 0, 2, 1, None, Pacing(10, 1000), 30)


def commits(*given: tuple[int, int | None, int]) -> list[CommitSummary]:
    return [CommitSummary(rows, newest, (), written) for rows, newest, written in given]


def test_commits_rows_and_backlog_of_both_sides() -> None:
    start = JoinOffset(step=6, left=4, right=9, left_time=500, right_time=400, tasks=3)
    left = commits((60, 1000, 1100), (70, 2000, 2100), (5, None, 2200))
    right = commits((60, 600, 700))
    planned = plan(start, left, right, PACE, final=False)
    record = record_of(start, planned, left, right, 3000)
    assert (record.step, record.planned_at_us, record.ended) == (7, 3000, False)
    assert (record.right.start, record.right.stop, record.right.time_us, record.right.rows) == (
        9,
        10,
        580,
        60,
    )
    assert record.right.taken == (CommitTaken(9, 600, 580, 120, held_back=0),)
    assert (record.right.backlog_commits, record.right.backlog_rows, record.right.backlog_us) == (0, 0, None)
    assert (record.left.start, record.left.stop, record.left.time_us, record.left.rows) == (4, 5, 990, 60)
    assert (record.left.backlog_commits, record.left.backlog_rows) == (2, 75)
    assert record.left.backlog_us == 2000 - 990
    assert (planned.paused, planned.carried) == ((False, False), (False, False))
    assert StepRecord.from_json(record.to_json()) == record


def test_before_the_first_time_and_after_the_end_nothing_is_behind() -> None:
    left = commits((1, None, 1100), (1, 50, 1200))
    planned = plan(JoinOffset(), left, [], PACE._replace(max_step_rows=1), final=False)
    record = record_of(JoinOffset(), planned, left, [], 0)
    assert record.left.taken[0].behind_us is None
    assert record.left.backlog_us is None
    ended = plan(planned.end, left[1:], [], PACE, final=True)
    record = record_of(planned.end, ended, left[1:], [], 0)
    assert (record.ended, record.left.time_us, record.left.taken[0].time_us) == (True, ENDED, 40)


@pytest.mark.parametrize(
    ("times", "left", "right", "waits", "paused"),
    [
        ((100, 110), [1000], [120, 125, 130], True, (True, False)),  # left ahead of what right covers
        ((100, 141), [100, 100, 100], [2000], True, (False, True)),  # right ahead by more than the slack
        ((100, 110), [1000], [120, 125, 130], False, (True, False)),
        ((100, 110), [1000, 1001, 1002], [], False, (False, False)),  # nothing to wait for
        ((100, 130), [101, 102, 103], [125], True, (True, False)),
    ],
)
def test_paused_is_who_had_input_and_had_to_wait(
    times: tuple[int, int], left: list[int], right: list[int], waits: bool, paused: tuple[bool, bool]
) -> None:
    start = JoinOffset(step=5, left_time=times[0], right_time=times[1], tasks=1)
    made = [commits(*((1, newest, 0) for newest in side)) for side in (left, right)]
    planned = plan(start, *made, PACED, final=False, waits=waits)
    assert planned.paused == paused


def test_carried_is_whose_time_was_put_forward() -> None:
    start = JoinOffset(step=5, left_time=100, right_time=110, tasks=1)
    left = commits((1, 1000, 0))
    planned = plan(start, left, [], PACED, final=False, waits=True, idle=(False, True))
    assert planned.carried == (False, True)
    record = record_of(start, planned, left, [], 0)
    assert (record.right.carried, record.right.start, record.right.stop) == (True, 0, 0)


def test_an_estimate_is_told_with_its_window_and_values() -> None:
    spec = EstimateSpec(percentile=0, ascending=2, sample_rows=2, memory_us=0)
    left = [
        CommitSummary(2, time + 1, (EventTimeSketch.of(np.array([time, time + 1])),), time + 50)
        for time in (10, 20, 30)
    ]
    planned = plan(JoinOffset(), left, [], PACE._replace(estimate=spec), final=False)
    taken = record_of(JoinOffset(), planned, left, [], 0).left.taken
    assert [(one.time_us, one.behind_us) for one in taken[1:]] == [(20, 50), (30, 50)]
    assert taken[0].behind_us is None
    assert taken[-1].values == (20, 30)
    assert (taken[-1].window, taken[-1].accuracy) == (1, 1.0)


def test_rows_ahead_of_the_others_are_counted_while_nobody_confirms_them() -> None:
    pace = PACE._replace(confirmed_by=4)
    day = [9000 + n for n in range(3)]
    left = [CommitSummary(1, time, (EventTimeSketch.of(np.array([time])),)) for time in (1, 2, 3, 4, *day)]
    planned = plan(JoinOffset(), left, [], pace, final=False)
    taken = record_of(JoinOffset(), planned, left, [], 0).left.taken
    assert [one.held_back for one in taken] == [1, 2, 3, 0, 1, 2, 3]
    assert [one.time_us for one in taken[3:]] == [1 - 10, 2 - 10, 3 - 10, 4 - 10]
    more = [CommitSummary(1, 9003, (EventTimeSketch.of(np.array([9003])),))]
    planned = plan(planned.end, more, [], pace, final=False)
    record = record_of(planned.end, planned, more, [], 0)
    assert (record.left.taken[0].held_back, record.left.time_us) == (0, 9000 - 10)
    assert StepRecord.from_json(record.to_json()) == record


def test_no_step_no_trace() -> None:
    start = JoinOffset(step=4, tasks=3)
    assert plan(start, [], [], PACE, final=False) == Planned(start)
