"""The type of every column of every relation of a program whose names are resolved."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dovetail.plan.expression_types import Environment, type_of
from dovetail.plan.scope import is_simple
from dovetail.plan.statements import CreateInput, Program, tables_in

Types = dict[tuple[str, str], str | None]
"""(relation, column), both in lower case -> type."""


def relation_types(program: Program) -> Types:
    types: Types = {}
    for statement in program:
        if isinstance(statement, CreateInput):
            types.update({(statement.name.lower(), c.name.lower()): c.type for c in statement.columns})
        elif isinstance(statement.query, exp.Select):
            environment = environment_of(statement.query, types)
            for item in statement.query.expressions:
                types[statement.name.lower(), item.output_name.lower()] = type_of(item, environment)
    return types


def environment_of(query: exp.Query, types: Types) -> Environment:
    place_of = places_in(query, types)

    def look_up(column: exp.Column) -> str | None:
        place = place_of(column)
        return types.get(place) if place else None

    return look_up


def places_in(query: exp.Query, known: Types) -> Callable[[exp.Column], tuple[str, str] | None]:
    """The relation and column that a reference means; in a query that passes through, only if it is clear."""
    if is_simple(query):
        return lambda column: (column.table.lower(), column.name.lower()) if column.table else None
    relations = [relation.lower() for relation in tables_in(query)]

    def look_up(column: exp.Column) -> tuple[str, str] | None:
        name = column.name.lower()
        holders = [(relation, name) for relation in relations if (relation, name) in known]
        return holders[0] if len(holders) == 1 else None

    return look_up
