"""Key equality over Arrow columns, against the same question asked value by value."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.joins.rows.gather import equal_values

KINDS = {
    "int": (pa.int64(), st.integers(-2, 2)),
    "string": (pa.string(), st.sampled_from(["", "a", "é"])),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan")])),
    "list": (pa.list_(pa.int64()), st.lists(st.none() | st.integers(0, 1), max_size=3)),
    "struct": (
        pa.struct([("a", pa.float64()), ("b", pa.list_(pa.string()))]),
        st.fixed_dictionaries(
            {
                "a": st.none() | st.sampled_from([0.0, float("nan")]),
                "b": st.none() | st.lists(st.sampled_from(["x", "y"]), max_size=2),
            }
        ),
    ),
}


def same(first: Any, second: Any) -> bool:
    """The obvious way."""
    if isinstance(first, dict):
        return isinstance(second, dict) and all(same(first[name], second[name]) for name in first)
    if isinstance(first, list):
        return isinstance(second, list) and len(first) == len(second) and all(map(same, first, second))
    if first is None or second is None or isinstance(second, (dict, list)):
        return first is second
    return bool(first == second or (isnan(first) and isnan(second)))


def isnan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_every_kind(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    pairs = data.draw(st.lists(st.tuples(st.none() | values, st.none() | values), max_size=20))
    first = pa.array([a for a, _ in pairs], kind)
    second = pa.array([b for _, b in pairs], kind)
    assert equal_values(first, second).tolist() == [same(a, b) for a, b in pairs]
