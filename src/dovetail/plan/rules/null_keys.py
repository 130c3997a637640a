"""A condition on a side whose unmatched rows a join keeps becomes part of its key.

A row that fails it has a null key, and matches nothing:

    l LEFT JOIN r ON l.k = r.k AND l.x > 3 WITHIN ..
    l LEFT JOIN r ON CASE WHEN l.x > 3 THEN l.k END = r.k WITHIN ..

So it is for joins within windows and for lookups. Other joins with such a condition are compared beside their
keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.plan.functions import function_name
from dovetail.plan.joins.condition import join_type, read_join
from dovetail.plan.joins.filters import ON_BEFORE
from dovetail.plan.joins.windows import is_window
from dovetail.plan.lookups import AS_OF, looks_up
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import tables
from dovetail.plan.statements import CreateView, Program, Statement, is_join
from dovetail.plan.tree import all_of, conjuncts, side_of


def null_keys(program: Program) -> Program:
    def rewrite(statement: Statement) -> Iterator[Statement]:
        yield _rewritten(program, statement) if is_join(statement) else statement

    return each_statement(program, rewrite)


def _rewritten(program: Program, view: CreateView) -> CreateView:
    assert isinstance(view.query, exp.Select)
    if looks_up(program, view):
        sides = ["left"] if join_type(view.query) == "left" else []
    else:
        try:
            join = read_join(program, view)
        except PlanError:  # reported when the join is split
            return view
        within = join.condition.window is not None and not join.condition.is_theta
        sides = [side for side in ("left", "right") if within and join.how not in ON_BEFORE[side]]
    for side in sides:
        view = _with_null_key(view, side)
    return view


def _with_null_key(view: CreateView, side: str) -> CreateView:
    query = view.query.copy()
    assert isinstance(query, exp.Select)
    left, right = (one.name for one in tables(query))
    nodes = conjuncts(query.args["joins"][0].args["on"])
    only = [node for node in nodes if side_of(node, left, right) == side and not _is_clause(node)]
    key = next((part for node in nodes for part in _key_parts(node, left, right, side)), None)
    if not only or key is None:
        return view
    key.replace(exp.Case(ifs=[exp.If(this=all_of(only), true=key.copy())]))
    query.args["joins"][0].set("on", all_of([n for n in nodes if not any(n is one for one in only)]))
    return replace(view, query=query)


def _is_clause(node: exp.Expr) -> bool:
    """It stands in ON like a condition, and is none."""
    return is_window(node) or function_name(node) in (AS_OF, "pick_by")


def _key_parts(node: exp.Expr, left: str, right: str, side: str) -> list[exp.Expr]:
    """The part of an equality of both sides that is of this one."""
    if not isinstance(node, exp.EQ):
        return []
    parts = {side_of(part, left, right): part for part in (node.this, node.expression)}
    return [parts[side]] if parts.keys() == {"left", "right"} else []
