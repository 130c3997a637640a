"""What a partner is worth to a left row, where `match = "one"` picks by value: `MAX(r.price)`.

Law: one partner is worth more than another if and only if Spark's ORDER BY of the expression says so, nulls
last. So NaN is larger than any other number and equal to itself, -0.0 equals 0.0, texts are compared by their
bytes, and a null is worth less than any value, to MAX and to MIN.

Values are not kept. The columns that the expression reads (`_on_0`, ...) are mapped from the log and gathered
by row number for the pairs that are compared. Others are unpacked, where rows are packed.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.errors import PlanError
from dovetail.joins.emitted import Int64s
from dovetail.joins.rows.gather import Rows
from dovetail.joins.tactics import Worth
from dovetail.joins.theta.condition import Columns, comparable, values
from dovetail.log.blocks import is_mapped
from dovetail.model.interval import IntervalSpec
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import Expression, operands_in

_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def worth_in(spec: IntervalSpec, left: Rows, right: Rows) -> Worth | None:
    """Compares the partners of a join whose rows are these; None: it does not pick by value."""
    if spec.picked_by is None:
        return None
    expression, largest = spec.picked_by, spec.pick == "max"
    rows: dict[Side, Rows] = {"left": left, "right": right}

    def worth(left_rows: Int64s, right_rows: Int64s) -> Int64s:
        numbers = {"left": left_rows, "right": right_rows}
        columns = {side: _columns(expression, side, rows[side], numbers[side]) for side in SIDES}
        return ranks(values(expression, columns["left"], columns["right"], len(left_rows)), largest=largest)

    return worth


def _columns(expression: Expression, side: Side, rows: Rows, numbers: Int64s) -> Columns:
    names = {operand.column for operand in operands_in(expression) if operand.side == side}
    if not names:
        return {}
    places = rows.places(numbers)
    if all(is_mapped(name) for name in names):
        return {name: comparable(rows.take(name, places)) for name in names}
    batch = rows.at(places)
    return {name: comparable(batch.take(name)) for name in names}


def ranks(compared: pa.Array, *, largest: bool) -> Int64s:
    """A number for each value, larger where the value is worth more. Whole numbers are their own; texts and
    decimals are counted off."""
    kind = compared.type
    if pa.types.is_null(kind):
        return np.zeros(len(compared), np.int64)
    there = compared.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        numbers = _ordered(compared)
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        numbers = compared.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    else:
        numbers = pc.rank(compared, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = numbers if largest else ~numbers
    if there.all():
        return numbers
    if (numbers[there] == _LOWEST).any():  # no number is left for nulls: count these off as well
        numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return np.where(there, numbers, _LOWEST)


def _ordered(compared: pa.Array) -> Int64s:
    """Floating-point numbers as whole ones in the same order: what is negative has its other bits turned."""
    reals = compared.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # no -0.0
    bits = np.where(np.isnan(reals), np.nan, reals).view(np.int64)
    return bits ^ ((bits >> 63) & _HIGHEST)


def check_order(expression: Expression, left: pa.Schema, right: pa.Schema) -> None:
    """Raises PlanError for an expression whose values have no order, given columns of these types."""
    empty = [
        {field.name: comparable(pa.array([], field.type)) for field in schema} for schema in (left, right)
    ]
    try:
        ranks(values(expression, empty[0], empty[1], 0), largest=True)
    except (pa.ArrowException, TypeError) as error:
        raise PlanError(
            f"what `pick` compares cannot be evaluated: {str(error).splitlines()[0]}",
            expected="numbers with numbers, times with times, texts with texts; a value that has an order",
            hint="cast one side in the expression",
        ) from error
