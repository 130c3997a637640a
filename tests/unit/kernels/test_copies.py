"""Rows in windows, against the definition of a window, and labels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.joins.windowed.kernels.copies import in_windows, labels, mark

TIMES = st.lists(st.integers(-60, 60) | st.sampled_from([-(2**61), 2**61]), max_size=30)


@given(
    TIMES,
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(-20, 20),
    st.integers(-5, 40) | st.just(2**62),
)
def test_a_row_is_once_in_every_window_that_holds_it(
    times: list[int], length: int, every: int, first: int, more: int
) -> None:
    every, last = min(every, length), first + more
    tags = np.arange(len(times), dtype=np.uint32) * 7
    rows = np.arange(len(times), dtype=np.int64) + 100
    found = in_windows(tags, np.array(times, np.int64), rows, length, every, first, last)
    near = [range((time - length) // every, time // every + 2) for time in times]
    expected = [
        (7 * at, 100 + at, number)
        for at, time in enumerate(times)
        for number in near[at]
        if first <= number <= last and number * every <= time < number * every + length
    ]
    assert list(zip(found.tag.tolist(), found.row.tolist(), found.window.tolist(), strict=True)) == expected
    if expected:
        assert (found.low, found.high) == (min(e[2] for e in expected), max(e[2] for e in expected))
    else:
        assert found.low > found.high


@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(-5, 2**31 - 6)), max_size=30))
def test_labels_are_equal_where_window_and_tag_are(pairs: list[tuple[int, int]]) -> None:
    tags, windows = np.array([p[0] for p in pairs], np.uint32), np.array([p[1] for p in pairs], np.int64)
    made = labels(tags, windows, -5).tolist()
    assert len(set(made)) == len(set(pairs))
    assert dict(zip(pairs, made, strict=True)) == {pair: made[pairs.index(pair)] for pair in pairs}


def test_windows_are_marked_from_the_base_on() -> None:
    seen = np.zeros(6, np.bool_)
    mark(np.array([7, 3, 7], np.int64), 2, seen)
    assert np.flatnonzero(seen).tolist() == [1, 5]
