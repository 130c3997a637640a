"""The laws of the window join, for every window and join type, against an oracle that knows no state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windows_oracle as oracle
from laws.algorithms import HASHINGS
from laws.effort import examples
from laws.windowed import HOWS, PICKS, WINDOWS, WindowStep
from streams import Row, Step, schedules, streams, wild_schedules

tried = examples(usual=15, thorough=2000)
each_window = pytest.mark.parametrize("window", WINDOWS, ids=lambda window: "-".join(map(str, window)))
hashings = st.sampled_from(HASHINGS)
FIXED = tuple(window for window in WINDOWS if window[0] != "session")


def rows_of(steps, side):
    return [row for step in steps for row in step[side]]


@each_window
@tried
@given(steps=wild_schedules(), hashing=hashings, picking=st.sampled_from(PICKS))
def test_step_by_step(window, steps, hashing, picking):
    """After every step, late rows or not: exactly the rows of the definition. The strongest law."""
    for how, pick in (*((how, None) for how in HOWS), picking):
        join = WindowStep(window, how, hashing, pick=pick)
        expected = oracle.streaming_join(steps, window, how, pick=pick)
        for n, step in enumerate(steps):
            assert join.step(step) == expected[n], (how, pick, n)


@pytest.mark.parametrize("window", FIXED, ids=lambda window: "-".join(map(str, window)))
@tried
@given(steps=wild_schedules(), hashing=hashings)
def test_eager_gives_each_pair_with_its_second_row(window, steps, hashing):
    join = WindowStep(window, "inner", hashing, "eager")
    lazy = WindowStep(window, "full", hashing)
    expected, held = oracle.streaming_join(steps, window, "inner", eager=True), oracle.held(steps, window)
    for n, step in enumerate(steps):
        assert join.step(step) == expected[n], n
        lazy.step(step)
        assert join.waiting == lazy.waiting == held[n], "eager and lazy hold the rows of open windows"


@each_window
@tried
@given(data=st.data(), pair=streams(), hashing=hashings)
def test_complete(window, data, pair, hashing):
    """Without late rows: the batch join, however the streams are cut; nothing is held at the end; eager gives
    the same."""
    steps = data.draw(schedules(pair))
    for how in HOWS:
        join = WindowStep(window, how, hashing)
        rows = [row for step in steps for row in join.step(step)]
        assert oracle.in_order(rows) == oracle.batch_join(list(pair.left), list(pair.right), window, how), how
        assert len(rows) == len(set(rows)), (how, "once")
        assert join.waiting == (0, 0), how
    if window[0] != "session":
        eager = WindowStep(window, "inner", hashing, "eager")
        rows = [row for step in steps for row in eager.step(step)]
        expected = oracle.batch_join(list(pair.left), list(pair.right), window, "inner")
        assert oracle.in_order(rows) == expected


@each_window
@tried
@given(data=st.data(), pair=streams(late=True))
def test_nothing_is_lost(window, data, pair):
    """When both streams have ended, an outer join has given every row, late or not, and counted it."""
    steps = data.draw(schedules(pair))
    join = WindowStep(window, "full", HASHINGS[0])
    rows, counted = [], np.zeros(2, int)
    for step in steps:
        rows += join.step(step)
        counted += join.counts.left_in, join.counts.right_in
    for side in (0, 1):
        assert {row[side] for row in rows} - {None} == {row.id for row in pair[side]}
    assert counted.tolist() == [len(pair.left), len(pair.right)]
    assert join.waiting == (0, 0)


@pytest.mark.parametrize("window", [("tumbling", 1000), ("hopping", 1000, 250), ("session", 3, 100)], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_many_rows_on_any_number_of_threads(window, threads):
    """Enough rows that the algorithms have something to share; a key that is hot."""
    seed, count = 5, 900
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(2):
        keys = np.where(rng.random(count) < 0.2, 0, rng.integers(0, 5, count)).tolist()
        times = rng.integers(0, 4000, count).tolist()
        rows.append([Row(key, time, n) for n, (key, time) in enumerate(zip(keys, times, strict=True))])
    for how in ("inner", "full", "semi"):
        join = WindowStep(window, how, HASHINGS[0], threads=threads)
        found = join.step(Step(tuple(rows[0]), tuple(rows[1]), (oracle.ENDED, oracle.ENDED)))
        assert found == oracle.batch_join(*rows, window, how), (how, seed)


@pytest.mark.parametrize("window", [("tumbling", 5), ("hopping", 6, 2), ("session", 3, 1000)], ids=str)
def test_a_side_that_never_sends(window):
    """Without a time of its own no window is ever over, and rows are held. A stream taken for idle has
    the other's time: then lone rows come out."""
    rows = tuple(Row(1, time, time) for time in range(20))
    join = WindowStep(window, "left", HASHINGS[0])
    assert join.step(Step(rows, (), (15, oracle.NEVER))) == []
    assert join.waiting == (20, 0)
    silent = [Step(rows, (), (15, oracle.NEVER)), Step((), (), (15, 15)), Step((), (), (oracle.ENDED,) * 2)]
    expected = oracle.streaming_join(silent, window, "left")
    assert join.step(silent[1]) == expected[1]
    assert join.step(silent[2]) == expected[2]
    assert join.waiting == (0, 0)
    assert {row[0] for row in expected[1] + expected[2]} == set(range(20))


@each_window
def test_rows_whose_window_ends_as_they_come_are_never_held(window):
    join = WindowStep(window, "left", HASHINGS[0])
    rows = tuple(Row(key, key, key) for key in range(4))
    join.step(Step(rows, rows, (1000, 1000)))
    assert (join.waiting, join.peak_rows) == ((0, 0), 0)
    late = tuple(Row(key, 2000, 4 + key) for key in range(3))
    join.step(Step(late, (), (1000, 1000)))
    assert (join.waiting, join.peak_rows) == ((3, 0), 3)
    join.step(Step((), (), (9000, 9000)))
    assert (join.waiting, join.peak_rows) == ((0, 0), 3)
