"""`WITHIN TUMBLING '10 seconds'` without OF gets the event time of each side.

That is the side's only TIMESTAMP column. If there are none or several, it is the column called `eventtime`,
`event_time`, `time`, `timestamp` or `ts`. If that is not unique either, the text must name the times. A later
join of a query takes the time of the relation after FROM as that of its left side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.functions import arguments, function_name
from dovetail.plan.joins.windows import EXAMPLES, TIME_NAMES, is_window, read_window
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import Types, columns_of, relation_types, tables
from dovetail.plan.statements import CreateView, Program, Statement, is_join
from dovetail.plan.tree import WRITTEN, column, conjuncts, table_as_written
from dovetail.plan.types import is_timestamp


def name_window_times(program: Program) -> Program:
    types = relation_types(program)

    def rewrite(statement: Statement) -> Iterator[Statement]:
        yield _named(program, statement, types) if is_join(statement) else statement

    return each_statement(program, rewrite)


def _named(program: Program, view: CreateView, types: Types) -> CreateView:
    query = view.query.copy()
    assert isinstance(query, exp.Select)
    first = tables(query)[0]
    for number, join in enumerate(query.args["joins"]):
        on = join.args.get("on")
        found = [node for node in conjuncts(on) if is_window(node)] if on is not None else []
        if not found or read_window(program, found[0]).left_time is not None:
            continue
        if any(earlier.side.upper() in ("RIGHT", "FULL") for earlier in query.args["joins"][:number]):
            raise program.plan_error(
                f"a row may be without `{table_as_written(first)}` here, and WITHIN does not say which time "
                "counts then",
                found[0],
                expected="OF a time of the left side, a time of the right side",
                hint=f"for example: {EXAMPLES['tumbling']} OF l.time, r.time",
            )
        times = [_time_of(program, relation, types, found[0]) for relation in (first, join.this)]
        found[0].set("expressions", [*times, *arguments(found[0])])
    return replace(view, query=query)


def _time_of(program: Program, table: exp.Table, types: Types, at: exp.Expr) -> exp.Expr:
    relation = table.name
    below = program.get(relation)
    columns = columns_of(below) if below is not None else ()
    kinds = {name: types.get((relation.lower(), name.lower())) for name in columns}
    timed = [name for name, kind in kinds.items() if kind is not None and is_timestamp(kind)]
    called = [name for name in timed or columns if name.lower() in TIME_NAMES]
    choice = timed if len(timed) == 1 else called
    if len(choice) != 1:
        several = " or ".join(f"`{name}`" for name in (called if len(called) > 1 else timed))
        shape = str(function_name(at)).removeprefix("within_")
        raise program.plan_error(
            f"which column of `{table_as_written(table)}` is its event time, {several}?"
            if several
            else f"no column of `{table_as_written(table)}` is known to be its event time",
            at,
            expected=f"one TIMESTAMP column, or one called {', '.join(TIME_NAMES)}",
            hint=f"name the two times: {EXAMPLES[shape]} OF l.time, r.time",
        )
    made = column(choice[0], relation)
    made.this.meta[WRITTEN] = (table_as_written(table), choice[0])
    return made
