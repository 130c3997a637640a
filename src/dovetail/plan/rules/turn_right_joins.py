"""A RIGHT join without an equality is a LEFT one with its sides changed over.

    l RIGHT JOIN r ON abs(l.x - r.a) <= 10    becomes    r LEFT JOIN l ON abs(l.x - r.a) <= 10

The tasks of a theta join deal out the rows of one side, each of which then knows alone whether it has a
partner (`model/share.py`): that is the left side. Where a left row takes one partner only, changing over
would mean something else, and such a join is refused.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.plan.joins import options as join_options
from dovetail.plan.joins.condition import take_apart
from dovetail.plan.scope import tables
from dovetail.plan.statements import CreateView, Program, Statement, is_join

OTHER = {"left_window": "right_window", "right_window": "left_window"}


def turn_right_joins(program: Program) -> Program:
    made: list[Statement] = []
    for statement in program:
        if isinstance(statement, CreateView) and is_join(statement) and _to_be_turned(program, statement):
            made.append(_turned(statement))
        else:
            made.append(statement)
    return program.with_statements(made)


def _to_be_turned(program: Program, view: CreateView) -> bool:
    query = view.query
    assert isinstance(query, exp.Select)
    join = query.args["joins"][0]
    if join.side.upper() != "RIGHT":
        return False
    try:
        given = join_options.resolve(view.options)
        left, right = (table.name for table in tables(query))
        condition = take_apart(program, join.args["on"], left, right, counted=given.rows is not None)
    except PlanError:  # is told when the join is split
        return False
    return condition.is_theta and given.match == "all"


def _turned(view: CreateView) -> CreateView:
    query = view.query.copy()
    first, join = query.args["from_"], query.args["joins"][0]
    left, right = first.this, join.this
    first.set("this", right)
    join.set("this", left)
    join.set("side", "LEFT")
    options = tuple(replace(option, name=OTHER.get(option.name, option.name)) for option in view.options)
    return replace(view, query=query, options=options)
