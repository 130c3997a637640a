"""A join that is changed in the middle of its streams, over real homes: whatever breaks in the step of the
change or in those around it, each row comes out once, by the old query before and by the new one after."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import windows_oracle
from change_oracle import ChangingCounts, ChangingJoin, ChangingTheta, ChangingWindows, Spec
from dovetail.engine.driver import JoinDriver
from dovetail.engine.store import read_totals
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, ThetaJoin
from dovetail.model.share import HotKey
from faults.test_recoverable import ACCIDENTS, sets_of_hot_keys
from laws.algorithms import HASHINGS
from laws.changing import specs
from laws.effort import examples
from laws.recovering import BUCKETS, RecoveringJoin, in_log_order, passing_home
from laws.recovering_theta import RecoveringTheta, numbered
from laws.recovering_windows import RecoveringWindows, windowed
from laws.test_theta import COUNTED, sizes, turns_of
from laws.theta import CONDITIONS, counting
from laws.theta import MODES as THETA_MODES
from laws.windowed import HOWS, PICKS, WINDOWS, asked
from oracle import ENDED
from streams import Mode, Step, Window, streams, wild_schedules, windows

EXACT = [hashing for hashing in HASHINGS if hashing.name not in ("two values", "one value")]


@examples(usual=30, thorough=4000)
@given(
    data=st.data(),
    schedule=wild_schedules(),
    first=specs(),
    hashing=st.sampled_from(EXACT),
    history_us=st.sampled_from((0, 10**12)),
)
def test_changes_recoverable(data, schedule, first, hashing, history_us):
    """Any number of tasks, hot keys and accidents, also in the step of the change and around it; a log that
    is trimmed after every step to what the old query needs, or that keeps everything."""
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    expected, spec = ChangingJoin(first), first
    with passing_home() as home:
        join = RecoveringJoin(home, Window(*first[:2]), Mode(*first[2:5]), hashing, first[5:])
        keep_history(join, history_us)
        tasks = 1
        for n, step in enumerate(steps):
            if data.draw(st.sampled_from((False, True))):
                passed = data.draw(st.lists(specs(spec), min_size=1, max_size=2))
                spec = passed[-1]
                join.becomes(*(IntervalJoin(IntervalSpec(*one)) for one in passed))
                accident = data.draw(st.sampled_from(ACCIDENTS))
                reach = first_row(join.sides[1])
                rows = expected.change(spec, reach)
                if n:
                    assert join.change(accident) == rows, (n, spec, accident, reach)
                else:
                    assert not rows, "before the first step there is nothing to change"
            tasks = data.draw(st.sampled_from((tasks, tasks, 1, 2, 3, 8)))
            hot = data.draw(sets_of_hot_keys(Mode(*spec[2:5]), hashing)) if spec[5:] == (None, None) else []
            accident = data.draw(st.sampled_from(ACCIDENTS))
            assert join.step(step, min(tasks, BUCKETS), accident, hot) == expected.step(*step), (n, accident)
        if hashing.exact:
            totals = read_totals(join.config, join.offset)
            assert totals["left_in"] == sum(len(step.left) for step in steps)
            assert totals["right_in"] == sum(len(step.right) for step in steps)
            assert (totals["open_rows"], totals["retained_rows"]) == (0, 0)


@examples(usual=20, thorough=3000)
@given(
    data=st.data(),
    schedule=wild_schedules(),
    window=st.sampled_from(WINDOWS),
    hashing=st.sampled_from(HASHINGS),
)
def test_windows_change_their_join(data, schedule, window, hashing):
    """The windows stay. The join type changes, whether pairs wait for the end of their window, and whether
    left rows take one partner."""
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    lazy = [*((how, "lazy", None) for how in HOWS), *((how, "lazy", pick) for how, pick in PICKS)]
    modes = st.sampled_from(lazy if window[0] == "session" else [*lazy, *[("inner", "eager", None)] * 6])
    how, emit, pick = data.draw(modes)
    expected = ChangingWindows(window, how, emit == "eager", pick)
    with passing_home() as home:
        join = RecoveringWindows(home, asked(window, emit), how, hashing, pick)
        for n, step in enumerate(steps):
            if n and data.draw(st.booleans()):
                how, emit, pick = data.draw(modes)
                join.becomes(windowed(how, asked(window, emit), pick))
                found = windows_oracle.in_order(join.change(data.draw(st.sampled_from(ACCIDENTS))))
                assert found == expected.change(how, emit == "eager", pick), n
            tasks, accident = data.draw(st.sampled_from((1, 2, 3))), data.draw(st.sampled_from(ACCIDENTS))
            hot = ()
            if window[0] != "session" and how not in ("right", "full") and data.draw(st.booleans()):
                sides = ("left", "right") if (how, pick) == ("inner", None) else ("left",)
                hot = (HotKey(hashing.of(0), data.draw(st.sampled_from(sides))),)
            found, came = join.step(step, tasks, accident, hot), expected.step(*step)
            if window[0] == "session":  # of these only the type changes, so each step is one of that type
                came = windows_oracle.streaming_join(steps, window, how, pick=pick)[n]
            assert found == came, (n, how, emit, pick, tasks, accident, hot)


@examples(usual=20, thorough=3000)
@given(data=st.data(), schedule=wild_schedules(), history_us=st.sampled_from((0, 10**12)))
def test_theta_joins_change(data, schedule, history_us):
    """Bounds, type, picks and the condition itself."""
    turns = numbered([[("left", step.left), ("right", step.right)] for step in schedule])
    steps = [(left[1], right[1], step.until) for (left, right), step in zip(turns, schedule, strict=True)]
    steps.append(((), (), (ENDED, ENDED)))
    window, mode, condition = drawn = data.draw(theta_specs)
    expected = ChangingTheta(Spec(*window, *mode), condition.holds)
    with passing_home() as home:
        join = RecoveringTheta(home, window, mode, condition.theta)
        keep_history(join, history_us)
        for n, (left, right, until) in enumerate(steps):
            if n and data.draw(st.booleans()):
                other = data.draw(theta_specs)
                drawn = tuple(data.draw(st.sampled_from(pair)) for pair in zip(drawn, other, strict=True))
                window, mode, condition = drawn
                join.becomes(ThetaJoin(IntervalSpec(*window, *mode), condition.theta))
                reach = first_row(join.sides[1]), first_row(join.sides[0])
                rows = expected.change(Spec(*window, *mode), condition.holds, *reach)
                assert join.change(data.draw(st.sampled_from(ACCIDENTS))) == rows, (n, drawn, reach)
            tasks = min(data.draw(st.sampled_from((1, 2, 3))), join.config.most_tasks)
            accident = data.draw(st.sampled_from(ACCIDENTS))
            found = join.turns([("left", left), ("right", right)], until, tasks, accident)
            assert found == expected.step(left, right, until), (n, tasks, accident)


@examples(usual=15, thorough=2000)
@given(data=st.data(), pair=streams(), history_us=st.sampled_from((0, 10**12)))
def test_windows_that_count_rows_change(data, pair, history_us):
    """How many rows they count, type and condition."""
    turned = data.draw(turns_of(pair))
    steps = list(zip(numbered([turns for turns, _ in turned]), (ended for _, ended in turned), strict=True))
    (left_rows, right_rows), mode, condition = drawn = data.draw(counted_specs)
    expected = ChangingCounts((left_rows, right_rows, *mode[:2]), condition.holds)
    with passing_home() as home:
        join = RecoveringTheta(home, Window(0, 0), mode, counting(condition.theta, left_rows, right_rows))
        keep_history(join, history_us)
        for n, (turns, ended) in enumerate(steps):
            if n and data.draw(st.booleans()):
                other = data.draw(counted_specs)
                drawn = tuple(data.draw(st.sampled_from(both)) for both in zip(drawn, other, strict=True))
                (left_rows, right_rows), mode, condition = drawn
                theta = counting(condition.theta, left_rows, right_rows)
                join.becomes(ThetaJoin(IntervalSpec(0, 0, *mode), theta))
                reach = first_row(join.sides[1]), first_row(join.sides[0])
                rows = expected.change((left_rows, right_rows, *mode[:2]), condition.holds, *reach)
                assert join.change(data.draw(st.sampled_from(ACCIDENTS))) == rows, (n, drawn, reach)
            tasks = min(data.draw(st.sampled_from((1, 2, 3))), join.config.most_tasks)
            accident = data.draw(st.sampled_from(ACCIDENTS))
            found = join.turns(turns, (ENDED, ENDED) if ended else (0, 0), tasks, accident)
            assert found == expected.step(turns, ended), (n, tasks, accident)


theta_specs = st.tuples(windows(), st.sampled_from(THETA_MODES), st.sampled_from(CONDITIONS))
counted_specs = st.tuples(st.tuples(sizes, sizes), st.sampled_from(COUNTED), st.sampled_from(CONDITIONS))


def keep_history(join, history_us):
    join.config = replace(join.config, settings=replace(join.config.settings, history_us=history_us))
    join.driver = JoinDriver(join.config)


def first_row(category):
    start, stop = category.first_commit(), category.next_commit()
    return category.commit(start).first_row if start < stop else 0
