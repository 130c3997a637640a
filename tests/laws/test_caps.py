"""Per-key caps, step by step against the oracle, in every mode that has them."""

from hypothesis import given
from hypothesis import strategies as st

import oracle
from laws.algorithms import HASHINGS, IntervalStep
from laws.effort import tried
from streams import MODES, wild_schedules, windows

caps = st.none() | st.integers(1, 3)


def allowed(mode, right_cap):
    """A right row that a deferred pick may still choose must stay."""
    return right_cap is None or not (mode.how in ("right", "full") and oracle.defers_pick(*mode))


@tried
@given(wild_schedules(), windows(), st.sampled_from(HASHINGS), caps, caps)
def test_step_by_step(steps, window, hashing, left_cap, right_cap):
    for mode in MODES:
        if not allowed(mode, right_cap):
            continue
        join = IntervalStep(window, mode, hashing, (left_cap, right_cap))
        expected, capped = oracle.capped_join(steps, *window, *mode, left_cap, right_cap)
        counted = [0, 0]
        for n, step in enumerate(steps):
            assert join.step(step) == expected[n], (mode, n)
            counted[0] += join.counts.left_capped
            counted[1] += join.counts.right_capped
        assert tuple(counted) == capped, mode


@tried
@given(wild_schedules(), windows())
def test_the_oracle_without_caps_is_the_oracle(steps, window):
    for mode in MODES:
        expected = oracle.streaming_join(steps, *window, *mode)
        assert oracle.capped_join(steps, *window, *mode, None, None) == (expected, (0, 0)), mode


@tried
@given(wild_schedules(), windows(), st.integers(1, 3), st.integers(1, 3))
def test_no_more_than_the_cap_is_held_of_a_key(steps, window, left_cap, right_cap):
    for mode in MODES:
        if allowed(mode, right_cap):
            join = IntervalStep(window, mode, HASHINGS[0], (left_cap, right_cap))
            keys = {row.key for step in steps for rows in step[:2] for row in rows}
            for step in steps:
                join.step(step)
                assert join.waiting[0] <= left_cap * len(keys)
                assert join.waiting[1] <= right_cap * len(keys)
