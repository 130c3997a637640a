"""The laws of picks by value: of the partners that a left row meets, the one worth most, ties decided.

The oracle compares values in plain Python. The product computes them from columns, orders them as 64-bit
numbers and remembers only row references.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from dovetail.joins.theta.condition import comparable
from dovetail.joins.worth import ranks
from dovetail.model.interval import IntervalSpec
from laws.algorithms import HASHINGS
from laws.effort import tried
from laws.picking import DISTANCE, RIGHT, Picking
from streams import PAIRS, schedules, streams, wild_schedules, windows

WHOLE = st.sampled_from((None, 0, 1, 1, 2, 3, -(2**63), 2**63 - 1))
REAL = st.sampled_from((None, 0.0, -0.0, 1.5, 1.5, -2.0, math.nan, math.inf, -math.inf, 5e-324))
TYPES = {
    "whole": (pa.int64(), WHOLE),
    "narrow": (pa.int8(), st.sampled_from((None, -128, 0, 1, 127))),
    "real": (pa.float64(), REAL),
    "single": (pa.float32(), st.sampled_from((None, 0.5, -0.0, 0.0, math.nan, -math.inf))),
    "text": (pa.string(), st.sampled_from((None, "", "a", "b", "B", "ä", "\U0001f600", "\uffff"))),
    "decimal": (pa.decimal128(9, 2), st.sampled_from((None, *map(Decimal, ("0", "1.50", "-1.50", "99.99"))))),
    "boolean": (pa.bool_(), st.sampled_from((None, True, False))),
    "time": (pa.timestamp("us"), st.sampled_from((None, 0, 1, -1))),
    "date": (pa.date32(), st.sampled_from((None, 0, 1, -1))),
}


def drawn(data, steps, of):
    """A value for each row, by side."""
    return tuple({row.id: data.draw(of) for rows in steps for row in rows[side]} for side in (0, 1))


def both_ways(window, how, expression):
    return [IntervalSpec(*window, how, "one", pick, picked_by=expression) for pick in ("max", "min")]


@pytest.mark.parametrize("kind", ["whole", "real", "text"])
@tried
@given(data=st.data(), steps=wild_schedules(), window=windows(), hashing=st.sampled_from(HASHINGS))
def test_step_by_step(kind, data, steps, window, hashing):
    """After every step, late rows or not: exactly the rows of the definition, and what must wait is held."""
    type_, of = TYPES[kind]
    columns = drawn(data, steps, of)
    for how in PAIRS:
        for spec in both_ways(window, how, RIGHT):
            pick = oracle.by_value(lambda _, r: columns[1][r[2]], spec.pick == "max")
            expected = oracle.streaming_join(steps, *window, how, "one", pick)
            held = oracle.waiting(steps, *window, how, "one", pick)
            join = Picking(spec, hashing, columns, type_)
            for n, new in enumerate(steps):
                assert join.step(new) == expected[n], (spec, n)
                assert join.waiting == held[n], (spec, n)


@tried
@given(data=st.data(), steps=wild_schedules(), window=windows(), hashing=st.sampled_from(HASHINGS))
def test_over_both_rows(data, steps, window, hashing):
    """An expression that reads both rows is another one for each left row."""
    columns = drawn(data, steps, st.sampled_from((None, 0, 1, 2, 5, 9)))

    def distance(left, right):
        a, b = columns[0][left[2]], columns[1][right[2]]
        return None if a is None or b is None else abs(b - a)

    for how in PAIRS:
        for spec in both_ways(window, how, DISTANCE):
            pick = oracle.by_value(distance, spec.pick == "max")
            join = Picking(spec, hashing, columns, pa.int64())
            expected = oracle.streaming_join(steps, *window, how, "one", pick)
            assert [join.step(new) for new in steps] == expected, spec


@tried
@given(data=st.data(), pair=streams(), window=windows())
def test_complete(data, pair, window):
    """Without late rows: the batch join, however the streams are cut and interleaved."""
    steps = data.draw(schedules(pair))
    columns = drawn(data, steps, WHOLE)
    for how in PAIRS:
        for spec in both_ways(window, how, RIGHT):
            pick = oracle.by_value(lambda _, r: columns[1][r[2]], spec.pick == "max")
            join = Picking(spec, HASHINGS[0], columns, pa.int64())
            rows = oracle.in_order(row for new in steps for row in join.step(new))
            assert rows == oracle.batch_join(pair.left, pair.right, *window, how, "one", pick), spec


@pytest.mark.parametrize("kind", TYPES)
@tried
@given(data=st.data())
def test_order(kind, data):
    """A pair of values is in the order that the oracle gives it, in a column of any others."""
    type_, of = TYPES[kind]
    found = data.draw(st.lists(of, min_size=2, max_size=6))
    rows = [(0, 0, n) for n in range(len(found))]
    for largest in (True, False):
        made = ranks(comparable(pa.array(found, type_)), largest=largest)
        assert made.dtype == np.int64
        pick = oracle.by_value(lambda _, r: found[r[2]], largest)
        for a in rows:
            for b in rows:
                better = a if made[a[2]] > made[b[2]] else b if made[b[2]] > made[a[2]] else min(a, b)
                assert pick(None, [a, b]) == better, (found, a, b)
