"""Recoverable: a crash anywhere, a lost index, a step that is run again, another number of bucket groups, and
retention after every step change nothing in what the step emits."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import oracle
from laws.algorithms import HASHINGS
from laws.effort import examples
from laws.recovering import RecoveringJoin, in_log_order
from oracle import ENDED
from streams import MODES, Mode, Row, Step, Window, wild_schedules, windows

ACCIDENTS = ("none", "the index is lost", "the workers are new", "the output is lost", "a worker dies")


@examples(usual=60, thorough=2000)
@given(
    data=st.data(),
    schedule=wild_schedules(),
    window=windows(),
    mode=st.sampled_from(MODES),
    hashing=st.sampled_from(HASHINGS),
)
def test_recoverable(data, schedule, window, mode, hashing):
    steps = in_log_order([*schedule, Step((), (), (ENDED, ENDED))], hashing)
    expected = oracle.streaming_join(steps, *window, *mode)
    with tempfile.TemporaryDirectory() as home:
        join = RecoveringJoin(Path(home), window, mode, hashing)
        tasks = 1
        for n, step in enumerate(steps):
            tasks = data.draw(st.sampled_from((tasks, tasks, 1, 2, 3)))
            accident = data.draw(st.sampled_from(ACCIDENTS))
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
    with tempfile.TemporaryDirectory() as home:
        join = RecoveringJoin(Path(home), Window(5, 5), Mode("left", "all", "first"), hashing)
        for n, (step, tasks) in enumerate(zip(steps, (1, 2, 2, 1, 1), strict=True)):
            assert join.step(step, tasks, "none") == expected[n], n
