"""Which stream waits for which: the rule of section 5.2, and where others had bugs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.join_settings import Pacing
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, plan

AFTER, SLACK = 30, 10
PACE = Pace(0, 0, 1, 1, None, Pacing(SLACK, 1000), AFTER)  # one commit a step


def commits(*newest: int | None) -> list[CommitSummary]:
    return [CommitSummary(1, time) for time in newest]


def at(left_time: int, right_time: int) -> JoinOffset:
    return JoinOffset(step=5, left_time=left_time, right_time=right_time, tasks=1)


@pytest.mark.parametrize(
    ("left_time", "right_time", "goes"),
    [
        (100, 129, "right"),  # left is ahead of what right covers: it waits
        (100, 130, "left"),
        (100, 140, "left"),
        (100, 141, "left"),  # right is ahead by more than the slack: it waits
        (NEVER, 50, "left"),
        (50, NEVER, "right"),
        (NEVER, NEVER, "left"),
    ],
)
def test_who_goes(left_time: int, right_time: int, goes: str) -> None:
    start = at(left_time, right_time)
    end = plan(start, commits(1000), commits(1000), PACE, final=False, waits=True).end
    assert (end.left, end.right) == ((1, 0) if goes == "left" else (0, 1))


def test_a_stream_that_is_ahead_waits_for_one_that_has_nothing_yet() -> None:
    start = at(100, 110)
    assert plan(start, commits(1000), [], PACE, final=False, waits=True).end is start
    start = at(100, 141)
    assert plan(start, [], commits(1000), PACE, final=False, waits=True).end is start
    start = at(100, 140)
    assert plan(start, [], commits(1000), PACE, final=False, waits=True).end.right == 1


def test_what_is_there_is_taken_where_nothing_more_will_come() -> None:
    """--available-now and --drain do not wait."""
    assert plan(at(100, 110), commits(1000), [], PACE, final=False).end.left == 1
    assert plan(at(100, 500), [], commits(1000), PACE, final=True).end.ended


def test_an_idle_stream_is_carried_forward_and_the_offset_says_so() -> None:
    end = plan(at(100, 110), commits(1000), [], PACE, final=False, waits=True, idle=(False, True)).end
    assert (end.left, end.left_time, end.right_time) == (1, 1000, 130)
    end = plan(end, [], [], PACE, final=False, waits=True, idle=(False, True)).end
    assert (end.left, end.right_time) == (1, 1030)
    assert plan(end, [], [], PACE, final=False, waits=True, idle=(True, True)).end is end
    end = plan(at(100, 500), [], commits(1000), PACE, final=False, waits=True, idle=(True, False)).end
    assert (end.right, end.left_time) == (1, 500 - AFTER - SLACK)


def test_without_pacing_an_idle_stream_takes_on_the_time_of_the_other() -> None:
    """So windows close although one stream is silent, after their own length."""
    free = PACE._replace(pacing=None)
    start = at(100, 60)
    end = plan(start, commits(1000), [], free, final=False, waits=True).end
    assert (end.left_time, end.right_time) == (1000, 60), "not idle yet"
    end = plan(end, [], [], free, final=False, waits=True, idle=(False, True)).end
    assert (end.left_time, end.right_time) == (1000, 1000)
    assert plan(end, [], [], free, final=False, waits=True, idle=(False, True)).end is end
    end = plan(end, [], commits(2000), free, final=False, waits=True, idle=(True, False)).end
    assert plan(end, [], [], free, final=False, waits=True, idle=(True, False)).end.left_time == 2000


def test_a_stream_that_never_starts_holds_the_other_up_until_it_counts_as_idle() -> None:
    start = at(NEVER, 500)
    assert plan(start, [], commits(1000), PACE, final=False, waits=True).end is start
    assert plan(start, [], commits(1000), PACE, final=False, waits=True, idle=(True, False)).end.right == 1
    start = at(500, NEVER)
    assert plan(start, commits(1000), [], PACE, final=False, waits=True).end is start
    assert plan(start, commits(1000), [], PACE, final=False, waits=True, idle=(False, True)).end.left == 1


def test_an_idle_stream_that_comes_back_is_read() -> None:
    start = at(100, 500)
    end = plan(start, commits(120), commits(1000), PACE, final=False, waits=True, idle=(True, True)).end
    assert (end.left, end.left_time, end.right) == (1, 120, 0)


streams = st.lists(st.none() | st.integers(0, 300), max_size=25)


@given(streams, streams, st.integers(1, 5), st.booleans())
def test_never_both_stuck(
    left: list[int | None], right: list[int | None], step_rows: int, closed: bool
) -> None:
    """While both have input there is a step; what is left over in the end is of one stream, and waits for the
    other, unless nothing more will come. Times never go back."""
    pace = PACE._replace(max_step_rows=step_rows)
    offset = JoinOffset()
    rows = commits(*left), commits(*right)
    while True:
        end = plan(
            offset, rows[0][offset.left :], rows[1][offset.right :], pace, final=False, waits=not closed
        ).end
        if end is offset:
            break
        assert (end.left, end.right) > (offset.left, offset.right)
        assert end.left_time >= offset.left_time
        assert end.right_time >= offset.right_time
        offset = end
    assert offset.left == len(left) or offset.right == len(right)
    if closed:
        assert (offset.left, offset.right) == (len(left), len(right))
