"""An aggregation reads a view of plain rows that has the event time as a column.

Spark needs a column of a relation for its watermark. So `GROUP BY window(timestamp_seconds(ts), '1 hour')`
becomes a view that computes `_window_time`, and `GROUP BY window(_window_time, '1 hour')` over it; and
where the aggregation reads an input table or a join directly, a view is put in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from sqlglot import exp

from dovetail.plan.functions import TIME_WINDOWS, arguments, function_name
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import columns_of, is_simple, tables
from dovetail.plan.statements import CreateTable, CreateView, Program, Statement, is_join
from dovetail.plan.tree import column, fresh_name, named, passed_on, select

TIME = "_window_time"


def lift_windows(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Sequence[Statement]:
        call = window_call(statement)
        if call is None:
            return (statement,)
        assert isinstance(statement, CreateTable)
        assert isinstance(statement.query, exp.Select)
        below = program.get(tables(statement.query)[0].name)
        assert below is not None
        time = arguments(call)[0]
        if isinstance(time, exp.Column) and isinstance(below, CreateView) and not is_join(below):
            return (statement,)
        return _lifted(statement, below, time, fresh_name(f"{statement.name}_rows", taken))

    return each_statement(program, rewrite)


def window_call(statement: Statement) -> exp.Expr | None:
    """The `window(...)` of a table's GROUP BY."""
    if not isinstance(statement, CreateTable) or not is_simple(statement.query):
        return None
    group = statement.query.args.get("group")
    calls = [item for item in group.expressions if function_name(item) in TIME_WINDOWS] if group else []
    return calls[0] if calls and arguments(calls[0]) else None


def _lifted(
    table: CreateTable, below: Statement, time: exp.Expr, name: str
) -> tuple[CreateView, CreateTable]:
    items = passed_on(columns_of(below), below.name)
    query = table.query.copy()
    where = query.args.get("where")
    query.set("where", None)
    if not isinstance(time, exp.Column):
        items.append(named(time, TIME))
        query = cast(exp.Query, query.transform(_replacing(time.copy(), column(TIME, below.name))))
    rows = select(items, below.name)
    rows.set("where", where)
    for node in query.find_all(exp.Table):
        node.set("this", exp.to_identifier(name, quoted=True))
    for part in query.find_all(exp.Column):
        if part.table.lower() == below.name.lower():
            part.set("table", exp.to_identifier(name, quoted=True))
    return CreateView(name, rows, span=table.span), replace(table, query=query)


def _replacing(old: exp.Expr, new: exp.Expr) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: new.copy() if node == old else node
