"""The batch join that simulated joins are measured by, against the oracle."""

from __future__ import annotations

import numpy as np
from bench.arrivals import Keyed
from bench.simulation import partners
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.interval import IntervalSpec
from oracle import admissible

rows = st.lists(st.tuples(st.integers(0, 4) | st.just(2**40), st.integers(-20, 20)), max_size=12)


@given(rows, rows, st.integers(0, 9), st.integers(0, 9))
def test_partners(left: list[tuple[int, int]], right: list[tuple[int, int]], before: int, after: int) -> None:
    sides = [[(key, time, number) for number, (key, time) in enumerate(side)] for side in (left, right)]
    expected = admissible(*sides, before, after)
    keyed = [Keyed(*(np.array([row[n] for row in side], np.int64) for n in (1, 0))) for side in sides]
    found = partners(*keyed, IntervalSpec(before, after, "left"))
    assert found.tolist() == [len(expected[number]) for number in range(len(left))]
