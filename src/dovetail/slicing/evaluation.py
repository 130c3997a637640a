"""A select list and its conditions over Arrow batches, exactly as Spark SQL computes them.

Law: an `Evaluation` gives the rows that Spark gives, with the same nulls and types, or fails where Spark
fails. What cannot be had exactly is not in `FUNCTIONS`, and `plan/evaluate.py` leaves it to Spark.

Spark is in ANSI mode and its session in UTC. Where Arrow and Spark differ, the functions here follow Spark:
NaN equals itself and is above all other numbers, a null divided by zero is null, a remainder has the sign of
its dividend, and an overflow is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.errors import RunError
from dovetail.slicing.python_calls import call

MOMENT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class TypedColumn:
    name: str
    type: pa.DataType
    total: bool = True


@dataclass(frozen=True)
class TypedConstant:
    value: Any
    type: pa.DataType
    total: bool = True


@dataclass(frozen=True)
class Call:
    """`total`: no row makes it fail. Only such a call may be made for rows that Spark would skip."""

    function: str
    arguments: tuple[Node, ...]
    type: pa.DataType
    total: bool
    options: tuple[Any, ...] = ()


Node = TypedColumn | TypedConstant | Call


@dataclass(frozen=True)
class Evaluation:
    """Rows for which one condition after the other is true, in these columns."""

    columns: tuple[tuple[str, Node], ...]
    conditions: tuple[Node, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, node.type) for name, node in self.columns])

    @property
    def read_types(self) -> dict[str, pa.DataType]:
        """The columns that it needs, and their types."""
        found: dict[str, pa.DataType] = {}
        todo = [*(node for _, node in self.columns), *self.conditions]
        while todo:
            node = todo.pop()
            if isinstance(node, TypedColumn):
                found[node.name] = node.type
            elif isinstance(node, Call):
                todo += node.arguments
        return found

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for condition in self.conditions:
            batch = batch.filter(_whole(_value(condition, batch, "WHERE"), batch.num_rows))
        made = [_whole(_value(node, batch, name), batch.num_rows) for name, node in self.columns]
        return pa.record_batch(made, schema=self.schema)


def _whole(value: Any, rows: int) -> pa.Array:
    """A constant once for each row."""
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def _value(node: Node, batch: pa.RecordBatch, place: str) -> Any:
    try:
        return _evaluated(node, batch)
    except pa.ArrowInvalid as error:
        raise RunError(
            f"an expression cannot be computed: {error}",
            where=f"column {place}" if place != "WHERE" else "the condition in WHERE",
            expected="values whose results fit into its type, and divisors other than zero",
            hint="use try_add, try_divide and the like, or CAST to a wider type",
        ) from None


def _evaluated(node: Node, batch: pa.RecordBatch) -> Any:
    match node:
        case TypedColumn(name):
            return batch.column(name)
        case TypedConstant(value, kind):
            return pa.scalar(value, kind)
        case Call("python", arguments, kind, _, options):
            given = [_whole(_evaluated(one, batch), batch.num_rows) for one in arguments]
            return call(options[0], kind, given)
        case Call(function, arguments, _, _, options):
            return FUNCTIONS[function](*(_evaluated(one, batch) for one in arguments), *options)


def _valid_zero(dividend: Any, divisor: Any) -> Any:
    return pc.and_(pc.is_valid(dividend), pc.fill_null(pc.equal(divisor, 0), False))


def _refuse_zero(dividend: Any, divisor: Any) -> None:
    found = _valid_zero(dividend, divisor)
    if (found if isinstance(found, pa.Scalar) else pc.any(found, min_count=0)).as_py():
        raise pa.ArrowInvalid("division by zero")


def _divide(dividend: Any, divisor: Any) -> Any:
    _refuse_zero(dividend, divisor)
    return pc.divide(dividend, divisor)


def _remainder(dividend: Any, divisor: Any) -> Any:
    """For integers. By -1 there is no remainder, and a quotient may not fit."""
    _refuse_zero(dividend, divisor)
    one = pa.scalar(1, divisor.type)
    plain = pc.or_(pc.equal(divisor, 0), pc.equal(divisor, -1))
    by = pc.if_else(plain, one, divisor)
    whole = pc.multiply(pc.divide(dividend, by), by)
    return pc.subtract(dividend, whole)


def _floating(value: Any) -> bool:
    return bool(pa.types.is_floating(value.type))


def _equal(one: Any, other: Any) -> Any:
    same = pc.equal(one, other)
    return pc.or_kleene(same, pc.and_(pc.is_nan(one), pc.is_nan(other))) if _floating(one) else same


def _less(one: Any, other: Any) -> Any:
    below = pc.less(one, other)
    if not _floating(one):
        return below
    return pc.or_kleene(below, pc.and_(pc.invert(pc.is_nan(one)), pc.is_nan(other)))


def _same(one: Any, other: Any) -> Any:
    """`<=>`: nulls are equal."""
    nulls = pc.is_null(one), pc.is_null(other)
    return pc.or_(pc.and_(*nulls), pc.fill_null(_equal(one, other), False))


def _chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """A condition that is null does not hold."""
    return pc.if_else(pc.fill_null(condition, False), then, otherwise)


def _null_if(value: Any, other: Any) -> Any:
    return _chosen(_equal(value, other), pa.scalar(None, value.type), value)


def _extreme(choose: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """For integers, or of times and dates as such. A null counts only if all are null."""
    kind = values[0].type
    stored = pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
    return pc.cast(choose(*(pc.cast(one, stored) for one in values), skip_nulls=True), kind)


def _member(value: Any, *constants: Any) -> Any:
    found = pc.is_in(value, value_set=pa.array([one.as_py() for one in constants], value.type))
    return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))


def _cast(value: Any, kind: pa.DataType) -> Any:
    """Only where no value can fail. Large integers round when they become doubles, as in Java."""
    return pc.cast(value, kind, safe=False)


def _floor_by(value: Any, divisor: int) -> Any:
    """Whole units of microseconds, downwards."""
    micros = pc.cast(value, pa.int64())
    if isinstance(micros, pa.Scalar):
        known = micros.as_py()
        return pa.scalar(None if known is None else known // divisor, pa.int64())
    whole = np.floor_divide(pc.fill_null(micros, 0).to_numpy(zero_copy_only=False), divisor)
    made = pa.array(whole, pa.int64())
    return pc.if_else(pc.is_valid(micros), made, pa.scalar(None, pa.int64())) if micros.null_count else made


def _shifted(value: Any, by_us: int) -> Any:
    moved = pc.add_checked(pc.cast(value, pa.int64()), pa.scalar(by_us, pa.int64()))
    return pc.cast(moved, value.type)


def _moment(value: Any, unit_us: int) -> Any:
    """A timestamp from whole units."""
    return pc.cast(pc.multiply_checked(pc.cast(value, pa.int64()), pa.scalar(unit_us, pa.int64())), MOMENT)


def _truncated(value: Any, unit: str) -> Any:
    return pc.floor_temporal(value, 1, unit, week_starts_monday=True)


def _part(value: Any, name: str) -> Any:
    return pc.cast(getattr(pc, name)(value), pa.int32())


def _date(value: Any) -> Any:
    return pc.cast(_cast(_floor_by(value, 86_400_000_000), pa.int32()), pa.date32())


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
    "add_floats": pc.add,
    "subtract_floats": pc.subtract,
    "multiply_floats": pc.multiply,
    "negate": pc.negate_checked,
    "negate_floats": pc.negate,
    "absolute": pc.abs_checked,
    "absolute_floats": pc.abs,
    "divide": _divide,
    "remainder": _remainder,
    "equal": _equal,
    "unequal": lambda one, other: pc.invert(_equal(one, other)),
    "less": _less,
    "less_or_equal": lambda one, other: pc.invert(_less(other, one)),
    "same": _same,
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "is_null": pc.is_null,
    "coalesce": pc.coalesce,
    "chosen": _chosen,
    "null_if": _null_if,
    "least": lambda *values: _extreme(pc.min_element_wise, values),
    "greatest": lambda *values: _extreme(pc.max_element_wise, values),
    "member": _member,
    "cast": _cast,
    "joined": lambda *texts: pc.binary_join_element_wise(*texts, "", null_handling="emit_null"),
    "length": lambda text: pc.cast(pc.utf8_length(text), pa.int32()),
    "trimmed": lambda text: pc.utf8_trim(text, characters=" "),
    "piece": pc.utf8_slice_codeunits,
    "starts": lambda text, part: pc.starts_with(text, pattern=part),
    "ends": lambda text, part: pc.ends_with(text, pattern=part),
    "contains": lambda text, part: pc.match_substring(text, pattern=part),
    "shifted": _shifted,
    "floor_by": _floor_by,
    "moment": _moment,
    "truncated": _truncated,
    "part": _part,
    "date": _date,
}
