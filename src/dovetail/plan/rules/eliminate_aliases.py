"""The paper's first rewriting (section 4.2): references by alias become references by full name.

`FROM left AS l` and `l.eventtime` become `FROM left` and `left.eventtime`. Where a relation is joined with
itself, the right side first gets a view of its own, so that the two can be told apart.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dovetail.plan.fresh_name import fresh_name
from dovetail.plan.scope import columns_of, is_simple, tables
from dovetail.plan.statements import CreateInput, CreateView, Program, Statement
from dovetail.plan.tree import passed_on, select


def eliminate_aliases(program: Program) -> Program:
    made: list[Statement] = []
    taken = {statement.name.lower() for statement in program}
    for statement in program:
        if isinstance(statement, CreateInput) or not is_simple(statement.query):
            made.append(statement)
            continue
        query = statement.query.copy()
        assert isinstance(query, exp.Select)
        names: dict[str, str] = {}
        for position, table in enumerate(tables(query)):
            relation = program.get(table.name)
            assert relation is not None
            name = relation.name
            if position == 1 and name in names.values():
                name = fresh_name(f"{statement.name}_{table.alias_or_name}", taken)
                made.append(_copy_of(relation, name))
            names[table.alias_or_name.lower()] = name
            table.replace(_table(name, table))
        for column in query.find_all(exp.Column):
            if column.table and column.table.lower() in names:
                column.set("table", exp.to_identifier(names[column.table.lower()], quoted=True))
        made.append(replace(statement, query=query))
    return program.with_statements(made)


def _table(name: str, place: exp.Table) -> exp.Table:
    identifier = exp.to_identifier(name, quoted=True)
    if place.this._meta:
        identifier.meta.update(place.this._meta)
    return exp.Table(this=identifier)


def _copy_of(relation: Statement, name: str) -> CreateView:
    return CreateView(
        name, select(passed_on(columns_of(relation), relation.name), relation.name), span=relation.span
    )
