"""Recoverable, theta joins: accidents, other numbers of tasks and retention after every step change nothing
in what a step emits, nor what is counted."""

from hypothesis import given
from hypothesis import strategies as st

import theta_oracle as oracle
from dovetail.engine.store import read_totals
from faults.test_recoverable import ACCIDENTS
from laws.effort import examples
from laws.recovering import passing_home
from laws.recovering_theta import RecoveringTheta, numbered
from laws.test_theta import COUNTED, sizes, turns_of
from laws.theta import CONDITIONS, MODES, counting
from oracle import ENDED
from streams import Mode, Row, Window, streams, wild_schedules, windows

tasks_of = st.sampled_from((1, 2, 3, 7))
accidents = st.sampled_from(ACCIDENTS)


@examples(usual=15, thorough=2000)
@given(st.data(), wild_schedules(), windows(), st.sampled_from(MODES), st.sampled_from(CONDITIONS))
def test_recoverable(data, schedule, window, mode, condition):
    turns = numbered([[("left", step.left), ("right", step.right)] for step in schedule])
    steps = [(left[1], right[1], step.until) for (left, right), step in zip(turns, schedule, strict=True)]
    steps.append(((), (), (ENDED, ENDED)))
    expected = oracle.timed_join(steps, condition.holds, *window, *mode)
    with passing_home() as home:
        join = RecoveringTheta(home, window, mode, condition.theta)
        for n, (left, right, until) in enumerate(steps):
            tasks = min(data.draw(tasks_of), join.config.most_tasks)
            accident = data.draw(accidents)
            found = join.turns([("left", left), ("right", right)], until, tasks, accident)
            assert found == expected[n], (n, tasks, accident)
        totals = read_totals(join.config, join.offset)
        assert totals["left_in"] == sum(len(step[0]) for step in steps)
        assert totals["right_in"] == sum(len(step[1]) for step in steps)
        assert (totals["open_rows"], totals["retained_rows"]) == (0, 0)


@examples(usual=15, thorough=2000)
@given(st.data(), streams(), st.sampled_from(COUNTED), st.sampled_from(CONDITIONS), sizes, sizes)
def test_recoverable_where_rows_are_counted(data, pair, mode, condition, left_rows, right_rows):
    drawn = data.draw(turns_of(pair))
    steps = [
        (turns, ended)
        for turns, (_, ended) in zip(numbered([turns for turns, _ in drawn]), drawn, strict=True)
    ]
    expected = oracle.counted_join(steps, condition.holds, left_rows, right_rows, *mode[:2])
    with passing_home() as home:
        theta = counting(condition.theta, left_rows, right_rows)
        join = RecoveringTheta(home, Window(0, 0), mode, theta)
        for n, (turns, ended) in enumerate(steps):
            tasks = min(data.draw(tasks_of), join.config.most_tasks)
            accident = data.draw(accidents)
            found = join.turns(turns, (ENDED, ENDED) if ended else (0, 0), tasks, accident)
            assert found == expected[n], (n, tasks, accident)


def test_rows_that_the_log_has_no_longer_are_found_in_vain():
    """Where a band and more is asked, runs name rows that have left the window, and the log."""
    steps = [[("right", (Row(n % 2, n, 0),) * 4)] for n in range(5)] + [
        [("left", (Row(0, 9, 0), Row(1, 9, 0)))]
    ]
    turns = [(one, False) for one in numbered(steps)] + [([], True)]
    (condition,) = [condition for condition in CONDITIONS if condition.name == "a band and more"]
    mode = Mode("inner", "all", "first")
    expected = oracle.counted_join(turns, condition.holds, 3, 3, *mode[:2])
    assert any(expected)
    with passing_home() as home:
        join = RecoveringTheta(home, Window(0, 0), mode, counting(condition.theta, 3, 3))
        for n, (one, ended) in enumerate(turns):
            assert join.turns(one, (ENDED, ENDED) if ended else (0, 0), 1, "none") == expected[n]
        assert join.sides[1].first_commit() > 0
