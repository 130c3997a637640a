"""Recoverable: a crash anywhere, a lost index, a step that is run again, another number of bucket groups, and
retention after every step change nothing in what the step emits."""

from hypothesis import given
from hypothesis import strategies as st

import oracle
from dovetail.engine.store import read_totals
from dovetail.model.join_kind import MOST_TASKS
from dovetail.model.share import HotKey
from laws.algorithms import HASHINGS
from laws.effort import examples
from laws.recovering import BUCKETS, RecoveringJoin, in_log_order, passing_home
from oracle import ENDED
from streams import MODES, Mode, Row, Step, Window, wild_schedules, windows

DISTINCT = [hashing for hashing in HASHINGS if hashing.name not in ("two values", "one value")]
ACCIDENTS = (
    "none",
    "the index is lost",
    "the workers are new",
    "the output is lost",
    "a worker dies",
    "the host is lost",
    "a snapshot is damaged",
)


@examples(usual=30, thorough=4000)
@given(
    data=st.data(),
    schedule=wild_schedules(),
    window=windows(),
    mode=st.sampled_from(MODES),
    hashing=st.sampled_from(HASHINGS),
    buckets=st.sampled_from((BUCKETS,) * 6 + (1, 7, MOST_TASKS)),
)
def test_recoverable(data, schedule, window, mode, hashing, buckets):
    """Any number of tasks in every step, keys that become hot and cool down at any step, rows of either side
    dealt out, accidents: what comes out is the same, and every row is counted once."""
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing, buckets)
    expected = oracle.streaming_join(steps, *window, *mode)
    hot_sets = sets_of_hot_keys(mode, hashing)
    with passing_home() as home:
        join = RecoveringJoin(home, window, mode, hashing, buckets=buckets)
        tasks, hot = 1, []
        for n, step in enumerate(steps):
            drawn = st.sampled_from((tasks, tasks, 1, 2, 3, 8, MOST_TASKS)) | st.integers(1, MOST_TASKS)
            tasks = min(buckets, data.draw(drawn))
            hot = data.draw(st.sampled_from((hot, None)))
            hot = data.draw(hot_sets) if hot is None else hot
            accident = data.draw(st.sampled_from(ACCIDENTS))
            assert join.step(step, tasks, accident, hot) == expected[n], (n, tasks, accident, hot)
        if hashing.exact:
            totals = read_totals(join.config, join.offset)
            assert totals["left_in"] == sum(len(step.left) for step in steps)
            assert totals["right_in"] == sum(len(step.right) for step in steps)
            assert (totals["open_rows"], totals["retained_rows"]) == (0, 0)


def sets_of_hot_keys(mode, hashing):
    """Keys that may be hot: none with lone right rows, whose partners must all be in one task."""
    if mode.how in ("right", "full"):
        return st.just([])
    sides = ("left", "right") if (mode.how, mode.match) == ("inner", "all") else ("left",)
    keys = [HotKey(hash, side) for hash in sorted({hashing.of(key) for key in range(3)}) for side in sides]
    return st.lists(st.sampled_from(keys), max_size=3, unique_by=lambda key: key.hash)


@examples(usual=12, thorough=1000)
@given(
    data=st.data(),
    schedule=wild_schedules(),
    window=windows(),
    mode=st.sampled_from(MODES),
    hashing=st.sampled_from(DISTINCT),
    caps=st.tuples(st.integers(1, 3), st.none() | st.integers(1, 3)),
)
def test_recoverable_with_caps(data, schedule, window, mode, hashing, caps):
    if mode.how in ("right", "full") and oracle.defers_pick(*mode):
        caps = (caps[0], None)
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    expected, _ = oracle.capped_join(steps, *window, *mode, *caps)
    with passing_home() as home:
        join = RecoveringJoin(home, window, mode, hashing, caps)
        for n, step in enumerate(steps):
            tasks, accident = data.draw(st.sampled_from((1, 2, 3))), data.draw(st.sampled_from(ACCIDENTS))
            assert join.step(step, tasks, accident) == expected[n], (n, tasks, accident)


def test_scaling_back_after_the_index_has_grown():
    """One group, then two, then one again, in the same workers: the files of the first grouping are still
    there, and larger than new ones begin."""
    hashing = HASHINGS[0]
    rows = [Row(n % 5000, n, n) for n in range(12_000)]
    quiet = Step((), (), (0, 0))
    steps = [
        Step(tuple(rows), (), (0, 0)),
        quiet,
        Step((), (), (11_990, 11_990)),
        Step((), tuple(rows[-20:]), (11_990, 11_990)),
        Step((), (), (ENDED, ENDED)),
    ]
    steps = in_log_order(steps, hashing)
    expected = oracle.streaming_join(steps, 5, 5, "left")
    with passing_home() as home:
        join = RecoveringJoin(home, Window(5, 5), Mode("left", "all", "first"), hashing)
        for n, (step, tasks) in enumerate(zip(steps, (1, 2, 2, 1, 1), strict=True)):
            assert join.step(step, tasks, "none") == expected[n], n
