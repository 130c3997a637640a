"""Why a partner was picked by value: the right rows that a left row met, and what each was worth to it.

The rows have been read whole, so values come from them and not from columns of the log; they are compared by
the same code as in a step (`worth.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.joins.emitted import Int64s
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.tactics import Worth
from dovetail.joins.theta.condition import comparable, values
from dovetail.joins.worth import ranks
from dovetail.model.interval import IntervalSpec
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import Expression, Operand, operands_in
from dovetail.model.theta_text import condition_text


class Compared(NamedTuple):
    right: KeyRow
    value: Any


class Comparison(NamedTuple):
    """`text`: what is compared, as in the query. `compared`: the right rows met, best first."""

    largest: bool
    text: str
    compared: tuple[Compared, ...]


class Picking:
    """Compares partners of left rows; the schemas are those of the two categories."""

    def __init__(
        self,
        spec: IntervalSpec,
        expression: Expression,
        schemas: Mapping[Side, pa.Schema],
        names: Mapping[Operand, str],
    ) -> None:
        self._expression, self._largest = expression, spec.pick == "max"
        self._schemas, self._names = schemas, names

    def worth(self, left: Sequence[KeyRow], right: Sequence[KeyRow]) -> Worth:
        """Compares pairs of these rows, which are in log order."""
        numbers = [np.array([row.row for row in rows], np.int64) for rows in (left, right)]
        columns = [self._columns(side, rows) for side, rows in zip(SIDES, (left, right), strict=True)]

        def worth(left_rows: Int64s, right_rows: Int64s) -> Int64s:
            taken = []
            for known, rows, of in zip(numbers, (left_rows, right_rows), columns, strict=True):
                places = pa.array(np.searchsorted(known, rows))
                taken.append({name: column.take(places) for name, column in of.items()})
            found = values(self._expression, taken[0], taken[1], len(left_rows))
            return ranks(found, largest=self._largest)

        return worth

    def comparison(self, left: KeyRow, met: Sequence[KeyRow]) -> Comparison:
        ours, theirs = self._columns("left", [left] * len(met)), self._columns("right", met)
        found = values(self._expression, ours, theirs, len(met))
        times, numbers = (np.array([getattr(row, of) for row in met], np.int64) for of in ("time_us", "row"))
        order = np.lexsort((numbers, times, ~ranks(found, largest=self._largest)))
        shown = found.to_pylist()
        if isinstance(self._expression, Operand):  # as it is in the row: a time is no number there
            shown = [row.values[self._expression.column] for row in met]
        best_first = tuple(Compared(met[at], shown[at]) for at in order.tolist())
        return Comparison(self._largest, condition_text(self._expression, self._names), best_first)

    def _columns(self, side: Side, rows: Sequence[KeyRow]) -> dict[str, pa.Array]:
        names = {operand.column for operand in operands_in(self._expression) if operand.side == side}
        schema = self._schemas[side]
        return {
            name: comparable(pa.array([row.values[name] for row in rows], schema.field(name).type))
            for name in names
        }


PickingOf = Callable[[IntervalSpec], Picking | None]
"""What compares the partners in a join that picks them by value; None for any other."""


def everyone(spec: IntervalSpec) -> IntervalSpec:
    """The same join with all partners: those that a left row meets."""
    return replace(spec, match="all", pick="first", picked_by=None)


def picking_of(
    spec: IntervalSpec, left: pa.Schema, right: pa.Schema, names: Mapping[Operand, str]
) -> Picking | None:
    """None: the join does not pick by value."""
    if spec.picked_by is None:
        return None
    return Picking(spec, spec.picked_by, {"left": left, "right": right}, names)
