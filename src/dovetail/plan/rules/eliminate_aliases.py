"""The paper's first rewriting (section 4.2): references by alias become references by full name.

`FROM left AS l` and `l.eventtime` become `FROM left` and `left.eventtime`. Where a relation is joined with
itself, each further use gets a view of its own first, so that all sides have different names; a lookup table
is declared once more. Columns and tables remember how the text calls them, for errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.lookups import lookup_table
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import columns_of, is_simple, tables
from dovetail.plan.statements import CreateInput, CreateView, Program, Statement
from dovetail.plan.tree import WRITTEN, fresh_name, name_part, passed_on, select


def eliminate_aliases(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, CreateInput) or not is_simple(statement.query):
            yield statement
            return
        query = statement.query.copy()
        assert isinstance(query, exp.Select)
        names: dict[str, str] = {}
        for table in tables(query):
            relation = program.get(table.name)
            assert relation is not None
            name = relation.name
            if name in names.values():
                name = fresh_name(f"{statement.name}_{name_part(table.alias_or_name)}", taken)
                yield (
                    replace(relation, name=name)
                    if lookup_table(program, relation.name) is relation
                    else _copy_of(relation, name, statement.name)
                )
            names[table.alias_or_name.lower()] = name
            table.replace(_table(name, table, relation.name))
        for column in query.find_all(exp.Column):
            if column.table and column.table.lower() in names:
                column.this.meta.setdefault(WRITTEN, (column.table, column.name))
                column.set("table", exp.to_identifier(names[column.table.lower()], quoted=True))
        yield replace(statement, query=query)

    return each_statement(program, rewrite)


def _table(name: str, place: exp.Table, relation: str) -> exp.Table:
    identifier = exp.to_identifier(name, quoted=True)
    if place.this._meta:
        identifier.meta.update(place.this._meta)
    identifier.meta[WRITTEN] = (place.alias_or_name, relation)
    return exp.Table(this=identifier)


def _copy_of(relation: Statement, name: str, part_of: str) -> CreateView:
    query = select(passed_on(columns_of(relation), relation.name), relation.name)
    return CreateView(name, query, span=relation.span, part_of=part_of)
