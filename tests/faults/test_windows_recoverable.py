"""Recoverable, window joins: accidents, other numbers of tasks, hot keys and retention after every step
change nothing in what a step emits, nor what is counted."""

from hypothesis import given
from hypothesis import strategies as st

import windows_oracle as oracle
from dovetail.engine.store import read_totals
from dovetail.model.share import HotKey
from faults.test_recoverable import ACCIDENTS
from laws.algorithms import HASHINGS
from laws.effort import examples
from laws.recovering import in_log_order, passing_home
from laws.recovering_windows import RecoveringWindows
from laws.windowed import HOWS, PICKS, WINDOWS, asked
from oracle import ENDED
from streams import Row, Step, wild_schedules

tasks_of = st.sampled_from((1, 2, 3, 7))
accidents = st.sampled_from(ACCIDENTS)
emits = st.sampled_from(("lazy", "eager"))


@examples(usual=20, thorough=3000)
@given(
    st.data(),
    wild_schedules(),
    st.sampled_from(WINDOWS),
    st.sampled_from([*((how, None) for how in HOWS), *PICKS]),
    emits,
    st.sampled_from(HASHINGS),
)
def test_recoverable(data, schedule, window, asked_for, emit, hashing):
    how, pick = asked_for
    if window[0] == "session" or asked_for != ("inner", None):
        emit = "lazy"
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    expected = oracle.streaming_join(steps, window, how, emit == "eager", pick)
    splits = window[0] != "session" and how in ("inner", "left", "semi", "anti")
    sides = ("left", "right") if asked_for == ("inner", None) else ("left",)
    with passing_home() as home:
        join = RecoveringWindows(home, asked(window, emit), how, hashing, pick)
        for n, step in enumerate(steps):
            tasks, accident = data.draw(tasks_of), data.draw(accidents)
            hot = ()
            if splits and tasks > 1 and data.draw(st.booleans()):
                hot = (HotKey(hashing.of(0), data.draw(st.sampled_from(sides))),)
            found = join.step(step, tasks, accident, hot)
            assert found == expected[n], (n, tasks, accident, hot)
        totals = read_totals(join.config, join.offset)
        assert totals["left_in"] == sum(len(step.left) for step in steps)
        assert totals["right_in"] == sum(len(step.right) for step in steps)
        assert (totals["open_rows"], totals["retained_rows"]) == (0, 0)


def test_sessions_of_keys_with_one_hash_are_apart():
    (hashing,) = [hashing for hashing in HASHINGS if hashing.name == "one value"]
    left = tuple(Row(key, 4 * key, key) for key in range(4))
    right = tuple(Row(key, 4 * key + 1, key) for key in range(4))
    steps = in_log_order([Step(left, right, (7, 7)), Step((), (), (ENDED, ENDED))], hashing)
    window = ("session", 5, 100)
    expected = oracle.streaming_join(steps, window, "inner", eager=False)
    assert [len(rows) for rows in expected] == [1, 3]
    with passing_home() as home:
        join = RecoveringWindows(home, asked(window, "lazy"), "inner", hashing)
        assert [join.step(step, 1, "none") for step in steps] == expected


def test_a_row_that_only_shares_the_tag_of_a_hot_key_is_counted():
    (hashing,) = [hashing for hashing in HASHINGS if hashing.name == "low bits only"]
    steps = in_log_order([Step((Row(1, 0, 0),), (Row(2, 0, 0),), (0, 0))], hashing)
    with passing_home() as home:
        join = RecoveringWindows(home, asked(("tumbling", 1), "lazy"), "inner", hashing)
        join.step(steps[0], 3, "none", (HotKey(hashing.of(0), "left"),))
        totals = read_totals(join.config, join.offset)
        assert (totals["left_in"], totals["right_in"]) == (1, 1)
