"""A RIGHT join without an equality becomes a LEFT join with its sides swapped.

    l RIGHT JOIN r ON abs(l.x - r.a) <= 10    becomes    r LEFT JOIN l ON abs(l.x - r.a) <= 10

The tasks of a theta join share out the rows of the left side, so that the task with a left row knows alone
whether it has a partner (`model/share.py`). Where a left row takes only one partner, swapping the sides
would change the result. Such a join stays as it is and, as a FULL join, runs as one task.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dovetail.errors import PlanError
from dovetail.plan.joins.condition import read_join
from dovetail.plan.problems import each_statement
from dovetail.plan.statements import CreateView, Program, Statement, is_join

OTHER = {"left_window": "right_window", "right_window": "left_window"}


def turn_right_joins(program: Program) -> Program:
    def rewrite(statement: Statement) -> Iterator[Statement]:
        yield turned(statement) if is_join(statement) and _to_be_turned(program, statement) else statement

    return each_statement(program, rewrite)


def _to_be_turned(program: Program, view: CreateView) -> bool:
    if view.query.args["joins"][0].side.upper() != "RIGHT":
        return False
    try:
        join = read_join(program, view)
    except PlanError:  # reported when the join is split
        return False
    return join.condition.is_theta and join.options.match == "all"


def turned(view: CreateView) -> CreateView:
    query = view.query.copy()
    first, join = query.args["from_"], query.args["joins"][0]
    left, right = first.this, join.this
    first.set("this", right)
    join.set("this", left)
    join.set("side", "LEFT")
    options = tuple(replace(option, name=OTHER.get(option.name, option.name)) for option in view.options)
    return replace(view, query=query, options=options)
