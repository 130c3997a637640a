"""Conditions of a join that are neither key nor window: which run in the slicers, and which after the join.

A slicer may drop a row early if that changes nothing: for an ON condition, if the join does not keep
unmatched rows of that side; for a WHERE condition, if the join never replaces that side with nulls.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from dovetail.model.interval import JoinType, Match
from dovetail.plan.joins.condition import JoinView
from dovetail.plan.joins.windows import reads_bounds
from dovetail.plan.statements import Program
from dovetail.plan.tree import as_written, conjuncts, side_of

ON_BEFORE: dict[str, tuple[JoinType, ...]] = {
    "left": ("inner", "right", "semi"),
    "right": ("inner", "left", "semi", "anti"),
}
WHERE_BEFORE: dict[str, tuple[JoinType, ...]] = {
    "left": ("inner", "left", "semi", "anti"),
    "right": ("inner", "right"),
}


class Filters(NamedTuple):
    """Conditions before the join, by side; those that a theta join evaluates; and those after it."""

    before: dict[str, list[exp.Expr]]
    on: list[exp.Expr]
    after: list[exp.Expr]


def filters(program: Program, join: JoinView) -> Filters:
    query, condition, how, match = join.query, join.condition, join.how, join.options.match
    before: dict[str, list[exp.Expr]] = {"left": [], "right": []}
    on: list[exp.Expr] = list(condition.both) if condition.is_theta else []
    after: list[exp.Expr] = []
    for side, nodes in (("left", condition.left_only), ("right", condition.right_only)):
        for node in nodes:
            if how in ON_BEFORE[side]:
                before[side].append(node)
            else:
                assert condition.is_theta, "null_keys or compare_beside_keys has taken it"
                on.append(node)
    for node in () if condition.is_theta else condition.both:
        if how != "inner" or match != "all":
            raise _both_sides(program, node, how, match)
        after.append(node)
    where = query.args.get("where")
    in_sessions = condition.window is not None and condition.window.window.shape == "session"
    for node in conjuncts(where.this) if where is not None else ():
        side = side_of(node, *join.names) or "after"
        if in_sessions or reads_bounds(node):  # a row that is dropped early would be missing from its session
            side = "after"
        if how in WHERE_BEFORE.get(side, ()) and (match == "all" or side == "left"):
            before[side].append(node)
        else:
            after.append(node)
    return Filters(before, on, after)


def _both_sides(program: Program, node: exp.Expr, how: JoinType, match: Match) -> Exception:
    if how == "inner":
        return program.plan_error(
            f'`{as_written(node)[:80]}` reads both sides, but match = "{match}" picks before it is known',
            node,
            expected="equalities and one window",
            hint='use match = "all", or put the condition in WHERE if it may drop the picked pair',
        )
    return program.plan_error(
        f"`{as_written(node)[:80]}` reads both sides and is neither an equality nor the window",
        node,
        expected=f"for a {how.upper()} join: equalities, one window, conditions on one side",
        hint="within windows only an INNER join can have such a condition in ON; otherwise put it in WHERE",
    )
