"""Recoverable, theta joins: accidents, other numbers of tasks and retention after every step change nothing
in what a step emits, nor what is counted."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import theta_oracle as oracle
from dovetail.state.store import read_totals
from faults.test_recoverable import ACCIDENTS
from faults.test_rescaling import MEMORY
from laws.effort import examples
from laws.recovering_theta import RecoveringTheta, numbered
from laws.test_theta import COUNTED, sizes, turns_of
from laws.theta import CONDITIONS, MODES, counting
from oracle import ENDED
from streams import Window, streams, wild_schedules, windows

tasks_of = st.sampled_from((1, 2, 3, 7))
accidents = st.sampled_from(ACCIDENTS)


@examples(usual=30, thorough=2000)
@given(st.data(), wild_schedules(), windows(), st.sampled_from(MODES), st.sampled_from(CONDITIONS))
def test_recoverable(data, schedule, window, mode, condition):
    turns = numbered([[("left", step.left), ("right", step.right)] for step in schedule])
    steps = [(left[1], right[1], step.until) for (left, right), step in zip(turns, schedule, strict=True)]
    steps.append(((), (), (ENDED, ENDED)))
    expected = oracle.timed_join(steps, condition.holds, *window, *mode)
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        join = RecoveringTheta(Path(home), window, mode, condition.theta)
        for n, (left, right, until) in enumerate(steps):
            tasks, accident = data.draw(tasks_of), data.draw(accidents)
            found = join.turns([("left", left), ("right", right)], until, tasks, accident)
            assert found == expected[n], (n, tasks, accident)
        totals = read_totals(join.config, join.offset)
        assert totals["left_in"] == sum(len(step[0]) for step in steps)
        assert totals["right_in"] == sum(len(step[1]) for step in steps)
        assert (totals["open_rows"], totals["retained_rows"]) == (0, 0)


@examples(usual=30, thorough=2000)
@given(st.data(), streams(), st.sampled_from(COUNTED), st.sampled_from(CONDITIONS), sizes, sizes)
def test_recoverable_where_rows_are_counted(data, pair, mode, condition, left_rows, right_rows):
    drawn = data.draw(turns_of(pair))
    steps = [
        (turns, ended)
        for turns, (_, ended) in zip(numbered([turns for turns, _ in drawn]), drawn, strict=True)
    ]
    expected = oracle.counted_join(steps, condition.holds, left_rows, right_rows, *mode[:2])
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        theta = counting(condition.theta, left_rows, right_rows)
        join = RecoveringTheta(Path(home), Window(0, 0), mode, theta)
        for n, (turns, ended) in enumerate(steps):
            tasks, accident = data.draw(tasks_of), data.draw(accidents)
            found = join.turns(turns, (ENDED, ENDED) if ended else (0, 0), tasks, accident)
            assert found == expected[n], (n, tasks, accident)
