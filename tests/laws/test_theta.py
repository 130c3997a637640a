"""The laws of the theta join: sound, once, complete and parallel, step by step against an oracle of its own;
invariant under every way of cutting; and in order where an order was asked for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import theta_oracle as oracle
from dovetail.joins.theta import pairs as theta_pairs
from dovetail.joins.theta import runs as theta_runs
from laws.effort import examples
from laws.theta import CONDITIONS, MODES, Tasks, counting
from oracle import ENDED
from streams import Step, schedules, streams, wild_schedules, windows

tasks_of = st.sampled_from((1, 2, 3))


@pytest.fixture(scope="module", autouse=True, params=("many runs", "compiled"))
def in_small(request):
    """Small streams meet what large ones do: rows that are gone leave their runs, and conditions are
    compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theta_runs, "SLACK_ROWS", 1)
        if request.param == "compiled":
            patch.setattr(theta_pairs, "PAYS_FROM", 0)
        yield


@examples(usual=30, thorough=3000)
@given(wild_schedules(), windows(), st.sampled_from(CONDITIONS), tasks_of, st.sets(st.integers(0, 9)))
def test_step_by_step(steps, window, condition, tasks, forgetful):
    """Sound, once, complete, parallel: also with late rows and times that have nothing to do with rows."""
    steps = [*steps, Step((), (), (ENDED, ENDED))]
    for mode in MODES:
        join = Tasks(window, mode, condition.theta, tasks)
        expected = oracle.timed_join(steps, condition.holds, *window, *mode)
        for n, step in enumerate(steps):
            assert join.timed(*step, n in forgetful) == expected[n], (mode, n)
        assert join.waiting == (0, 0)


@examples(usual=20, thorough=2000)
@given(st.data(), streams(), windows(), st.sampled_from(CONDITIONS), tasks_of)
def test_invariant(data, pair, window, condition, tasks):
    """With no late rows the result is the batch join, however the streams are cut and interleaved."""
    for how in ("inner", "left", "semi", "anti", "full"):
        expected = oracle.batch_join(pair.left, pair.right, condition.holds, *window, how)
        join = Tasks(window, MODES[0]._replace(how=how), condition.theta, tasks)
        found = [row for step in data.draw(schedules(pair)) for row in join.timed(*step)]
        assert oracle.in_order(found) == expected, how


HOW = ("inner", "left", "full")
COUNTED = [mode for mode in MODES if mode.pick == "first"]
sizes = st.sampled_from((1, 2, 3, 7, 100))


@st.composite
def turns_of(draw, pair):
    """Both streams in turns, and the turns in steps."""
    queues = {"left": list(pair.left), "right": list(pair.right)}
    turns = []
    while any(queues.values()):
        side = draw(st.sampled_from([side for side in queues if queues[side]]))
        count = draw(st.integers(1, 6))
        turns.append((side, tuple(queues[side][:count])))
        del queues[side][:count]
    steps = [[]]
    for turn in turns:
        if draw(st.booleans()):
            steps.append([])
        steps[-1].append(turn)
    return [*((step, False) for step in steps), ([], True)]


@examples(usual=30, thorough=3000)
@given(
    st.data(),
    streams(),
    st.sampled_from(CONDITIONS),
    sizes,
    sizes,
    tasks_of,
    st.sets(st.integers(0, 9)),
)
def test_windows_that_count_rows(data, pair, condition, left_rows, right_rows, tasks, forgetful):
    steps = data.draw(turns_of(pair))
    for mode in COUNTED:
        join = Tasks((0, 0), mode, counting(condition.theta, left_rows, right_rows), tasks)
        expected = oracle.counted_join(steps, condition.holds, left_rows, right_rows, *mode[:2])
        for n, (turns, ended) in enumerate(steps):
            until = (ENDED, ENDED) if ended else (0, 0)
            found = [row for part in join.parts(turns, until, n in forgetful) for row in part]
            assert oracle.in_order(found) == expected[n], (mode, n)
            assert join.waiting[0] <= left_rows
            assert join.waiting[1] <= right_rows * (1 if mode == MODES[0] else tasks)


@examples(usual=20, thorough=1000)
@given(st.data(), streams(), st.sampled_from(CONDITIONS), sizes, tasks_of, st.booleans())
def test_in_order_of_arrival(data, pair, condition, rows, tasks, counted):
    """Each task's pairs of a step by the arrival of the later row; its lone rows after them."""
    theta = replace(condition.theta, order="task")
    theta = counting(theta, rows, rows) if counted else theta
    window = (0, 0) if counted else (5, 5)
    join = Tasks(window, MODES[0]._replace(how=data.draw(st.sampled_from(HOW))), theta, tasks)
    for turns, ended in data.draw(turns_of(pair)):
        entered = {(side, row.id): at for at, (side, row) in enumerate(_rows(turns))}
        for part in join.parts(turns, (ENDED, ENDED) if ended else (0, 0)):
            arrivals = [
                max(entered.get(("left", left), -1), entered.get(("right", right), -1))
                for left, right in part
                if left is not None and right is not None
            ]
            alone = [
                (left is None, right if left is None else left)
                for left, right in part
                if None in (left, right)
            ]
            assert arrivals == sorted(arrivals)
            assert alone == sorted(alone)
            assert [None in row for row in part] == sorted(None in row for row in part)


def _rows(turns):
    return [(side, row) for side, rows in turns for row in rows]
