"""Conditions of theta joins, from PQL to pairs, against DuckDB: spellings of bands, and what is none, over
nulls, infinities, NaN, zeros of both signs, decimals, times and texts; probed from either side.

NaN equals itself and is larger than any other number, in bands too, as it is to Spark and DuckDB.
"""

from __future__ import annotations

import datetime
import functools
import math
import re
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.joins.theta import pairs as theta_pairs
from dovetail.joins.theta.condition import check_types, comparable, holds
from dovetail.joins.theta.layout import Looked
from dovetail.joins.theta.pairs import find
from dovetail.model.theta import Constant, Operand, Operation
from dovetail.plan.build import build
from dovetail.plan.dialect import pql_sql
from dovetail.plan.rules import RULES
from dovetail.plan.statements import CreateView
from dovetail.pql.parser import parse
from laws.effort import some

ROWS = 300
PROGRAM = """CREATE APPLICATION app;
CREATE INPUT TABLE l (x INT, y DOUBLE, f FLOAT, d DECIMAL(9, 2), t TIMESTAMP, s STRING) FROM SCRIBE("l");
CREATE INPUT TABLE r (x INT, y DOUBLE, f FLOAT, d DECIMAL(9, 2), t TIMESTAMP, s STRING) FROM SCRIBE("r");
CREATE VIEW v AS SELECT l.x AS x FROM l JOIN r ON {on} WITH (window = ROWS 1000);
CREATE TABLE o AS SELECT x FROM v STORAGE NOOP;"""
SCHEMA = pa.schema(
    [
        ("x", pa.int32()),
        ("y", pa.float64()),
        ("f", pa.float32()),
        ("d", pa.decimal128(9, 2)),
        ("t", pa.timestamp("us")),
        ("s", pa.string()),
    ]
)
BANDS = (
    "abs(l.x - r.x) <= 3",
    "l.x BETWEEN r.x - 3 AND r.x + 3.5",
    "l.x - r.x < 3 AND r.x - l.x < 2",
    "l.x + r.x = 7",
    "l.x >= r.x - 3",
    "l.x - r.x - 2 * 2 > -6 AND l.x < r.x",
    "abs(l.y - r.y) <= 1.5",
    "abs(l.y - r.y) < 0.1",
    "l.y BETWEEN r.y - 0.1 AND r.y + 0.1",
    "l.y - 0.3 < r.y AND r.y <= l.y",
    "l.x - r.y <= 0.5 AND l.x > r.y",
    "abs(l.x - r.x) <= 4 AND abs(l.y - r.y) <= 2",
    "abs(l.d - r.d) <= 0.25",
    "l.d BETWEEN r.d AND r.d + 1",
    "abs(l.f - r.y) <= 0.5",
    "l.t BETWEEN r.t - INTERVAL 5 SECOND AND r.t",
    "l.x + l.y - r.y < 1 AND l.x + l.y > r.y",
    "l.y >= r.y - 3",
    "l.y - r.y >= -1 AND r.y - l.y >= -1",
    "r.f - 1 <= l.y AND l.y <= r.f + 1",
    "l.x >= r.y - 2",
)
OTHERS = (
    "l.x * r.x > 20",
    "l.x <> r.x",
    "l.y * r.y >= r.y",
    "l.s < r.s",
    "l.s = r.s OR l.x = r.x",
    "NOT (l.x < r.x AND l.s > r.s)",
    "l.x % 3 = r.x % 3 OR r.s IS NULL",
    "l.x * r.x IN (4, 6, 12)",
    "CASE WHEN l.x > r.x THEN l.y ELSE r.y END > 1.5",
    "greatest(l.x, r.x) = 5",
    "coalesce(l.s, r.s, '') >= 'c'",
    "l.s || r.s = 'ab'",
    "(l.x IS NULL) <> (r.x IS NULL)",
    "l.x IS NOT DISTINCT FROM r.x",
    "abs(l.x - r.x) * 2 <= 3 AND length(l.s) <> r.x",
)


def table(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    odd = [None, float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.1, 0.2, 0.30000000000000004, 0.3]
    reals = [
        odd[n] if n < len(odd) else round(float(v), 1)
        for n, v in zip(rng.integers(0, 60, ROWS), rng.random(ROWS) * 6, strict=True)
    ]
    start = datetime.datetime(2024, 1, 1)
    columns = {
        "x": [None if n == 0 else int(n) - 6 for n in rng.integers(0, 16, ROWS)],
        "y": reals,
        "f": [None if v is None else np.float32(v) for v in reals[::-1]],
        "d": [None if n == 0 else Decimal(int(n)) / 4 for n in rng.integers(0, 40, ROWS)],
        "t": [
            None if n == 0 else start + datetime.timedelta(seconds=int(n)) for n in rng.integers(0, 60, ROWS)
        ],
        "s": [None if n == 4 else "abcd"[n] for n in rng.integers(0, 5, ROWS)],
    }
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in SCHEMA})


LEFT, RIGHT = table(1), table(2)


@functools.cache
def planned(on: str):
    """The theta of a condition, and the operands of both sides as Arrow columns."""
    program = parse(PROGRAM.format(on=on))
    for rule in RULES:
        program = rule(program)
    (theta,) = [join.join_kind.theta for join in build(program).joins]  # type: ignore[union-attr]
    looked = []
    for side, rows in (("left", LEFT), ("right", RIGHT)):
        view = program.get(f"v_{side}_rows")
        assert isinstance(view, CreateView)
        columns = {}
        for item in view.query.selects:
            if item.output_name.startswith("_on_"):
                sql = re.sub(r"`", '"', pql_sql(_bare(item.unalias())))
                with duckdb.connect() as db:
                    db.register("side", rows)
                    made = db.sql(f"SELECT {sql} AS made FROM side").to_arrow_table()["made"]
                columns[item.output_name] = comparable(made.combine_chunks())
        looked.append(Looked(np.zeros(ROWS, np.int64), columns))
    return theta, looked


def _bare(node: exp.Expr) -> exp.Expr:
    bare = node.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    return bare


def expected(on: str) -> set[tuple[int, int]]:
    sql = on.replace("INTERVAL 5 SECOND", "INTERVAL '5 seconds'")
    with duckdb.connect() as db:
        for name, rows in (("lefts", LEFT), ("rights", RIGHT)):
            db.register(name, rows.append_column("id", pa.array(range(ROWS))))
        return set(db.sql(f"SELECT l.id, r.id FROM lefts l, rights r WHERE {sql}").fetchall())


CASES = [
    *((on, 0) for on in some([*BANDS, *OTHERS], len(BANDS + OTHERS) // 2)),
    *((on, 1 << 40) for on in (*BANDS, *OTHERS)),
]
"""Compiling a condition takes a second: a usual run compiles every other one. All functions are compiled in
`laws/test_theta_compiled.py`."""


@pytest.mark.parametrize(
    ("on", "compiled_from"), CASES, ids=lambda given: {0: "compiled", 1 << 40: "by columns"}.get(given, given)
)
def test_pairs_are_duckdbs(on: str, compiled_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theta_pairs, "PAYS_FROM", compiled_from)
    theta, (left, right) = planned(on)
    assert bool(theta.bands) == (on in BANDS), theta
    wanted = expected(on)
    assert wanted, "a condition that never holds tells nothing"
    for probing, probes, rows in (("left", left, right), ("right", right, left)):
        which, where = find(theta, None, probing, probes, rows)
        pairs = list(zip(which.tolist(), where.tolist(), strict=True))
        found = pairs if probing == "left" else [(row, probe) for probe, row in pairs]
        assert len(found) == len(set(found))
        assert set(found) == wanted, (sorted(set(found) ^ wanted)[:5], probing)


def column(*values: int | None) -> dict[str, pa.Array]:
    return {"a": pa.array(values, pa.int64())}


L, R = Operand("left", "a"), Operand("right", "a")


def test_what_cannot_be_reckoned_does_not_hold() -> None:
    most = 2**63 - 1
    one, zero = Constant("int", "1"), Constant("int", "0")
    for name in ("+", "*", "-"):
        beyond = Operation(">", (Operation(name, (L, R)), zero))
        beneath = Operation("<=", (Operation(name, (L, R)), zero))
        right = column(-most if name == "-" else most)
        assert not holds(beyond, column(most), right).any(), name
        assert not holds(beneath, column(most), right).any(), name
    near = Operation(">", (Operation("+", (L, R)), zero))  # 64 bits are enough, whatever other rows have
    assert holds(near, column(2**62, most), column(2**62 - 1, 1)).tolist() == [True, False]
    smallest = Operation("=", (Operation("%", (L, R)), zero))
    assert holds(smallest, column(-most - 1), column(-1)).tolist() == [True]
    for name in ("/", "%"):
        divided = Operation("=", (Operation(name, (L, R)), one))
        assert holds(divided, column(7, 7), column(0, 7 if name == "/" else 6)).tolist() == [False, True]


def test_remainders_of_real_numbers_are_exact() -> None:
    """As Java's and C's are: not what a division, rounded, leaves."""
    firsts, seconds = [5.3, 1e17, 7.0, None, math.inf], [0.1, 3.0, math.inf, 2.0, 2.0]
    left, right = ({"a": pa.array(values, pa.float64())} for values in (firsts, seconds))
    rests = {"a": pa.array([math.fmod(5.3, 0.1), math.fmod(1e17, 3.0), 7.0, None, math.nan], pa.float64())}
    equal = Operation("=", (Operation("%", (L, R)), Operand("right", "rest")))
    assert holds(equal, left, {**right, "rest": rests["a"]}).tolist() == [True, True, True, False, True]


def test_whole_numbers_beside_real_ones() -> None:
    """2 ** 53 + 1 is no double; the nearest is taken."""
    either = Operation("=", (Operation("coalesce", (L, Operand("right", "b"))), Constant("double", "1.0")))
    right = {"b": pa.array([1.0, 1.0], pa.float64())}
    assert holds(either, column(2**53 + 1, None), right).tolist() == [False, True]


def test_conditions_over_other_types_are_refused_before_a_row_is_read() -> None:
    numbers, texts = pa.schema([("a", pa.int64())]), pa.schema([("a", pa.string())])
    with pytest.raises(PlanError, match="cannot be evaluated"):
        check_types((Operation("<", (L, R)),), numbers, texts)
    with pytest.raises(PlanError, match="neither true nor false"):
        check_types((Operation("+", (L, R)),), numbers, numbers)
    check_types((Operation("<", (L, R)),), numbers, numbers)


def test_bounds_at_the_ends_of_whole_numbers() -> None:
    """A band that reaches beyond 64 bits ends there."""
    theta, _ = planned("abs(l.x - r.x) <= 3")
    ends = [2**63 - 1, -(2**63), 0]
    rows = Looked(np.zeros(3, np.int64), {"_on_0": pa.array(ends, pa.int64())})
    which, where = find(theta, None, "left", rows, rows)
    assert sorted(zip(which.tolist(), where.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 2)]


ENDS = st.sampled_from([0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**63 - 3, 3 - 2**63])
BIG = st.none() | st.integers(-5, 5) | ENDS


@pytest.mark.parametrize("compiled_from", [0, 1 << 40], ids=["compiled", "by columns"])
@given(st.lists(BIG, max_size=6), st.lists(BIG, max_size=6))
def test_sums_that_may_leave_64_bits(compiled_from: int, lefts: list, rights: list) -> None:
    """Rows of such sums have no place in a sorted run. What does leave 64 bits does not match."""
    theta, _ = planned("abs(l.x + r.x) <= 3")
    left, right = (
        Looked(np.zeros(len(values), np.int64), {"_on_0": pa.array(values, pa.int64())})
        for values in (lefts, rights)
    )
    wanted = {
        (i, j)
        for i, a in enumerate(lefts)
        for j, b in enumerate(rights)
        if a is not None and b is not None and -(2**63) <= a + b < 2**63 and abs(a + b) <= 3
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(theta_pairs, "PAYS_FROM", compiled_from)
        for probing, probes, rows in (("left", left, right), ("right", right, left)):
            which, where = find(theta, None, probing, probes, rows)
            pairs = list(zip(which.tolist(), where.tolist(), strict=True))
            found = pairs if probing == "left" else [(row, probe) for probe, row in pairs]
            assert len(found) == len(wanted)
            assert set(found) == wanted
