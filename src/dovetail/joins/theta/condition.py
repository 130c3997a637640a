"""A condition over pairs of rows, evaluated by whole columns: Arrow's functions with Spark's meaning.

Law: for every pair the answer is Spark's, with two exceptions that keep one odd row from stopping a stream.
Whole numbers have 64 bits, whatever their type; and what cannot be computed (a division by zero, a
sum that leaves 64 bits) is null, where Spark would raise an error. A condition that is null does not hold.

NaN equals itself and is larger than any other number, as Spark has it. Times are whole numbers here,
microseconds since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.errors import PlanError
from dovetail.model.share import Side
from dovetail.model.theta import Constant, Expression, Operand

Columns = Mapping[str, pa.Array]
DOUBLE = pa.float64()
_SAFE, _BEYOND = 9.2e18, 9.3e18
_COMPARISONS = {"=", "<>", "<", "<=", ">", ">="}


def holds(condition: Expression, left: Columns, right: Columns) -> NDArray[np.bool_]:
    """Pair by pair; the columns of both sides have one element for each pair."""
    verdict = _value(condition, {"left": left, "right": right})
    count = len(next(iter((*left.values(), *right.values()))))
    if isinstance(verdict, pa.Scalar):
        return np.full(count, verdict.as_py() is True)
    answer: NDArray[np.bool_] = pc.fill_null(verdict, False).to_numpy(zero_copy_only=False)
    return answer


def values(expression: Expression, left: Columns, right: Columns, count: int) -> pa.Array:
    """What an expression gives for each of `count` pairs."""
    found = _value(expression, {"left": left, "right": right})
    return pa.repeat(found, count) if isinstance(found, pa.Scalar) else found


def comparable(column: pa.Array) -> pa.Array:
    """A column in the type in which conditions see it: whole numbers and times as int64."""
    kind = column.type
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("us")).cast(pa.int64())
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_null(kind):
        return column.cast(pa.int64())
    return column


def check_types(conditions: tuple[Expression, ...], left: pa.Schema, right: pa.Schema) -> None:
    """Raises PlanError for a condition that has no meaning for columns of these types."""
    columns = [
        {field.name: comparable(pa.array([], field.type)) for field in schema} for schema in (left, right)
    ]
    for condition in conditions:
        try:
            verdict = _value(condition, {"left": columns[0], "right": columns[1]})
        except (pa.ArrowException, TypeError) as error:
            raise PlanError(
                f"a condition of the join cannot be evaluated: {str(error).splitlines()[0]}",
                expected="numbers with numbers, times with times, texts with texts",
                hint="cast one side in the ON clause",
            ) from error
        if not pa.types.is_boolean(verdict.type) and not pa.types.is_null(verdict.type):
            raise PlanError(
                f"a condition of the join is {verdict.type}, neither true nor false",
                expected="a condition, such as l.x < r.a",
            )


def _value(node: Expression, columns: Mapping[Side, Columns]) -> Any:
    """An Arrow array with one element for each pair, or a scalar."""
    if isinstance(node, Operand):
        return columns[node.side][node.column]
    if isinstance(node, Constant):
        return _constant(node)
    arguments = [_value(argument, columns) for argument in node.arguments]
    if node.name in _COMPARISONS:
        return _compared(node.name, *arguments)
    return _FUNCTIONS[node.name](*arguments)


def _constant(node: Constant) -> pa.Scalar:
    match node.type:
        case "int":
            return pa.scalar(int(node.text), pa.int64())
        case "decimal":
            return pa.scalar(Decimal(node.text))
        case "double":
            return pa.scalar(float(node.text), pa.float64())
        case "boolean":
            return pa.scalar(node.text == "true", pa.bool_())
        case "null":
            return pa.scalar(None, pa.null())
        case _:
            return pa.scalar(node.text, pa.string())


def _compared(name: str, first: Any, second: Any) -> Any:
    if _untyped(first) or _untyped(second):
        return pa.scalar(None, pa.bool_())
    first, second = _alike(first, second)
    if not pa.types.is_floating(first.type):
        return _PLAIN[name](first, second)
    odd, odder = pc.is_nan(first), pc.is_nan(second)
    equal = pc.or_kleene(pc.equal(first, second), pc.and_kleene(odd, odder))
    less = pc.or_kleene(pc.less(first, second), pc.and_kleene(pc.invert(odd), odder))
    match name:
        case "=":
            return equal
        case "<>":
            return pc.invert(equal)
        case "<":
            return less
        case "<=":
            return pc.or_kleene(less, equal)
        case ">":
            return pc.invert(pc.or_kleene(less, equal))
        case _:
            return pc.invert(less)


def _alike(first: Any, second: Any) -> tuple[Any, Any]:
    """Two numbers in the type that Spark compares them in."""
    kinds = first.type, second.type
    if any(map(pa.types.is_floating, kinds)):
        single = all(pa.types.is_float32(kind) or pa.types.is_integer(kind) for kind in kinds)
        kind = pa.float32() if single else pa.float64()
        return tuple(side if side.type == kind else _real(side, kind) for side in (first, second))
    return first, second


def _real(value: Any, kind: pa.DataType = DOUBLE) -> Any:
    """A number as a floating-point one. Arrow's own cast of decimals is off by a bit: 0.3 becomes 3 * 0.1."""
    if pa.types.is_decimal(value.type):
        value = value.cast(pa.string())
    return value.cast(kind, safe=False)


def _untyped(value: Any) -> bool:
    return bool(pa.types.is_null(value.type))


def _arithmetic(plain: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    def compute(first: Any, second: Any) -> Any:
        if _untyped(first) or _untyped(second):
            return pa.scalar(None, pa.int64())
        first, second = _alike(first, second)
        if name == "multiply" and any(pa.types.is_decimal(side.type) for side in (first, second)):
            first, second = _real(first), _real(second)
        result = plain(first, second)
        if not pa.types.is_integer(result.type) or _far_from_the_ends(name, first, second):
            return result
        return _null_unless(_fits(plain(_real(first), _real(second)), result), result)

    return compute


def _fits(rough: Any, result: Any) -> Any:
    """Whether whole results are the true ones, going by the same in floating point. What leaves 64 bits
    by a little comes back with the other sign."""
    size, signs = pc.abs(rough), pc.equal(pc.less(result, 0), pc.less(rough, 0.0))
    return pc.or_(pc.less(size, _SAFE), pc.and_(pc.less(size, _BEYOND), signs))


def _far_from_the_ends(name: str, first: Any, second: Any) -> bool:
    """No element can leave 64 bits: a look at the smallest and the largest is cheaper than at every
    result."""
    most = [max((abs(end) for end in _ends(side)), default=0) for side in (first, second)]
    return most[0] * most[1] < 2**62 if name == "multiply" else max(most) < 2**62


def _ends(value: Any) -> list[int]:
    if isinstance(value, pa.Scalar):
        return [value.as_py()] if value.is_valid else []
    found = pc.min_max(value).as_py()
    return [end for end in found.values() if end is not None]


def _null_unless(condition: Any, result: Any) -> Any:
    return pc.if_else(condition, result, pa.scalar(None, result.type))


def _divide(first: Any, second: Any) -> Any:
    if _untyped(first) or _untyped(second):
        return pa.scalar(None, pa.float64())
    first, second = _real(first), _real(second)
    return _null_unless(pc.not_equal(second, 0.0), pc.divide(first, second))


def _modulo(first: Any, second: Any) -> Any:
    """The sign is the dividend's; of floating-point numbers it is exact, as Java's is."""
    if _untyped(first) or _untyped(second):
        return pa.scalar(None, pa.int64())
    first, second = _alike(first, second)
    if pa.types.is_decimal(first.type) or pa.types.is_decimal(second.type):
        first, second = _real(first), _real(second)
    one, zero = pa.scalar(1).cast(second.type), pa.scalar(0).cast(second.type)
    by = pc.if_else(pc.equal(second, zero), one, second)
    if pa.types.is_integer(first.type):
        by = pc.if_else(pc.equal(by, -1), one, by)  # the smallest number divided by -1 is none
        result = pc.subtract(first, pc.multiply(pc.divide(first, by), by))
    else:
        result = _float_remainder(first, by)
    return _null_unless(pc.and_(pc.is_valid(first), pc.not_equal(second, zero)), result)


def _float_remainder(first: Any, by: Any) -> Any:
    """NaN where one is null."""
    values = [
        np.asarray(math.nan if value.as_py() is None else value.as_py(), value.type.to_pandas_dtype())
        if isinstance(value, pa.Scalar)
        else value.to_numpy(zero_copy_only=False)
        for value in (first, by)
    ]
    with np.errstate(invalid="ignore"):
        rest = np.fmod(*values)
    return pa.array(rest) if rest.ndim else pa.scalar(rest.item(), first.type)


def _null_safe_equal(first: Any, second: Any) -> Any:
    none, nothing = pc.is_null(first), pc.is_null(second)
    same = pc.fill_null(_compared("=", first, second), False)
    return pc.or_kleene(pc.and_kleene(none, nothing), same)


def _least(*values: Any, name: str) -> Any:
    """Nulls are passed over, as Spark does it."""
    best = values[0]
    for value in values[1:]:
        better = pc.or_kleene(pc.fill_null(_compared(name, value, best), False), pc.is_null(best))
        better = pc.and_kleene(better, pc.is_valid(value))
        best = pc.if_else(better, *_alike(value, best))
    return best


def _case(*values: Any) -> Any:
    """Alternately a condition and a value, then the value of ELSE."""
    result = values[-1]
    for at in range(len(values) - 3, -1, -2):
        chosen = pc.fill_null(values[at], False)
        result = pc.if_else(chosen, *_alike(values[at + 1], result))
    return result


def _floating(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(_real, values))


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """`floor` and `ceil` of a number are whole ones."""

    def compute(value: Any) -> Any:
        if pa.types.is_integer(value.type):
            return value
        rounded = function(_real(value))
        fits = pc.fill_null(pc.less(pc.abs(rounded), _SAFE), False)
        return _null_unless(fits, pc.if_else(fits, rounded, 0.0).cast(pa.int64()))

    return compute


def _power(first: Any, second: Any) -> Any:
    """A square is a product: nothing is nearer to the true one, and it is the same everywhere."""
    if isinstance(second, pa.Scalar) and second.as_py() == 2:
        return pc.multiply(first, first)
    return pc.power(first, second)


def _coalesce(*values: Any) -> Any:
    """Arrow would refuse whole numbers that floating-point ones cannot hold."""
    kinds = [value.type for value in values]
    if any(map(pa.types.is_floating, kinds)):
        single = all(pa.types.is_float32(kind) or pa.types.is_integer(kind) for kind in kinds)
        values = tuple(_real(value, pa.float32() if single else DOUBLE) for value in values)
    return pc.coalesce(*values)


def _negative(value: Any) -> Any:
    return _FUNCTIONS["-"](pa.scalar(0, pa.int64()), value)


def _absolute(value: Any) -> Any:
    if pa.types.is_integer(value.type):
        return _null_unless(pc.greater(value, -(2**63)), pc.abs(value))
    return pc.abs(value)


_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "<=>": _null_safe_equal,
    "+": _arithmetic(pc.add, "add"),
    "-": _arithmetic(pc.subtract, "subtract"),
    "*": _arithmetic(pc.multiply, "multiply"),
    "/": _divide,
    "%": _modulo,
    "neg": _negative,
    "is_null": pc.is_null,
    "coalesce": _coalesce,
    "least": lambda *values: _least(*values, name="<"),
    "greatest": lambda *values: _least(*values, name=">"),
    "case": _case,
    "abs": _absolute,
    "sqrt": _floating(pc.sqrt),
    "power": _floating(_power),
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "concat": lambda *values: pc.binary_join_element_wise(*values, ""),
}
