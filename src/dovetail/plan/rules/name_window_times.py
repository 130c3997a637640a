"""`WITHIN TUMBLING '10 seconds'` says of which times: each side's event time, where the text does not.

It is the one column of type TIMESTAMP. Where there is none or several, it is the one that is called
`eventtime`, `event_time`, `time`, `timestamp` or `ts`; and where that does not tell either, the text must.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dovetail.plan.functions import arguments, function_name
from dovetail.plan.joins.condition import conjuncts
from dovetail.plan.joins.windows import EXAMPLES, is_window, read_window
from dovetail.plan.problems import Problems
from dovetail.plan.relation_types import Types, relation_types
from dovetail.plan.scope import columns_of, tables
from dovetail.plan.statements import CreateView, Program, Statement, is_join
from dovetail.plan.tree import column
from dovetail.plan.types import is_timestamp

NAMES = ("eventtime", "event_time", "time", "timestamp", "ts")


def name_window_times(program: Program) -> Program:
    problems = Problems(program)
    types = relation_types(program)
    made: list[Statement] = []
    for statement in program:
        named: Statement = statement
        if isinstance(statement, CreateView) and is_join(statement):
            with problems.of(statement.name):
                named = _named(program, statement, types)
        made.append(named)
    problems.done()
    return program.with_statements(made)


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
            else f"`{relation}` has no column that is known to be its event time",
            at,
            expected=f"one TIMESTAMP column, or one called {', '.join(NAMES)}",
            hint=f"name the two times: {EXAMPLES[shape]} OF l.time, r.time",
        )
    return column(choice[0], relation)
