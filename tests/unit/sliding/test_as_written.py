"""The condition as it is written decides, whatever found the candidates: beside the ends of 64 bits, where a
division is by zero, and where floats are rounded. The same inside and outside of bands, and the same as theta
joins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import InputError
from dovetail.joins.theta import pairs as theta_pairs
from dovetail.joins.theta.layout import Looked
from dovetail.joins.theta.pairs import find
from dovetail.model.sliding import Window
from dovetail.model.theta import Theta
from dovetail.sliding.engine import SlidingJoin
from dovetail.sliding.expression import parsed
from laws.effort import examples

MOST, LEAST = 2**63 - 1, -(2**63)
INF = math.inf


def pairs(on: str, left: list[Any], right: list[Any], kind: str = "int64", **options: Any) -> set[Any]:
    options = {"window": Window(rows=1000), "left": {"x": kind}, "right": {"a": kind}, **options}
    with SlidingJoin(on, **options) as join:
        join.push(left={"x": np.array(left, kind)})
        join.push(right={"a": np.array(right, kind)})
        join.settle()
        return set(map(tuple, join.pairs().tolist()))


def theta(on: str, left: list[Any], right: list[Any], kind: str = "int64") -> set[Any]:
    """The same condition by a theta join."""
    predicate = parsed(on)
    rows = [
        Looked(np.zeros(len(values), np.int64), {name: pa.array(values, kind)})
        for name, values in (("x", left), ("a", right))
    ]
    found = find(Theta(predicate.bands, predicate.rest), None, "left", *rows)
    return set(zip(*(numbers.tolist() for numbers in found), strict=True))


@pytest.mark.parametrize(
    ("on", "holds"),
    [
        ("abs(left.x - right.a) <= 0.1", lambda x, a: abs(x - a) <= 0.1),
        ("left.x - right.a <= 0.1", lambda x, a: x - a <= 0.1),
        ("left.x <= right.a + 0.1", lambda x, a: x <= a + 0.1),
        ("right.a - left.x >= -0.1 and left.x >= right.a", lambda x, a: a - x >= -0.1 and x >= a),
        ("left.x + 0.1 == right.a", lambda x, a: x + 0.1 == a),
        ("abs(left.x - right.a) <= 1", lambda x, a: abs(x - a) <= 1),
        ("abs(left.x - right.a) < 1e300", lambda x, a: abs(x - a) < 1e300),
        ("left.x + 1e16 - 1e16 <= right.a", lambda x, a: x + 1e16 - 1e16 <= a),
    ],
)
@pytest.mark.parametrize("access", ["auto", "scan", "runs"])
def test_float_bands_decide_as_written(on: str, holds: Any, access: Any) -> None:
    numbers = [1.0, 1.1, 0.9, 1.2, 2.1, 0.1 + 0.2, 0.3, 0.4, 3.0, 1e16, INF, -INF, -0.0, 0.0, 1e300, -1e300]
    wanted = {(i, j) for i, x in enumerate(numbers) for j, a in enumerate(numbers) if holds(x, a)}
    assert pairs(on, numbers, numbers, "float64", access=access) == wanted
    # NaN, which is inf - inf, is the largest number for Spark and none for Python.
    differ = theta(on, numbers, numbers, "float64") ^ wanted
    assert not {(i, j) for i, j in differ if not math.isnan(numbers[i] - numbers[j])}


def test_rounding_and_infinity() -> None:
    assert not pairs("abs(left.x - right.a) <= 0.1", [1.1], [1.0], "float64")
    assert not pairs("abs(left.x - right.a) <= 1", [INF], [INF], "float64")


ENDS = (0, 1, -1, 5, -5, 2**62, -(2**62), MOST, LEAST, MOST - 3, LEAST + 3)


def in_64_bits(*numbers: int) -> bool:
    return all(LEAST <= number <= MOST for number in numbers)


WHOLE: dict[str, Any] = {
    "left.x - right.a >= -10": lambda x, a: in_64_bits(x - a) and x - a >= -10,
    "left.x <= right.a + 10": lambda x, a: in_64_bits(a + 10) and x <= a + 10,
    "abs(left.x - right.a) <= 10": lambda x, a: in_64_bits(x - a) and x - a != LEAST and abs(x - a) <= 10,
    "left.x < right.a": lambda x, a: x < a,
    "left.x == right.a": lambda x, a: x == a,
    "left.x - 5 == right.a": lambda x, a: in_64_bits(x - 5) and x - 5 == a,
    "left.x * right.a > 0": lambda x, a: in_64_bits(x * a) and x * a > 0,
    "left.x + right.a > 0 or left.x == 1": lambda x, a: (in_64_bits(x + a) and x + a > 0) or x == 1,
    "not left.x + right.a > 0": lambda x, a: in_64_bits(x + a) and not x + a > 0,
    "left.x // right.a >= 1": lambda x, a: a != 0 and in_64_bits(x // a) and x // a >= 1,
    "left.x % right.a == 1": lambda x, a: a != 0 and x % a == 1,
    "left.x % 3 == right.a % 3": lambda x, a: x % 3 == a % 3,
    "-left.x > right.a": lambda x, a: in_64_bits(-x) and -x > a,
    "left.x ** 2 > right.a": lambda x, a: in_64_bits(x**2) and x**2 > a,
    "min(left.x, right.a, 3) == 3": lambda x, a: min(x, a, 3) == 3,
    "(left.x & 7) == (right.a | 1)": lambda x, a: (x & 7) == (a | 1),
    "(left.x > 0) ^ (right.a > 0)": lambda x, a: (x > 0) ^ (a > 0),
    "(left.x > 0) + (right.a > 0) == 1": lambda x, a: (x > 0) + (a > 0) == 1,
    "(left.x if right.a > 0 else 7) == 7": lambda x, a: (x if a > 0 else 7) == 7,
    "(left.x or 9) == (right.a and 9)": lambda x, a: (x or 9) == (a and 9),
}


@pytest.mark.parametrize("on", WHOLE)
def test_whole_numbers_at_the_ends_of_64_bits(on: str) -> None:
    wanted = {(i, j) for i, x in enumerate(ENDS) for j, a in enumerate(ENDS) if WHOLE[on](x, a)}
    assert wanted
    assert pairs(on, list(ENDS), list(ENDS)) == wanted


@pytest.mark.parametrize("compiled_from", [0, 1 << 40], ids=["compiled", "by columns"])
@pytest.mark.parametrize("on", list(WHOLE)[:9])
def test_theta_joins_agree(on: str, compiled_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theta_pairs, "PAYS_FROM", compiled_from)
    wanted = {(i, j) for i, x in enumerate(ENDS) for j, a in enumerate(ENDS) if WHOLE[on](x, a)}
    assert theta(on, list(ENDS), list(ENDS)) == wanted


@pytest.mark.parametrize("on", ["left.x // right.a >= 0", "left.x % right.a >= 0", "left.x / right.a >= 0"])
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_what_is_divided_by_zero_does_not_hold(on: str, kind: str) -> None:
    assert pairs(on, [7, 0], [0, 7], kind) == {(0, 1), (1, 1)}
    assert pairs(f"not ({on})", [7, 0], [0, 7], kind) == set()


@pytest.mark.parametrize("on", ["left.x <= right.a", "left.x * 2 > right.a", "left.x < right.a + 0.5"])
@pytest.mark.parametrize("single", [True, False])
def test_what_64_bits_cannot_hold_is_refused(on: str, single: bool) -> None:
    kinds = {"left": {"x": "uint64"}, "right": {"a": "uint64"}}
    with SlidingJoin(on, window=Window(rows=9), **kinds) as join:
        with pytest.raises(InputError, match="beyond 63 bits"):
            join.push(left={"x": 2**63 if single else np.array([2**63], np.uint64)})
        join.push(left={"x": 2**63 - 1})


def test_whole_numbers_of_other_sizes() -> None:
    for kind in ("uint64", "uint32", "int8", "uint8", "bool"):
        assert pairs("left.x - right.a >= 0", [0, 1], [1], kind) == {(1, 0)}


numbers = st.sampled_from(ENDS) | st.integers(-20, 20)


@examples(usual=25, thorough=500)
@given(
    st.lists(numbers, max_size=8), st.lists(numbers, max_size=8), st.sampled_from(["auto", "scan", "runs"])
)
def test_bands_of_whole_numbers_in_every_access(left: list[int], right: list[int], access: Any) -> None:
    on = "abs(left.x - right.a) <= 10"
    wanted = {(i, j) for i, x in enumerate(left) for j, a in enumerate(right) if WHOLE[on](x, a)}
    assert pairs(on, left, right, access=access) == wanted
    assert theta(on, left, right) == wanted
