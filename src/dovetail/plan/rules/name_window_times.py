"""`WITHIN TUMBLING '10 seconds'` without OF gets the event time of each side.

That is the side's only TIMESTAMP column. If there are none or several, it is the column called `eventtime`,
`event_time`, `time`, `timestamp` or `ts`. If that is not unique either, the text must name the times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.functions import arguments, function_name
from dovetail.plan.joins.windows import EXAMPLES, is_window, read_window
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import Types, columns_of, relation_types, tables
from dovetail.plan.statements import CreateView, Program, Statement, is_join
from dovetail.plan.tree import column, conjuncts
from dovetail.plan.types import is_timestamp

NAMES = ("eventtime", "event_time", "time", "timestamp", "ts")


def name_window_times(program: Program) -> Program:
    types = relation_types(program)

    def rewrite(statement: Statement) -> Iterator[Statement]:
        yield _named(program, statement, types) if is_join(statement) else statement

    return each_statement(program, rewrite)


def _named(program: Program, view: CreateView, types: Types) -> CreateView:
    on = view.query.args["joins"][0].args.get("on")
    found = [node for node in conjuncts(on) if is_window(node)] if on is not None else []
    if not found or read_window(program, found[0]).left_time is not None:
        return view
    query = view.query.copy()
    assert isinstance(query, exp.Select)
    times = [_time_of(program, relation.name, types, found[0]) for relation in tables(query)]
    for node in query.args["joins"][0].args["on"].walk():
        if is_window(node) and len(arguments(node)) < 3 and function_name(node) == function_name(found[0]):
            node.set("expressions", [*times, *arguments(node)])
            break
    return replace(view, query=query)


def _time_of(program: Program, relation: str, types: Types, at: exp.Expr) -> exp.Expr:
    below = program.get(relation)
    columns = columns_of(below) if below is not None else ()
    kinds = {name: types.get((relation.lower(), name.lower())) for name in columns}
    timed = [name for name, kind in kinds.items() if kind is not None and is_timestamp(kind)]
    called = [name for name in timed or columns if name.lower() in NAMES]
    choice = timed if len(timed) == 1 else called
    if len(choice) != 1:
        several = " or ".join(f"`{name}`" for name in (called if len(called) > 1 else timed))
        shape = str(function_name(at)).removeprefix("within_")
        raise program.plan_error(
            f"which column of `{relation}` is its event time, {several}?"
            if several
            else f"no column of `{relation}` is known to be its event time",
            at,
            expected=f"one TIMESTAMP column, or one called {', '.join(NAMES)}",
            hint=f"name the two times: {EXAMPLES[shape]} OF l.time, r.time",
        )
    return column(choice[0], relation)
