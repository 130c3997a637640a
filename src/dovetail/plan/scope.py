"""Which relations a query reads, under which names, and with which columns and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from dovetail.plan.statements import CreateInput, Program, Statement, tables_in
from dovetail.plan.types import Environment, type_of

Schema = Mapping[str, tuple[str, ...]]
"""Relation (lower case) -> its columns in order, spelled as declared."""


@dataclass(frozen=True)
class FromItem:
    """One relation of a FROM clause. A hidden one is the right side of a SEMI or ANTI join: only that join's
    ON can read it."""

    alias: str
    relation: str
    columns: tuple[str, ...]
    hidden: bool = False

    def spelled(self, column: str) -> str | None:
        """The declared spelling of a column, found in any case."""
        return next((c for c in self.columns if c.lower() == column.lower()), None)


def is_simple(query: exp.Expr) -> bool:
    """One SELECT over one relation, or several joined ones, by name. All other queries pass through to
    Spark."""
    if not isinstance(query, exp.Select) or query.args.get("with_") or query.args.get("laterals"):
        return False
    source = query.args.get("from_")
    joins = query.args.get("joins") or []
    tables = [source.this if source else None, *(join.this for join in joins)]
    if not all(isinstance(table, exp.Table) and _plain(table) for table in tables):
        return False
    return not any(node is not query for node in query.find_all(exp.Query))


def _plain(table: exp.Table) -> bool:
    return isinstance(table.this, exp.Identifier) and not any(
        value for key, value in table.args.items() if key not in ("this", "alias")
    )


def tables(query: exp.Select) -> list[exp.Table]:
    """The tables of a simple query: FROM's, then each JOIN's."""
    found: list[exp.Table] = [query.args["from_"].this]
    found.extend(join.this for join in query.args.get("joins") or [])
    return found


def sides(query: exp.Select, schema: Schema) -> list[FromItem]:
    kinds = ["", *(join.kind.upper() for join in query.args.get("joins") or [])]
    return [
        FromItem(
            table.alias_or_name, table.name, schema.get(table.name.lower(), ()), kind in ("SEMI", "ANTI")
        )
        for table, kind in zip(tables(query), kinds, strict=True)
    ]


def output_names(query: exp.Query) -> list[str]:
    """The names of a query's columns, '' for an expression without a name."""
    select: exp.Expr = query
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    items = select.expressions if isinstance(select, exp.Select) else []
    return [item.output_name for item in items]


def columns_of(statement: Statement) -> tuple[str, ...]:
    if isinstance(statement, CreateInput):
        return tuple(column.name for column in statement.columns)
    return tuple(output_names(statement.query))


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
    """Finds the relation and column of a reference. In a query that passes through, only if it is clear."""
    if is_simple(query):
        return lambda column: (column.table.lower(), column.name.lower()) if column.table else None
    relations = [relation.lower() for relation in tables_in(query)]

    def look_up(column: exp.Column) -> tuple[str, str] | None:
        name = column.name.lower()
        holders = [(relation, name) for relation in relations if (relation, name) in known]
        return holders[0] if len(holders) == 1 else None

    return look_up
