"""Picks by value of a join of DataFrames: `pick="min(abs(right.price - left.limit))"`.

The DataFrames are called `left` and `right`, whatever their variables are. A name that only one of them has
needs no side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import ValuePick
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import Expression
from dovetail.plan.dialect import pql_sql, spark_sql
from dovetail.plan.functions import aggregates_in
from dovetail.plan.joins.expressions import expression_of
from dovetail.plan.joins.picks import over_operands
from dovetail.plan.joins.theta import SlicedOperands
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.tree import column

_WHERE = "dovetail.join, pick="


@dataclass(frozen=True)
class PickedBy:
    """`operands`: Spark SQL over the columns of each DataFrame, which `expression` reads as `_on_0` and so
    on."""

    pick: ValuePick
    expression: Expression
    operands: Mapping[Side, tuple[str, ...]]


def picked_by(
    asked: tuple[ValuePick, exp.Expr] | None, left: Sequence[str], right: Sequence[str]
) -> PickedBy | None:
    """What a pick by value asks for, of DataFrames with these columns."""
    if asked is None:
        return None
    pick, tree = asked
    if found := aggregates_in(tree):
        raise PlanError(
            f"{pql_sql(found[0])[:60]} is an aggregate, which a row by itself does not have",
            where=_WHERE,
            expected="an expression over a left and a right row",
        )
    columns: dict[Side, Sequence[str]] = {"left": left, "right": right}
    compared = tree.copy().transform(lambda node: _named(node, columns))
    operands = SlicedOperands({"left": "left", "right": "right"})
    try:
        over = over_operands(compared, SIDES, lambda _: None, operands.column)
    except PlanError as error:
        error.where = _WHERE
        raise
    expression = expression_of(over, lambda of: "left" if of.table == "left" else "right")
    return PickedBy(pick, expression, {side: tuple(map(spark_sql, operands.of(side))) for side in SIDES})


def _named(node: exp.Expr, columns: Mapping[Side, Sequence[str]]) -> exp.Expr:
    """A column with its side; a field of one stays a field."""
    if not isinstance(node, exp.Column):
        return node
    parts = [part.name for part in node.parts]
    sides = [side for side in SIDES if side == parts[0].lower()] if len(parts) > 1 else []
    named, *fields = parts[1:] if sides else parts
    found = [
        (side, name) for side in sides or SIDES for name in columns[side] if name.lower() == named.lower()
    ]
    if len(found) != 1:
        raise _unclear(named, sides[0] if sides else None, found, columns)
    side, name = found[0]
    made: exp.Expr = column(name, side)
    for part in fields:
        made = exp.Dot(this=made, expression=exp.to_identifier(part, quoted=True))
    return made


def _unclear(
    named: str,
    side: Side | None,
    found: Sequence[tuple[Side, str]],
    columns: Mapping[Side, Sequence[str]],
) -> PlanError:
    if found:
        what = (
            f"the {found[0][0]} DataFrame has two columns {named}" if side else f"both sides have a {named}"
        )
        return PlanError(
            what, where=_WHERE, expected="a name of one column", hint=f"left.{named} or right.{named}"
        )
    known = columns[side] if side else [*columns["left"], *columns["right"]]
    whose = f"the {side} DataFrame has" if side else "the DataFrames have"
    return PlanError(f"{whose} no column {named}", where=_WHERE, hint=did_you_mean(named, known))
