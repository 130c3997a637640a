"""`Program` -> PQL text. Law: `parse(render(program)) == program`, for every program that a rule makes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from sqlglot import exp

from dovetail.connectors.kinds import option
from dovetail.connectors.lake_kinds import LAKES
from dovetail.connectors.lookup_kinds import LOOKUPS
from dovetail.connectors.options import PARTITIONED, Option, Value
from dovetail.connectors.secret import Secret
from dovetail.model.python_function import PythonFunction
from dovetail.plan.dialect import deep_trees, pql_sql, quoted
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.options import BY_NAME
from dovetail.plan.physical import KafkaSource, LakeSource, ScribeSource, Source, TableSource
from dovetail.plan.statements import (
    UTC,
    CreateInput,
    CreateTable,
    CreateView,
    JoinOption,
    Program,
    Statement,
    Storage,
)


def render(program: Program) -> str:
    parts = [f"CREATE APPLICATION {quoted(program.application)};"]
    if program.time_zone != UTC:
        parts.append(f"SET TIME ZONE {text(program.time_zone)};")
    parts.extend(_function(one.function) for one in program.functions)
    with deep_trees():
        parts.extend(render_statement(statement) for statement in program)
    return "\n\n".join(parts) + "\n"


def _function(function: PythonFunction) -> str:
    parameters = ", ".join(f"{quoted(name)} {kind}" for name, kind in function.parameters)
    style = "" if function.style == "scalar" else f" PARAMETER STYLE {function.style.upper()}"
    handler = "" if function.handler is None else f" HANDLER {text(function.handler)}"
    tag = ""
    while f"${tag}$" in function.code:
        tag += "code" if not tag else "_"
    return (
        f"CREATE FUNCTION {quoted(function.name)}({parameters}) RETURNS {function.returns} LANGUAGE PYTHON"
        f"{style}{handler} AS ${tag}${function.code}${tag}$;"
    )


def render_statement(statement: Statement) -> str:
    if isinstance(statement, CreateInput):
        return _input(statement)
    query = textwrap.indent(_query(statement), "  ")
    if isinstance(statement, CreateTable):
        return f"CREATE TABLE {quoted(statement.name)} AS\n{query}\nSTORAGE {_storage(statement.storage)};"
    return f"CREATE VIEW {quoted(statement.name)} AS\n{query};"


BEHIND_JOINS = ("where", "group", "having")


def _query(statement: CreateView | CreateTable) -> str:
    """Options come after their join's ON."""
    query = statement.query
    if not statement.options:
        return pql_sql(query, pretty=True)
    if not query.args.get("joins"):  # of an aggregate
        given = ", ".join(_option(one) for one in statement.options)
        return f"{pql_sql(query, pretty=True)}\nWITH ({given})"
    query = query.copy()
    joins = query.args["joins"]
    behind = [query.args[clause] for clause in BEHIND_JOINS if query.args.get(clause) is not None]
    for clause in ("joins", *BEHIND_JOINS):
        query.set(clause, None)
    parts = [pql_sql(query, pretty=True)]
    for number, join in enumerate(joins):
        parts.append(pql_sql(join, pretty=True))
        options = [_option(one) for one in statement.options if one.join == number]
        parts.extend([f"WITH ({', '.join(options)})"] if options else [])
    parts.extend(pql_sql(clause, pretty=True) for clause in behind)
    return "\n".join(part.strip("\n") for part in parts)


def _option(given: JoinOption) -> str:
    kind = BY_NAME[given.name].kind
    if kind == "interval":
        return f"{given.name} = INTERVAL '{words(int(given.value))}'"
    if kind == "rows":
        return f"{given.name} = ROWS {given.value}"
    return f"{given.name} = {text(str(given.value)) if kind in ('choice', 'pick') else given.value}"


def _input(statement: CreateInput) -> str:
    columns = ", ".join(f"{quoted(c.name)}{f' {c.type}' if c.type else ''}" for c in statement.columns)
    body = "\n".join(
        textwrap.wrap(columns, 100, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
    )
    declared = f" (\n{body}\n)" if statement.columns else ""
    kind = "LOOKUP" if isinstance(statement.origin, TableSource) else "INPUT"
    return f"CREATE {kind} TABLE {quoted(statement.name)}{declared} FROM {_origin(statement.origin)};"


def _origin(origin: Source | TableSource) -> str:
    if isinstance(origin, ScribeSource):
        return f"SCRIBE({text(origin.category)})"
    if isinstance(origin, TableSource):
        return _with_options(origin.table, LOOKUPS[origin.table].options, origin.options)
    if isinstance(origin, LakeSource):
        return _with_options(origin.lake, LAKES[origin.lake].options, origin.options)
    options = "".join(f", {quoted(name)} = {_given(value)}" for name, value in origin.options)
    if isinstance(origin, KafkaSource):
        first = f"{text(origin.topic)}, brokers = {text(origin.brokers)}"
        return f"KAFKA({first}, format = {text(origin.format)}{options})"
    return f"FILES({text(origin.path)}, format = {text(origin.format)}{options})"


def _with_options(kind: str, table: Sequence[Option], options: Iterable[tuple[str, Value]]) -> str:
    known = {one.name: one for one in table}
    return f"{kind}({', '.join(f'{name} = {_value(known[name], value)}' for name, value in options)})"


def _given(value: str | Secret) -> str:
    return f"SECRET({text(value.name)})" if isinstance(value, Secret) else text(value)


def _storage(storage: Storage) -> str:
    given = [(option(storage.kind, name), value) for name, value in storage.options]
    arguments = [f"{one.name} = {_value(one, value)}" for one, value in given if one is not PARTITIONED]
    made = f"{storage.kind}({', '.join(arguments)})" if arguments else storage.kind
    parts = storage.get(PARTITIONED.name)
    return f"{made} PARTITIONED BY {_columns(parts)}" if parts else made


def _value(one: Option, value: Value | exp.Expr) -> str:
    match value:
        case Secret():
            return _given(value)
        case exp.Expr():
            return pql_sql(value)
        case bool():
            return str(value).lower()
        case int():
            return f"INTERVAL '{words(value)}'" if one.kind == "interval" else str(value)
        case tuple():
            return _columns(value)
    return text(value)


def _columns(names: tuple[str, ...]) -> str:
    return f"({', '.join(quoted(name) for name in names)})"


def text(value: str) -> str:
    """A string literal."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
