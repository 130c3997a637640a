"""Which event times are believed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.time_codes import FIRST_TIME, NO_TIME, NULL_KEY, REASONS, TOO_FAR_AHEAD, TOO_OLD
from dovetail.model.validity import DAY_US, Validity

CLOCK = 1_700_000_000_000_000
times = st.one_of(
    st.integers(CLOCK - 40 * DAY_US, CLOCK + 40 * DAY_US),
    st.sampled_from([NO_TIME, NULL_KEY, FIRST_TIME, 0, 2**63 - 1]),
)


@given(st.lists(times, max_size=30), st.none() | st.integers(0, 30 * DAY_US), st.integers(0, 30 * DAY_US))
def test_a_time_is_kept_or_its_place_says_why_not(given: list[int], horizon: int | None, ahead: int) -> None:
    judged = Validity(horizon, ahead).judged(np.array(given, np.int64), CLOCK)
    for time, verdict in zip(given, judged.tolist(), strict=True):
        if time < FIRST_TIME:
            assert verdict == time
        elif time > CLOCK + ahead:
            assert verdict == TOO_FAR_AHEAD
        elif horizon is not None and time < CLOCK - horizon:
            assert verdict == TOO_OLD
        else:
            assert verdict == time


def test_where_all_is_well_nothing_is_copied() -> None:
    given = np.array([CLOCK, CLOCK + 7 * DAY_US, 0])
    assert Validity().judged(given, CLOCK) is given


def test_every_code_has_a_reason() -> None:
    assert sorted(REASONS) == list(range(NO_TIME, FIRST_TIME))
