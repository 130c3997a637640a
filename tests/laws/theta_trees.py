"""Random conditions over numbers and booleans, and random columns to evaluate them on."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from dovetail.model.theta import Constant, Expression, Operand, Operation

KINDS = {"x": pa.int64(), "y": pa.float64(), "f": pa.float32(), "b": pa.bool_()}
MOST = 2**63 - 1
WHOLE = (0, 1, -1, 2, 3, -7, 10, 2**31, 2**53 + 1, 2**62, MOST // 3, MOST - 1, MOST, -MOST, -MOST - 1)
REAL = (0.0, -0.0, 0.1, 0.5, -1.5, 2.0, 5.3, 1e18, 9.25e18, -1e300, float("inf"), float("-inf"), float("nan"))


def values(column: str, nulls: bool = True) -> st.SearchStrategy:
    drawn: st.SearchStrategy
    if column == "x":
        drawn = st.sampled_from(WHOLE) | st.integers(-9, 9)
    elif column == "b":
        drawn = st.booleans()
    else:
        drawn = st.sampled_from(REAL) | st.integers(-20, 20).map(lambda n: n / 4)
    return st.none() | drawn if nulls else drawn


@st.composite
def columns(draw, rows: int) -> dict[str, pa.Array]:
    made = {}
    for name, kind in KINDS.items():
        some = draw(st.lists(values(name, draw(st.booleans())), min_size=rows, max_size=rows))
        made[name] = pa.array(some, pa.float64()).cast(kind) if name == "f" else pa.array(some, kind)
    return made


def _operand(*names: str) -> st.SearchStrategy[Operand]:
    return st.builds(Operand, st.sampled_from(("left", "right")), st.sampled_from(names))


_CONSTANTS = st.one_of(
    st.sampled_from((0, 1, 2, -3, 5, 2**53 + 1, MOST, -MOST)).map(lambda n: Constant("int", str(n))),
    st.sampled_from((0.0, 0.1, 2.5, -1.5, 1e300)).map(lambda n: Constant("double", repr(n))),
    st.sampled_from(("0.5", "-2.25", "3.0", "0.1")).map(lambda text: Constant("decimal", text)),
)


def _apply(name: str, *arguments: st.SearchStrategy[Expression]) -> st.SearchStrategy[Operation]:
    return st.tuples(*arguments).map(lambda some: Operation(name, some))


def numbers(depth: int) -> st.SearchStrategy[Expression]:
    leaf = _operand("x", "y", "f") | _operand("x") | _CONSTANTS
    if not depth:
        return leaf
    under = numbers(depth - 1)
    nothing = st.just(Constant("null", ""))
    two = [_apply(name, under, under) for name in ("+", "-", "*", "/", "%", "coalesce", "least", "greatest")]
    one = [_apply(name, under) for name in ("neg", "abs", "sqrt", "floor", "ceil")]
    square = _apply("power", under, st.just(Constant("int", "2")))
    chosen = _apply("case", conditions(depth - 1), under, under | nothing)
    return st.one_of(leaf, *two, *one, square, chosen)


def conditions(depth: int) -> st.SearchStrategy[Expression]:
    signs = ("=", "<>", "<", "<=", ">", ">=", "<=>")
    leaf = _operand("b") | st.sampled_from(("true", "false")).map(lambda text: Constant("boolean", text))
    compared = [_apply(name, numbers(max(0, depth - 1)), numbers(max(0, depth - 1))) for name in signs]
    if not depth:
        return st.one_of(leaf, *compared)
    under = conditions(depth - 1)
    more = [_apply(name, under, under) for name in ("and", "or", "=", "<>", "<=>", "coalesce")]
    return st.one_of(
        leaf,
        *compared,
        *more,
        _apply("not", under),
        _apply("is_null", numbers(depth - 1)),
        _apply("is_null", under),
        _apply("case", under, under, under | st.just(Constant("null", ""))),
    )
