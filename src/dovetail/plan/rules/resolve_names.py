"""Every column says which relation it belongs to; every item of a select list has a name.

Case does not matter; names come out as they were declared. A field of a struct column becomes
`(relation.column).field`. A name that an earlier item defines (`a + 1 AS b, b * 2 AS c`) is replaced by that
item's expression. An item without a name gets `_c<position>` and a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.errors import PqlError
from dovetail.plan.aggregates import WINDOW_CLOSED, early_us, time_windows
from dovetail.plan.dialect import call
from dovetail.plan.functions import function_name
from dovetail.plan.joins.windows import BOUNDS, is_window
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.problems import Problems, each_statement
from dovetail.plan.scope import FromItem, Schema, columns_of, is_simple, output_names, sides
from dovetail.plan.source import span_of
from dovetail.plan.statements import (
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Statement,
    Storage,
    tables_in,
)


def resolve_names(program: Program) -> Program:
    warnings: list[str] = []
    schema: dict[str, tuple[str, ...]] = {}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        schema[statement.name.lower()] = columns_of(statement)  # what readers see if resolving fails
        if not isinstance(statement, CreateInput):
            problems = Problems()
            with problems.of(statement.name):
                statement = _statement(program, statement, schema, warnings, problems)
            problems.done()
            schema[statement.name.lower()] = columns_of(statement)
        yield statement

    return each_statement(program, rewrite).warn(*warnings)


def _statement(
    program: Program,
    statement: CreateView | CreateTable,
    schema: Schema,
    warnings: list[str],
    problems: Problems,
) -> CreateView | CreateTable:
    if is_simple(statement.query) and isinstance(statement.query, exp.Select):
        scope = _Scope(program, statement.name, statement.query, schema, problems)
        query: exp.Query = scope.resolved(warnings)
    else:
        query = statement.query
        _check_loosely(program, statement.name, query, schema, problems)
    seen: set[str] = set()
    for name in output_names(query):
        if name.lower() in seen:
            raise program.error(
                f"`{statement.name}` has two columns `{name}`",
                statement.span,
                hint="give one another name with AS",
            )
        seen.add(name.lower())
    made = replace(statement, query=query)
    if isinstance(made, CreateTable):
        _check_shard(program, made, problems)
        made = replace(made, storage=_named(program, made, problems))
    return made


class _Scope:
    """The names visible in one SELECT."""

    def __init__(
        self, program: Program, statement: str, query: exp.Select, schema: Schema, problems: Problems
    ) -> None:
        self.program, self.statement, self.problems = program, statement, problems
        self.query = query.copy()
        self.sides = sides(self.query, schema)
        self.visible = [side for side in self.sides if not side.hidden]
        joins = self.query.args.get("joins") or []
        conditions = [join.args["on"] for join in joins if join.args.get("on") is not None]
        self.windows_within = sum(any(is_window(node) for node in on.walk()) for on in conditions)
        self.items: dict[str, exp.Expr] = {}
        stated = program.get(statement)
        self.early = stated is not None and early_us(stated) is not None
        self.windows = {str(function_name(call)) for call in time_windows(self.query)}
        seen: set[str] = set()
        for number, side in enumerate(self.sides):
            if side.alias.lower() in seen:
                raise program.error(
                    f"both sides of the join are called `{side.alias}`"
                    if len(self.sides) == 2
                    else f"two relations of the query are called `{side.alias}`",
                    joins[number - 1],
                    hint="give them aliases: FROM t AS a JOIN t AS b",
                )
            seen.add(side.alias.lower())

    def resolved(self, warnings: list[str]) -> exp.Select:
        items = []
        for position, item in enumerate(self.query.expressions):
            name = item.output_name
            bare = item.unalias() if isinstance(item, exp.Alias) else item
            made = self._rewrite(bare, self.visible, inline=True)
            if not name:
                name = f"_c{position}"
                span = span_of(item)
                place = (
                    "{}:{}:{}: ".format(self.program.source.name, *self.program.source.place(span))
                    if span
                    else ""
                )
                warnings.append(
                    f"{place}column {position + 1} of `{self.statement}` has no name and becomes `{name}`"
                )
            elif isinstance(item, exp.Alias) and (warning := self._comma_forgotten(item)):
                warnings.append(warning)
            elif isinstance(item, exp.Column) and isinstance(made, exp.Column):
                name = made.name
            alias = exp.to_identifier(name, quoted=True)
            if isinstance(item, exp.Alias) and item.args["alias"]._meta:
                alias.meta.update(item.args["alias"]._meta)
            items.append(exp.Alias(this=made, alias=alias))
            self.items.setdefault(name.lower(), made)
        for clause, value in list(self.query.args.items()):
            if clause in ("expressions", "from_") or not isinstance(value, (exp.Expr, list)):
                continue
            if clause == "joins":
                for number, join in enumerate(value):
                    if join.args.get("on") is not None:
                        # ON reads the relations before it, and its own, even if SEMI or ANTI hides that.
                        before = [side for side in self.sides[: number + 1] if not side.hidden]
                        visible = [*before, self.sides[number + 1]]
                        join.set("on", self._rewrite(join.args["on"], visible, inline=False))
            elif isinstance(value, exp.Expr):
                self.query.set(clause, self._rewrite(value, self.visible, inline=clause != "where"))
        self.query.set("expressions", items)
        return self.query

    def _comma_forgotten(self, item: exp.Alias) -> str | None:
        """`SELECT a b, c`, where `b` is a column: most likely a comma is missing."""
        alias, text = item.args["alias"], self.program.source.text
        place = span_of(alias)
        if place is None or not isinstance(item.this, exp.Column) or not text:
            return None
        if text[: place.start].rstrip()[-2:].lower() == "as":
            return None
        if not any(side.spelled(alias.name) for side in self.visible):
            return None
        line, column = self.program.source.place(place)
        return (
            f"{self.program.source.name}:{line}:{column}: `{alias.name}` is a column, and is read as a new "
            f"name of `{item.this.name}`; put a comma or AS before it"
        )

    def _rewrite(self, tree: exp.Expr, visible: list[FromItem], *, inline: bool) -> exp.Expr:
        tree = tree.copy()
        for column in list(tree.find_all(exp.Column)):
            if isinstance(column.this, exp.Star):
                continue
            try:
                found = self._find(column, visible, inline)
            except PqlError as error:
                self.problems.add(self.statement, error)
                continue
            if column is tree:
                tree = found
            else:
                column.replace(found)
        return tree

    def _find(self, column: exp.Column, visible: list[FromItem], inline: bool) -> exp.Expr:
        parts = list(column.parts)
        if len(parts) > 1:
            for side in visible:
                spelled = side.spelled(parts[1].name)
                if side.alias.lower() == parts[0].name.lower() and spelled:
                    return _reference(side, spelled, column, parts[2:])
        holders = [side for side in visible if side.spelled(parts[0].name)]
        qualifies = [side for side in self.sides if side.alias.lower() == parts[0].name.lower()]
        if len(holders) > 1 and not (qualifies and len(parts) > 1):
            raise self.program.error(
                f"`{parts[0].name}` is ambiguous: `{holders[0].alias}` and `{holders[1].alias}` both have it",
                column,
                hint=f"write {holders[0].alias}.{parts[0].name} or {holders[1].alias}.{parts[0].name}",
            )
        if holders and not (qualifies and len(parts) > 1):
            return _reference(holders[0], str(holders[0].spelled(parts[0].name)), column, parts[1:])
        name = parts[0].name.lower()
        if name in self.windows or (name == WINDOW_CLOSED and len(parts) == 1 and self.early):
            return column.copy()
        if name in BOUNDS and len(parts) == 1 and self.windows_within:
            if self.windows_within > 1:
                raise self.program.error(
                    f"`{name}` is ambiguous: {self.windows_within} joins of the query have WITHIN",
                    column,
                    hint="put the join whose windows you want into a view of its own, and select it there",
                )
            return _bound_of_window(name, column)
        if inline and name in self.items and len(parts) == 1:
            made = self.items[name].copy()
            return made if isinstance(made, (exp.Column, exp.Literal, exp.Func)) else exp.Paren(this=made)
        raise self._unknown(column, parts, qualifies, visible)

    def _unknown(
        self, column: exp.Column, parts: list[exp.Expr], qualifies: list[FromItem], visible: list[FromItem]
    ) -> PqlError:
        if len(parts) > 1 and qualifies:
            side = qualifies[0]
            if side not in visible and not side.hidden:
                return self.program.error(
                    f"`{side.alias}` is joined later, and this ON cannot read it yet",
                    column,
                    expected=f"relations up to this join: {', '.join(one.alias for one in visible)}",
                    hint=f"move the condition to the ON of `{side.alias}`, or the join further down",
                )
            if side not in visible:
                return self.program.error(
                    f"a LEFT SEMI or LEFT ANTI join returns no columns of `{side.alias}`",
                    column,
                    hint="use an INNER or LEFT join to see both sides",
                )
            return self.program.error(
                f"`{side.relation}` has no column `{parts[1].name}`",
                column,
                hint=did_you_mean(parts[1].name, side.columns),
            )
        if len(parts) > 1:
            return self.program.error(
                f"there is no relation `{parts[0].name}` in this query",
                column,
                hint=did_you_mean(parts[0].name, [side.alias for side in self.sides]),
            )
        return self.program.error(
            f"there is no column `{parts[0].name}`",
            column,
            hint=did_you_mean(parts[0].name, [name for side in visible for name in side.columns]),
        )


def _bound_of_window(name: str, place: exp.Column) -> exp.Expr:
    made = call(name)
    span = span_of(place)
    if span is not None:
        made.meta.update({"start": span.start, "end": span.stop - 1})
    return made


def _reference(side: FromItem, name: str, place: exp.Column, fields: list[exp.Expr]) -> exp.Expr:
    made: exp.Expr = exp.column(name, table=side.alias, quoted=True)
    span = span_of(place)
    if span is not None:
        made.this.meta.update({"start": span.start, "end": span.stop - 1})
    if fields:
        made = exp.Paren(this=made)
    for part in fields:
        made = exp.Dot(this=made, expression=part.copy())
    return made


def _check_loosely(
    program: Program, statement: str, query: exp.Query, schema: Schema, problems: Problems
) -> None:
    """Names of a query that passes through to Spark must at least exist in something it reads."""
    known = {column.lower() for table in tables_in(query) for column in schema.get(table.lower(), ())}
    known |= {alias.alias.lower() for alias in query.find_all(exp.Alias, exp.TableAlias, exp.CTE)}
    known |= {i.name.lower() for alias in query.find_all(exp.TableAlias) for i in alias.columns}
    known |= {table.alias_or_name.lower() for table in query.find_all(exp.Table)}
    for column in query.find_all(exp.Column):
        if not any(part.name.lower() in known for part in column.parts):
            problems.add(
                statement,
                program.error(
                    f"there is no column `{column.name}`", column, hint=did_you_mean(column.name, known)
                ),
            )
    if any(not name for name in output_names(query)) or not output_names(query):
        raise program.error("a column of this query has no name", query, hint="name it with AS")


def _named(program: Program, table: CreateTable, problems: Problems) -> Storage:
    """The storage with the columns that its options name written as the table has them."""
    storage, names = table.storage, output_names(table.query)
    known = {name.lower(): name for name in names}
    options = dict(storage.options)
    for option, value in storage.values:
        if not isinstance(value, tuple):
            continue
        for column in value:
            if column.lower() not in known:
                problems.add(
                    table.name,
                    program.error(
                        f"`{option}` names a column that `{table.name}` does not select, `{column}`",
                        storage.place(option) or table.span,
                        hint=did_you_mean(column, names),
                    ),
                )
        options[option] = tuple(known.get(column.lower(), column) for column in value)
    return replace(storage, options=tuple(options.items()))


def _check_shard(program: Program, table: CreateTable, problems: Problems) -> None:
    names = output_names(table.query)
    shard = table.storage.shard
    for column in shard.find_all(exp.Column) if shard is not None else ():
        first = column.parts[0].name
        if first.lower() not in {name.lower() for name in names}:
            problems.add(
                table.name,
                program.error(
                    f"`shard` reads a column that `{table.name}` does not select, `{first}`",
                    column,
                    hint=did_you_mean(first, names),
                ),
            )
