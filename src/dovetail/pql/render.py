"""`Program` -> PQL text. Law: `parse(render(program)) == program`, for every program that a rule makes."""

from __future__ import annotations

import textwrap

from dovetail.plan.dialect import deep_trees, pql_sql, quoted
from dovetail.plan.interval_literal import words
from dovetail.plan.joins.options import BY_NAME
from dovetail.plan.physical import KafkaSource, ScribeSource, Source
from dovetail.plan.statements import (
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
    with deep_trees():
        parts.extend(render_statement(statement) for statement in program)
    return "\n\n".join(parts) + "\n"


def render_statement(statement: Statement) -> str:
    if isinstance(statement, CreateInput):
        return _input(statement)
    query = textwrap.indent(_query(statement), "  ")
    if isinstance(statement, CreateTable):
        return f"CREATE TABLE {quoted(statement.name)} AS\n{query}\nSTORAGE {_storage(statement.storage)};"
    return f"CREATE VIEW {quoted(statement.name)} AS\n{query};"


def _query(statement: CreateView | CreateTable) -> str:
    """Options come after their join's ON."""
    query = statement.query
    if not statement.options:
        return pql_sql(query, pretty=True)
    query = query.copy()
    joins, where = query.args["joins"], query.args.get("where")
    query.set("joins", None)
    query.set("where", None)
    parts = [pql_sql(query, pretty=True)]
    for number, join in enumerate(joins):
        parts.append(pql_sql(join, pretty=True))
        options = [_option(option) for option in statement.options if option.join == number]
        parts.extend([f"WITH ({', '.join(options)})"] if options else [])
    parts.extend([pql_sql(where, pretty=True)] if where is not None else [])
    return "\n".join(part.strip("\n") for part in parts)


def _option(option: JoinOption) -> str:
    kind = BY_NAME[option.name].kind
    if kind == "interval":
        return f"{option.name} = INTERVAL '{words(int(option.value))}'"
    if kind == "rows":
        return f"{option.name} = ROWS {option.value}"
    return f"{option.name} = {text(str(option.value)) if kind in ('choice', 'pick') else option.value}"


def _input(statement: CreateInput) -> str:
    columns = ", ".join(f"{quoted(c.name)}{f' {c.type}' if c.type else ''}" for c in statement.columns)
    body = "\n".join(
        textwrap.wrap(columns, 100, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
    )
    return f"CREATE INPUT TABLE {quoted(statement.name)} (\n{body}\n) FROM {_origin(statement.origin)};"


def _origin(origin: Source) -> str:
    if isinstance(origin, ScribeSource):
        return f"SCRIBE({text(origin.category)})"
    options = "".join(f", {quoted(name)} = {text(value)}" for name, value in origin.options)
    if isinstance(origin, KafkaSource):
        options += "".join(f", {quoted(name)} = SECRET({text(value)})" for name, value in origin.secrets)
        first = f"{text(origin.topic)}, brokers = {text(origin.brokers)}"
        return f"KAFKA({first}, format = {text(origin.format)}{options})"
    return f"FILES({text(origin.path)}, format = {text(origin.format)}{options})"


def _storage(storage: Storage) -> str:
    arguments = []
    if storage.category is not None:
        arguments.append(f"category = {text(storage.category)}")
    if storage.path is not None:
        arguments.append(f"path = {text(storage.path)}")
    if storage.shard is not None:
        arguments.append(f"shard = {pql_sql(storage.shard)}")
    if storage.buckets is not None:
        arguments.append(f"buckets = {storage.buckets}")
    if storage.compression is not None:
        arguments.append(f"compression = {text(storage.compression)}")
    if storage.keep is not None:
        arguments.append(f"keep = INTERVAL '{words(storage.keep)}'")
    if storage.keep_bytes is not None:
        arguments.append(f"keep_bytes = {storage.keep_bytes}")
    return f"{storage.kind}({', '.join(arguments)})" if arguments else storage.kind


def text(value: str) -> str:
    """A string literal."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
