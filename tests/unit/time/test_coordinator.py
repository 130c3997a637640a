"""The coordinator as tables: what is new, how far the step goes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import needed_since
from dovetail.model.offset import ENDED, NEVER, JoinOffset
from dovetail.time.clock import CommitSummary, advanced
from dovetail.time.coordinator import Pace, plan

PACE = Pace(left_max_delay_us=10, right_max_delay_us=20, max_step_rows=100, tasks=3)


def commits(*pairs: tuple[int, int | None]) -> list[CommitSummary]:
    return [CommitSummary(*pair) for pair in pairs]


@pytest.mark.parametrize(
    ("time", "front", "delay", "after"),
    [
        (NEVER, NEVER, 5, NEVER),
        (NEVER, 100, 5, 95),
        (95, 90, 5, 95),
        (95, 200, 5, 195),
        (ENDED, 200, 5, ENDED),
        (NEVER, NEVER + 1, 5, NEVER + 1),
    ],
)
def test_fixed_delay(time: int, front: int, delay: int, after: int) -> None:
    assert advanced(time, front, delay) == after


def test_takes_the_stream_that_is_behind_first() -> None:
    end = plan(
        JoinOffset(), commits((60, 1000), (60, 2000)), commits((60, 100), (60, 200)), PACE, final=False
    ).end
    # left (never seen) first, then right, which stays behind, until the step is full
    assert (end.left, end.right) == (1, 1)
    assert (end.left_time, end.right_time) == (990, 80)
    end = plan(end, commits((60, 2000)), commits((60, 200)), PACE, final=False).end
    assert (end.left, end.right) == (2, 2)
    assert (end.step, end.tasks) == (2, 3)


def test_a_stream_without_input_does_not_hold_the_other_up() -> None:
    end = plan(JoinOffset(), [], commits((60, 100), (60, 200), (60, 300)), PACE, final=False).end
    assert (end.left, end.right, end.left_time) == (0, 2, NEVER)


def test_nothing_new_is_no_step() -> None:
    start = JoinOffset(step=4, left=2, right=2, tasks=3)
    assert plan(start, [], [], PACE, final=False).end is start


def test_the_end_comes_once_with_the_last_commit_and_a_new_beginning_after_it() -> None:
    start = JoinOffset()
    assert plan(start, [], [], PACE, final=True).end is start
    worked = plan(start, commits((60, 50), (60, 60)), commits((60, 40)), PACE, final=True).end
    assert (worked.left, worked.right, worked.ended) == (1, 1, False)
    ended = plan(worked, commits((60, 60)), [], PACE, final=True).end
    assert (ended.left, ended.ended, ended.left_time, ended.right_time) == (2, True, ENDED, ENDED)
    assert plan(ended, [], [], PACE, final=True).end is ended
    again = plan(ended, commits((1, 7)), [], PACE, final=False).end
    assert (again.ended, again.left_time, again.right_time) == (False, -3, NEVER)


def test_what_an_earlier_run_left_open_is_ended_without_new_input() -> None:
    open_ = plan(JoinOffset(), commits((1, 7)), [], PACE, final=False).end
    ended = plan(open_, [], [], PACE, final=True).end
    assert (ended.step, ended.left, ended.ended) == (2, 1, True)


@given(
    st.lists(st.tuples(st.integers(1, 80), st.none() | st.integers(-1000, 1000)), max_size=8),
    st.lists(st.tuples(st.integers(1, 80), st.none() | st.integers(-1000, 1000)), max_size=8),
)
def test_every_commit_is_taken_once_and_times_never_go_back(
    left: list[tuple[int, int | None]], right: list[tuple[int, int | None]]
) -> None:
    offset = JoinOffset()
    for _ in range(len(left) + len(right) + 1):
        end = plan(
            offset, commits(*left[offset.left :]), commits(*right[offset.right :]), PACE, final=False
        ).end
        if end is offset:
            break
        assert end.left_time >= offset.left_time
        assert end.right_time >= offset.right_time
        assert (end.left, end.right) > (offset.left, offset.right) or end.right > offset.right
        offset = end
    assert (offset.left, offset.right) == (len(left), len(right))


@pytest.mark.parametrize("pick", ["first", "nearest"])
def test_what_a_rebuild_needs(pick: str) -> None:
    spec = IntervalSpec(30, 40, "left", "one", pick)  # type: ignore[arg-type]
    offset = JoinOffset(left_time=1000, right_time=900)
    open_since, retained_since = needed_since(spec, offset)
    assert open_since == 860
    assert retained_since == (970 if pick == "first" else 830)
    assert needed_since(spec, replace(offset, ended=True)) == (ENDED, ENDED)


def test_an_offset_survives_json_and_nothing_else_does() -> None:
    offset = JoinOffset(3, 1, 2, -5, 7, 0, 1, 4)
    assert JoinOffset.from_json(offset.to_json()) == offset
    assert offset.version != replace(offset, right_time=8).version
    with pytest.raises(UnknownVersion):
        JoinOffset.from_json({**offset.to_json(), "version": 99})
    with pytest.raises(CorruptFile):
        JoinOffset.from_json({**offset.to_json(), "depth": 1})
