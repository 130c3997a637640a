"""A compiled condition holds for exactly the pairs for which the one evaluated by columns does."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dovetail.joins.theta.compiled import kind_of, pairs_kernel, words
from dovetail.joins.theta.condition import holds
from dovetail.model.share import SIDES
from dovetail.model.theta import Constant, Operand, Operation
from dovetail.predicates.source import Unsupported, can_compile, operands_of
from laws.effort import examples
from laws.theta_trees import KINDS, REAL, WHOLE, columns, conditions

ROWS, BUNDLE = 6, 25
KIND_OF = {
    side: {name: kind_of(type_) for name, type_ in {**KINDS, "x_": pa.int64()}.items()} for side in SIDES
}


def by_columns(condition, left, right):
    """All pairs, by Arrow; None where Arrow knows no such function."""
    at_left, at_right = (pa.array(at.ravel()) for at in np.indices((len(left["x"]), len(right["x"]))))
    try:
        verdict = holds(
            condition,
            {name: column.take(at_left) for name, column in left.items()},
            {name: column.take(at_right) for name, column in right.items()},
        )
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        return None
    found = np.flatnonzero(verdict)
    return list(zip(*(at.to_numpy()[found].tolist() for at in (at_left, at_right)), strict=True))


def interpreted(kernel):
    return kernel.__wrapped__


def by_compiler(condition, left, right, probing, made=lambda kernel: kernel):
    operands = operands_of((condition,), KIND_OF)
    sides = {"left": left, "right": right}
    read = [words(sides[operand.side][operand.column]) for operand, _ in operands]
    nullable = any(column.there is not None for column in read)
    kernel = pairs_kernel((condition,), operands, probing, 0, nullable)
    arguments = []
    for column in read:
        there = np.ones(len(column.values), np.bool_) if column.there is None else column.there
        arguments += [column.values, there] if nullable else [column.values]
    probes, rows = (len(sides[side]["x"]) for side in (probing, SIDES[probing == "left"]))
    none = np.empty((0, probes), np.int64)
    which, at = made(kernel)(
        np.zeros(probes, np.int64),
        np.full(probes, rows, np.int64),
        none,
        none,
        np.empty((0, rows), np.int64),
        *arguments,
    )
    pairs = zip(which.tolist(), at.tolist(), strict=True)
    return sorted(pairs if probing == "left" else ((row, probe) for probe, row in pairs))


@examples(usual=75, thorough=5000)
@given(conditions(2), columns(ROWS), columns(ROWS), st.sampled_from(SIDES))
def test_source_as_by_columns(condition, left, right, probing):
    """The source, run by Python: compiling takes a thousand times as long."""
    assume(can_compile(condition, KIND_OF))
    expected = by_columns(condition, left, right)
    assume(expected is not None)
    assert by_compiler(condition, left, right, probing, interpreted) == expected


@examples(usual=4, thorough=1000)
@given(conditions(2), columns(ROWS), columns(ROWS), st.sampled_from(SIDES))
def test_compiled_as_by_columns(condition, left, right, probing):
    assume(can_compile(condition, KIND_OF))
    expected = by_columns(condition, left, right)
    assume(expected is not None)
    assert by_compiler(condition, left, right, probing) == expected


EVERY = {
    "x": pa.array([*WHOLE, None], pa.int64()),
    "y": pa.array([*REAL, None, 1e19, -9.3e18], pa.float64()),
    "f": pa.array([*REAL, None, 1e19, -9.3e18], pa.float64()).cast(pa.float32()),
    "b": pa.array([True, False, None] + [True] * 13, pa.bool_()),
}
TWO = Constant("int", "2")
HALF = Constant("decimal", "0.5")
OF_TWO = ("+", "-", "*", "/", "%", "coalesce", "least", "greatest")
OF_ONE = ("neg", "abs", "sqrt", "floor", "ceil")


def every_function():
    for first, second in (("x", "x"), ("y", "x"), ("f", "x"), ("y", "y"), ("f", "f"), ("y", "f")):
        left, right = Operand("left", first), Operand("right", second)
        for name in OF_TWO:
            yield Operation("<=", (Operation(name, (left, right)), Operation("abs", (right,))))
        for name in OF_ONE:
            yield Operation(">", (Operation(name, (left,)), right))
        squared = Operation("power", (Operation("-", (left, right)), TWO))
        yield Operation("<", (squared, TWO))
        for name in ("=", "<>", "<", "<=", ">", ">=", "<=>"):
            yield Operation(name, (left, right))
            yield Operation("and", (Operation(name, (left, HALF)), Operation(name, (HALF, right))))
    left, right = Operand("left", "b"), Operand("right", "b")
    for name in ("and", "or", "=", "<>", "<=>", "coalesce"):
        yield Operation(name, (left, right))
        yield Operation("not", (Operation(name, (left, right)),))
    yield Operation("case", (left, right, Constant("null", "")))


@pytest.mark.parametrize("probing", SIDES)
def test_every_function_over_odd_values(probing):
    for condition in every_function():
        expected = by_columns(condition, EVERY, EVERY)
        assert expected is not None, condition
        assert by_compiler(condition, EVERY, EVERY, probing, interpreted) == expected, condition


def test_machine_code_of_every_function():
    """Compiled some together, as cases of one condition: a number says which is meant."""
    every = list(every_function())
    which = Operand("left", "x_")
    for start in range(0, len(every), BUNDLE):
        some = every[start : start + BUNDLE]
        cases = [
            part
            for number, condition in enumerate(some)
            for part in (Operation("=", (which, Constant("int", str(number)))), condition)
        ]
        together = Operation("case", (*cases, Constant("boolean", "false")))
        for number, condition in enumerate(some):
            left = {**EVERY, "x_": pa.array([number] * len(EVERY["x"]), pa.int64())}
            expected = by_columns(condition, EVERY, EVERY)
            assert by_compiler(together, left, EVERY, "left") == expected, condition


def test_what_is_left_to_columns():
    texts = {side: {"s": kind_of(pa.string()), "d": kind_of(pa.decimal128(9, 2))} for side in SIDES}
    for column in ("s", "d"):
        with pytest.raises(Unsupported):
            operands_of((Operation("=", (Operand("left", column), TWO)),), texts)
    x, y = Operand("left", "x"), Operand("right", "y")
    for condition in (
        Operation("<", (Operation("power", (y, x)), TWO)),
        Operation("<", (Operation("+", (x, HALF)), TWO)),
        Operation("=", (Operation("concat", (x, x)), y)),
    ):
        assert not can_compile(condition, KIND_OF), condition
