"""Picks by value: `WITH (match = "one", pick = MAX(r.price))`.

In a program what is compared is one more condition of ON, so that rules treat its columns like any others:

    ON l.k = r.k AND ..                       WITH (match = "one", pick = MAX(r.price))
    ON l.k = r.k AND .. AND pick_by(r.price)  WITH (match = "one", pick = "max")

Both can be written; programs are rendered as the second. What reads only the right side is an operand, which
Spark evaluates in that side's slicer. What reads both sides the join evaluates itself, as it does the
conditions of joins without an equality (`expressions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import ValuePick
from dovetail.model.share import Side
from dovetail.model.theta import Expression
from dovetail.plan.dialect import call, pql_sql
from dovetail.plan.joins.condition import JoinView
from dovetail.plan.joins.expressions import FUNCTIONS, expression_of, is_evaluated, operands_out
from dovetail.plan.statements import Program
from dovetail.plan.tree import side_of
from dovetail.plan.types import NESTED, Environment, head, type_of

EXAMPLE = "pick = MAX(r.price)"
EVALUATED = "arithmetic, comparisons, AND, OR, NOT, CASE, IN, BETWEEN, IS NULL, or one of " + ", ".join(
    FUNCTIONS
)
Operand = Callable[[str, exp.Expr], exp.Expr]
"""`operand(side, expression)` is the column that the slicer of a side writes for an expression."""


def check_pick(program: Program, join: JoinView) -> None:
    """Raises PlanError for a pick by value that this join cannot make."""
    by, pick = join.condition.picked_by, join.options.pick
    by_value = pick in get_args(ValuePick)
    place = next((option.span for option in join.view.options if option.name == "pick"), None)
    if by_value and by is None:
        raise program.plan_error(
            f'pick = "{pick}" does not say what it compares', place, expected=f"an expression: {EXAMPLE}"
        )
    if by is None:
        return
    if not by_value:
        raise program.plan_error(
            "pick_by belongs to a pick by value", by, expected=EXAMPLE, hint='with match = "one"'
        )
    what = f"{pick.upper()}({pql_sql(by)[:60]})"
    if join.how in ("semi", "anti"):
        raise program.plan_error(
            f"pick = {what} has no effect: a LEFT {join.how.upper()} join returns no partners",
            place,
            expected="an INNER, LEFT, RIGHT or FULL join",
            hint="leave `match` and `pick` out",
        )
    if join.options.rows is not None:
        raise program.plan_error(
            f"pick = {what} waits until the window closes, but this join counts rows",
            place,
            expected='pick = "first"',
            hint="leave `pick` out, or use a time window",
        )


def pick_over_operands(
    program: Program, join: JoinView, environment: Environment, operand: Operand
) -> exp.Expr | None:
    """The condition that carries what is compared, over the columns that the slicers write."""
    by = join.condition.picked_by
    if by is None:
        return None
    try:
        return call("pick_by", over_operands(by, join.names, environment, operand))
    except PlanError as error:
        place = next((option.span for option in join.view.options if option.name == "pick"), None)
        raise program.placed(error, place) from None


def over_operands(
    by: exp.Expr, names: tuple[str, str], environment: Environment, operand: Operand
) -> exp.Expr:
    """What is compared, with `operand(side, expression)` in place of whatever reads only one side."""
    side = side_of(by, *names)
    if side in (None, "left"):
        which = "only the left side" if side else "no column"
        raise PlanError(
            f"`{pql_sql(by)[:80]}` reads {which}: to `pick` all partners of a row would be the same",
            expected="an expression over the right row or both rows",
        )
    type_ = type_of(by, environment)
    if type_ is not None and head(type_) in (*NESTED, "VARIANT"):
        raise PlanError(
            f"`{pql_sql(by)[:80]}` is {type_}, which `pick` cannot order",
            expected="a number, a text, a date, a time or a boolean",
            hint="name a field or an element of it",
        )
    if side == "right":  # Spark evaluates all of it, in the type that it has there
        return operand("right", by.unnest())
    if not is_evaluated(by, names, environment):
        raise PlanError(
            f"`{pql_sql(by)[:80]}` reads both sides, and the join cannot evaluate it",
            expected=EVALUATED,
            hint="any function of Spark may be applied to one side only",
        )
    return operands_out(by, names, environment, operand)


def picked_expression(join: JoinView) -> Expression | None:
    """What is compared, over operands, as data."""

    def side(of: exp.Column) -> Side:
        return "left" if of.table.lower() == join.left.lower() else "right"

    by = join.condition.picked_by
    return None if by is None else expression_of(by, side)
