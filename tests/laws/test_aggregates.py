"""Aggregates over time windows: any cut into commits, steps, restarts gives what the oracle says."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aggregate_oracle import Expected, Row, fixed_windows, session_windows
from aggregating import Aggregate, config_of
from dovetail.model.time_window import TimeWindow

KEYS = st.sampled_from(["a", "b", "cc", "dd", None])
TIMES = st.one_of(st.none(), st.integers(-40, 80))
COMMITS = st.lists(st.lists(st.tuples(TIMES, KEYS), min_size=1, max_size=8), min_size=1, max_size=8)
WINDOWS = st.sampled_from(
    [
        TimeWindow("tumbling", 10, 10),
        TimeWindow("tumbling", 7, 7, 3),
        TimeWindow("tumbling", 10, 10, -4),
        TimeWindow("hopping", 10, 5),
        TimeWindow("hopping", 10, 3),
        TimeWindow("hopping", 20, 7, 2),
        TimeWindow("session", 5, 5),
        TimeWindow("session", 12, 12),
    ]
)


def expected_of(commits: Sequence[Sequence[Row]], delay: int, window: TimeWindow) -> Expected:
    if window.is_session:
        return session_windows(commits, delay, window.length_us)
    return fixed_windows(commits, delay, window.length_us, window.every_us, window.start_us)


@settings(max_examples=40, deadline=None)
@given(
    COMMITS,
    WINDOWS,
    st.integers(0, 30),
    st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=8, max_size=8),
    st.sampled_from([1, 6, 1000]),
)
@example(
    [[(5, "a")], [(9, "a")], [(30, "a"), (7, "a")]], TimeWindow("session", 5, 5), 0, [(True,) * 3] * 8, 1
)
def test_every_cut_gives_what_the_oracle_says(
    commits: list[list[Row]],
    window: TimeWindow,
    delay: int,
    cuts: list[tuple[bool, bool, bool]],
    step_rows: int,
) -> None:
    with tempfile.TemporaryDirectory() as home:
        made = Aggregate(config_of(Path(home), window, delay, max_step_rows=step_rows))
        for commit, (runs, restarted, hurried) in zip(commits, cuts, strict=False):
            made.append(commit)
            if runs:
                made.run(restarted=restarted, hurried=hurried)
            else:
                made.forget(final=restarted)
        made.run()
        wanted = expected_of(commits, delay, window)
        assert sorted(made.out) == sorted(wanted.closed)
        assert sorted(made.late) == sorted(wanted.late)
        made.run(final=True)
        assert sorted(made.out) == sorted(wanted.closed | wanted.open)
        assert sorted(made.late) == sorted(wanted.late)
        _each_window_comes_whole(made, commits)


def _each_window_comes_whole(made: Aggregate, commits: list[list[Row]]) -> None:
    key_of = [key for commit in commits for _, key in commit]
    session = made.config.window.is_session
    seen: set[object] = set()
    for step in made.steps:
        groups = {(key_of[row] if session else None, window) for row, window in step}
        assert not groups & seen
        seen |= groups


@settings(max_examples=15, deadline=None)
@given(COMMITS, WINDOWS, st.integers(0, 30), st.integers(0, 8), st.booleans())
def test_a_changed_query_goes_on_with_open_windows(
    commits: list[list[Row]], window: TimeWindow, delay: int, at: int, runs: bool
) -> None:
    """Each window comes out once, by the query that counts when it closes. A column that came with it is null
    in every row of a window that has a row from before, and has its value in every row of the others."""
    with tempfile.TemporaryDirectory() as home:
        made = Aggregate(config_of(Path(home), window, delay))
        closed: list[object] = []
        before = 0
        for number, commit in enumerate(commits):
            if number == at:
                closed, before = list(made.out), made.rows
                made.change()
            made.append(commit)
            if runs or number == at - 1:
                made.run()
        made.run(final=True)
        wanted = expected_of(commits, delay, window)
        assert sorted(made.out) == sorted(wanted.closed | wanted.open)
        assert sorted(made.late) == sorted(wanted.late)
        rest = set(made.out[len(closed) :]) if at < len(commits) else set()
        key_of = [key if window.is_session else None for commit in commits for _, key in commit]
        older = {(key_of[row], span) for row, span in rest if row < before}
        assert made.worth == {
            (row, span): None if (key_of[row], span) in older else 7 * row for row, span in rest
        }
        _each_window_comes_whole(made, commits)


@settings(max_examples=12, deadline=None)
@given(COMMITS, COMMITS, WINDOWS, st.integers(0, 30))
def test_after_a_drain_the_stream_begins_again(
    first: list[list[Row]], second: list[list[Row]], window: TimeWindow, delay: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        made = Aggregate(config_of(Path(home), window, delay))
        for part in (first, second):
            before, late_before, rows = len(made.out), len(made.late), made.rows
            for commit in part:
                made.append(commit)
            made.run(final=True, restarted=True)
            made.run(final=True)
            wanted = expected_of(part, delay, window)
            shift = {(row + rows, span) for row, span in wanted.closed | wanted.open}
            assert sorted(made.out[before:]) == sorted(shift)
            assert sorted(made.late[late_before:]) == sorted((row + rows, span) for row, span in wanted.late)


@pytest.mark.parametrize("shape", ["tumbling", "session"])
def test_a_stream_that_closes_nothing_takes_no_steps(shape: str, tmp_path: Path) -> None:
    made = Aggregate(config_of(tmp_path, TimeWindow(shape, 1000, 1000), 10))  # type: ignore[arg-type]
    for time in range(100, 600, 10):
        made.append([(time, "a")])
        made.run(hurried=False)
    assert made.steps == []
    made.append([(5000, "a")])
    made.run(hurried=False)
    assert [len(step) for step in made.steps] == [50]


def test_the_floor_of_sessions_follows_them(tmp_path: Path) -> None:
    """Retention goes on although the stream never pauses: only the log of open sessions is kept."""
    made = Aggregate(config_of(tmp_path, TimeWindow("session", 10, 10), 5))
    for time in range(0, 2000, 10):
        made.append([(time, f"key {time // 50}")])
        made.run()
    assert made.offset.floor > made.offset.commit - 40
    made.run(final=True)
    assert len(made.out) == 200
