"""A query that joins and aggregates becomes two: a view that joins, and the aggregate, which reads it.

    CREATE TABLE o AS SELECT l.k, COUNT(r.x) AS n FROM l JOIN r ON .. WHERE .. GROUP BY window(l.t, ..), l.k
    CREATE VIEW o_joined AS SELECT l.k AS k, r.x AS x, l.t AS t FROM l JOIN r ON .. WHERE ..;
    CREATE TABLE o AS SELECT k, COUNT(x) AS n FROM o_joined GROUP BY window(t, ..), k

The view has the columns that the aggregate reads, each under its own name unless that is taken. The options
of the query are those of the join. Only `early` is one of the aggregate, which takes its delay from the join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.aggregates import WINDOW_CLOSED
from dovetail.plan.functions import TIME_WINDOWS, aggregates_in, function_name
from dovetail.plan.joins.windows import BOUNDS
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import is_simple, tables
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, Statement
from dovetail.plan.tree import WRITTEN, column, fresh_name, name_part, named, table

OF_THE_JOIN = ("from_", "joins", "where")
OF_THE_AGGREGATE = ("early",)


def lift_joined_groups(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, CreateInput) or not joins_and_groups(statement.query):
            yield statement
        else:
            yield from _lifted(statement, fresh_name(f"{statement.name}_joined", taken))

    return each_statement(program, rewrite)


def joins_and_groups(query: exp.Expr) -> bool:
    if not is_simple(query) or not query.args.get("joins"):
        return False
    return query.args.get("group") is not None or bool(aggregates_in(query))


def _lifted(statement: CreateView | CreateTable, name: str) -> Iterator[Statement]:
    query = statement.query.copy()
    assert isinstance(query, exp.Select)
    aliases = {one.alias_or_name.lower() for one in tables(query)}
    below = exp.Select()
    for part in OF_THE_JOIN:
        below.set(part, query.args.get(part))
        query.set(part, None)
    carried: dict[tuple[str, str], str] = {}
    names = {*TIME_WINDOWS, WINDOW_CLOSED}
    items = []
    for node in [one for one in query.walk() if _is_of_the_join(one, aliases)]:
        is_column = isinstance(node, exp.Column)
        alias, own = _place(node)
        if (alias.lower(), own) not in carried:
            wanted = f"{name_part(alias)}_{own}" if own.lower() in names else own
            carried[alias.lower(), own] = fresh_name(wanted, names)
            items.append(named(node, carried[alias.lower(), own]))
        made = column(carried[alias.lower(), own], name)
        made.this.meta.update((node.this if is_column else node)._meta or {})
        made.this.meta[WRITTEN] = (alias or None, own)
        node.replace(made)
    below.set("expressions", items or [named(exp.Literal.number(1), "one")])
    query.set("from_", exp.From(this=table(name)))
    options = tuple(replace(one, join=0) for one in statement.options if one.name in OF_THE_AGGREGATE)
    others = tuple(one for one in statement.options if one.name not in OF_THE_AGGREGATE)
    yield CreateView(name, below, others, statement.span, statement.name)
    yield replace(statement, query=query, options=options)


def _place(node: exp.Expr) -> tuple[str, str]:
    """The relation and the column that a node reads; a bound of the join's window has no relation."""
    return (node.table, node.name) if isinstance(node, exp.Column) else ("", str(function_name(node)))


def _is_of_the_join(node: exp.Expr, aliases: set[str]) -> bool:
    if isinstance(node, exp.Column):
        return node.table.lower() in aliases
    return function_name(node) in BOUNDS
