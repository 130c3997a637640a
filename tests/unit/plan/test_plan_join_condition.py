"""Law: every spelling of a window is the same window."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import PlanError
from dovetail.plan.dialect import pql_sql
from dovetail.plan.joins.condition import JoinCondition, take_apart
from dovetail.plan.statements import CreateView
from dovetail.pql.parser import parse

MINUTE = 60_000_000


def apart(on: str) -> JoinCondition:
    program = parse(f"CREATE APPLICATION app; CREATE VIEW v AS SELECT l.k FROM l JOIN r ON {on};")
    view = program.get("v")
    assert isinstance(view, CreateView)
    return take_apart(program, view.query.args["joins"][0].args["on"], "l", "r")


SPELLINGS = [
    "r.t BETWEEN l.t - INTERVAL '3 minutes' AND l.t + INTERVAL '5 minutes'",
    "r.t BETWEEN l.t - INTERVAL 3 MINUTES AND l.t + INTERVAL 5 MINUTES",
    "r.t BETWEEN l.t - INTERVAL '3' MINUTE AND INTERVAL '5' MINUTE + l.t",
    "(r.t >= l.t - INTERVAL '180 seconds') AND (r.t <= (l.t + INTERVAL 300 SECONDS))",
    "l.t BETWEEN r.t - INTERVAL '5 minutes' AND r.t + INTERVAL '3 minutes'",
    "l.t - INTERVAL '3 minutes' <= r.t AND l.t + INTERVAL '5 minutes' >= r.t",
    "r.t + INTERVAL '3 minutes' >= l.t AND r.t - INTERVAL '5 minutes' <= l.t",
    "r.t - l.t BETWEEN -INTERVAL '3 minutes' AND INTERVAL '5 minutes'",
    "r.t - l.t >= INTERVAL '-3 minutes' AND l.t - r.t >= INTERVAL '-5 minutes'",
    "r.t > l.t - INTERVAL '3 minutes' - INTERVAL '1 microsecond' AND r.t <= l.t + INTERVAL 5 MINUTES",
    "r.t >= l.t - INTERVAL '3 minutes' AND r.t < l.t + INTERVAL '5 minutes 1 microsecond'",
    "r.t BETWEEN l.t - INTERVAL '1 minute' - INTERVAL '2 minutes' AND l.t + INTERVAL 4 MINUTES 60 SECONDS",
    "r.t >= l.t - INTERVAL 1 HOUR AND r.t BETWEEN l.t - INTERVAL 3 MINUTES AND l.t + INTERVAL 5 MINUTES",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_one_window(spelling: str) -> None:
    condition = apart(f"l.k = r.k AND {spelling}")
    assert (condition.before_us, condition.after_us) == (3 * MINUTE, 5 * MINUTE)
    assert pql_sql(condition.left_time) == "l.t"
    assert pql_sql(condition.right_time) == "r.t"
    assert (condition.left_only, condition.right_only, condition.both) == ((), (), ())


EQUATED = [
    ("l.k = r.k AND r.eventtime = l.eventtime", "l.eventtime", 0),
    ("r.t = l.t + INTERVAL '1 minute' AND l.k = r.k", "l.t", MINUTE),
    ("l.ts = r.time", "l.ts", 0),
]


@pytest.mark.parametrize(("on", "time", "at"), EQUATED)
def test_an_equality_of_times_is_a_key_and_the_window(on: str, time: str, at: int) -> None:
    condition = apart(on)
    assert pql_sql(condition.left_time) == time
    assert (condition.before_us, condition.after_us) == (-at, at)
    assert len(condition.left_keys) == on.count(" = ")


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**9), st.booleans(), st.booleans(), st.booleans())
def test_any_bounds_of_either_sign(
    low: int, width: int, strict_low: bool, strict_high: bool, turned: bool
) -> None:
    high = low + width + strict_low + strict_high
    first = f"r.t {'>' if strict_low else '>='} l.t + INTERVAL '{low} microseconds'"
    second = f"r.t {'<' if strict_high else '<='} l.t + INTERVAL '{high} microseconds'"
    if turned:
        first = f"l.t {'<' if strict_low else '<='} r.t - INTERVAL '{low} microseconds'"
    condition = apart(f"{second} AND l.k = r.k AND {first}")
    assert condition.before_us == -(low + strict_low)
    assert condition.after_us == high - strict_high


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_any_order_and_brackets(order: tuple[int, ...]) -> None:
    parts = ["l.k = r.k", "upper(r.m) = l.n", "(r.t >= l.t AND (r.t <= l.t + INTERVAL 1 MINUTE))", "r.y > 1"]
    a, b, c, d = (parts[i] for i in order)
    condition = apart(f"({a} AND ({b} AND {c})) AND {d}")
    assert {pql_sql(key) for key in condition.left_keys} == {"l.k", "l.n"}
    pairs = {pql_sql(k): pql_sql(r) for k, r in zip(condition.left_keys, condition.right_keys, strict=True)}
    assert pairs == {"l.k": "r.k", "l.n": "upper(r.m)"}
    assert (condition.before_us, condition.after_us) == (0, MINUTE)
    assert [pql_sql(node) for node in condition.right_only] == ["r.y > 1"]


def test_a_comparison_without_interval_is_no_window_beside_one() -> None:
    window = "r.t BETWEEN l.t AND l.t + INTERVAL 1 MINUTE"
    condition = apart(f"l.k = r.k AND l.x < r.y AND l.x + 1 <= r.y AND {window}")
    assert [pql_sql(node) for node in condition.both] == ["l.x + 1 <= r.y", "l.x < r.y"]


def test_times_may_be_expressions() -> None:
    condition = apart(
        "l.k = r.k AND timestamp_seconds(r.ts) BETWEEN CAST(l.t AS TIMESTAMP) "
        "AND CAST(l.t AS TIMESTAMP) + INTERVAL 1 DAY"
    )
    assert pql_sql(condition.left_time) == "CAST(l.t AS TIMESTAMP)"
    assert pql_sql(condition.right_time) == "timestamp_seconds(r.ts)"


def test_the_same_time() -> None:
    condition = apart("l.k = r.k AND r.t BETWEEN l.t AND l.t")
    assert (condition.before_us, condition.after_us) == (0, 0)


@pytest.mark.parametrize(
    ("on", "says"),
    [
        (
            "l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL 1 DAY AND r.u > l.u + INTERVAL 1 DAY",
            "2 windows",
        ),
        (
            "l.k = r.k AND r.t BETWEEN l.t AND l.u + INTERVAL 1 DAY AND r.t > l.t - INTERVAL 1 DAY",
            "2 windows",
        ),
        ("l.k = r.k AND r.t <= l.t", "no lower bound"),
        ("l.k = r.k AND (r.t >= l.t OR r.t <= l.t + INTERVAL 1 DAY)", "no time window"),
        ("l.k = r.k AND r.t BETWEEN l.t AND l.t + 3 * INTERVAL 1 DAY", "no time window"),
    ],
)
def test_what_is_no_condition_of_a_join(on: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        apart(on)
