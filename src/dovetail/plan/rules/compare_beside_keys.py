"""A join with keys whose other conditions decide which rows stay alone becomes a join without keys.

    l LEFT JOIN r ON l.k = r.k AND l.x < r.y AND window
    l LEFT JOIN r ON abs(bucket(l.k) - bucket(r.k)) <= 0 AND NOT l.k <> r.k AND l.x < r.y AND window

An inner join that returns all partners evaluates such a condition afterwards. Others must know it when two
rows meet: a left row whose partners all fail it comes out alone, and `match = "one"` picks among those that
pass. Theta joins do that. The buckets are numbers that equal keys share, so the index of bands finds a key's
rows as it finds any range; the keys as written decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.plan.dialect import call
from dovetail.plan.joins.condition import JoinView, on_clause, read_join
from dovetail.plan.joins.filters import ON_BEFORE
from dovetail.plan.joins.sides import keys_of_one_type
from dovetail.plan.lookups import looks_up
from dovetail.plan.problems import each_statement
from dovetail.plan.rules.turn_right_joins import turned
from dovetail.plan.scope import environment_of, relation_types
from dovetail.plan.statements import CreateView, Program, Statement, is_join
from dovetail.plan.tree import all_of, conjuncts, side_of
from dovetail.plan.types import INTEGERS, Environment, head, type_of

BUCKETS = str(2**40)
"""Far from the ends of 64 bits, where sums of a band could leave them."""


def compare_beside_keys(program: Program) -> Program:
    types = relation_types(program)

    def rewrite(statement: Statement) -> Iterator[Statement]:
        if (
            is_join(statement)
            and not looks_up(program, statement)
            and (join := _compares(program, statement)) is not None
        ):
            view = turned(statement) if join.how == "right" and join.options.match == "all" else statement
            join = read_join(program, view)
            statement = _without_keys(program, join, environment_of(join.query, types))
        yield statement

    return each_statement(program, rewrite)


def _compares(program: Program, view: CreateView) -> JoinView | None:
    """The join, if it has keys and a condition that it must know when rows meet."""
    try:
        join = read_join(program, view)
    except PlanError:  # reported when the join is split
        return None
    condition = join.condition
    if condition.is_theta or condition.window is not None:
        return None
    late = any(
        nodes and join.how not in ON_BEFORE[side]
        for side, nodes in (("left", condition.left_only), ("right", condition.right_only))
    )
    both = condition.both and (join.how != "inner" or join.options.match == "one")
    return join if late or both else None


def _without_keys(program: Program, join: JoinView, environment: Environment) -> CreateView:
    lefts, rights = keys_of_one_type(program, join.condition, environment)
    made: list[exp.Expr] = []
    for left, right in zip(lefts, rights, strict=True):
        made.extend(_equal(left, right, environment))
    keys = [node for node in conjuncts(join.on) if _is_key(node, join)]
    others = [node for node in conjuncts(join.on) if not any(node is key for key in keys)]
    query = join.query.copy()
    query.args["joins"][0].set("on", all_of([*made, *others]))
    assert on_clause(query)
    return replace(join.view, query=query)


def _is_key(node: exp.Expr, join: JoinView) -> bool:
    if not isinstance(node, exp.EQ):
        return False
    return {side_of(part, *join.names) for part in (node.this, node.expression)} == {"left", "right"}


def _equal(left: exp.Expr, right: exp.Expr, environment: Environment) -> list[exp.Expr]:
    """That two keys are equal, as a band and not as an equality, which would be a key."""
    kinds = [head(type_of(key, environment) or "") for key in (left, right)]
    if all(kind in INTEGERS for kind in kinds):
        return [_band(left, right)]
    unlike = exp.NEQ(this=left.copy(), expression=right.copy())
    return [_band(_bucket(left), _bucket(right)), exp.Not(this=unlike)]


def _bucket(key: exp.Expr) -> exp.Expr:
    return call("pmod", call("xxhash64", key.copy()), exp.Literal.number(BUCKETS))


def _band(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """The narrowest band. Any comparison without `abs` could be taken for the window."""
    difference = exp.Sub(this=left.copy(), expression=right.copy())
    return exp.LTE(this=call("abs", difference), expression=exp.Literal.number("0"))
