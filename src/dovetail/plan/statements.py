"""A PQL program as data: the paper's four kinds of statement (section 4.1), frozen.

A rule takes a `Program` and returns a `Program`. It copies the sqlglot trees that it changes. Equality
ignores places in the text and warnings, so `parse(render(p)) == p` can be a law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeGuard

from sqlglot import exp

from dovetail.connectors.options import Value
from dovetail.errors import PlanError, PqlError
from dovetail.model.compression import Compression
from dovetail.model.python_function import PythonFunction
from dovetail.plan.physical import Source, TableSource
from dovetail.plan.source import PqlText, Span, span_of

UTC = "UTC"


@dataclass(frozen=True)
class ColumnDef:
    """A column of an input table. Its type is None until declared, read from the source, or inferred."""

    name: str
    type: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Storage:
    """Where a table goes: `STORAGE kind (option = value, ...)`, with the options of its kind
    (`connectors/kinds.py`). `places`: of the options in the text, `span`: of the kind."""

    kind: str
    options: tuple[tuple[str, Value | exp.Expr], ...] = ()
    places: tuple[tuple[str, Span], ...] = field(default=(), compare=False)
    span: Span | None = field(default=None, compare=False)

    def get(self, name: str) -> Any:
        return dict(self.options).get(name)

    def place(self, name: str) -> Span | None:
        return dict(self.places).get(name)

    @property
    def values(self) -> tuple[tuple[str, Value], ...]:
        """The options that are no expressions."""
        return tuple((name, value) for name, value in self.options if not isinstance(value, exp.Expr))

    @property
    def category(self) -> str | None:
        """For the log, if that is where it goes."""
        found: str | None = self.get("category") if self.kind == "SCRIBE" else None
        return found

    @property
    def shard(self) -> exp.Expr | None:
        found: exp.Expr | None = self.get("shard") if self.kind == "SCRIBE" else None
        return found


def into_log(
    category: str,
    shard: exp.Expr | None = None,
    buckets: int | None = None,
    compression: Compression | None = None,
) -> Storage:
    """`STORAGE SCRIBE` of the planner's own."""
    options = {"category": category, "shard": shard, "buckets": buckets, "compression": compression}
    return Storage("SCRIBE", tuple((name, value) for name, value in options.items() if value is not None))


@dataclass(frozen=True)
class CreateInput:
    """CREATE INPUT TABLE, or with the origin TableSource CREATE LOOKUP TABLE."""

    name: str
    columns: tuple[ColumnDef, ...]
    origin: Source | TableSource
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class JoinOption:
    """One `name = value` of `WITH (...)`: intervals are in microseconds. `join` is the number of its join in
    the query, from 0."""

    name: str
    value: str | int | float
    span: Span | None = field(default=None, compare=False)
    join: int = 0


@dataclass(frozen=True)
class CreateView:
    """`part_of` is the statement in the text that a view of the planner's own was made for."""

    name: str
    query: exp.Query
    options: tuple[JoinOption, ...] = ()
    span: Span | None = field(default=None, compare=False)
    part_of: str | None = field(default=None, compare=False)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Kept: rules ask for it thousands of times, and nobody changes the query of a statement in place."""
        return tuple(tables_in(self.query))


@dataclass(frozen=True)
class CreateTable:
    name: str
    query: exp.Query
    storage: Storage
    span: Span | None = field(default=None, compare=False)
    options: tuple[JoinOption, ...] = ()  # of the joins in the query

    @cached_property
    def reads(self) -> tuple[str, ...]:
        return tuple(tables_in(self.query))


@dataclass(frozen=True)
class CreateFunction:
    """`module`: the file that its code came from."""

    function: PythonFunction
    span: Span | None = field(default=None, compare=False)
    module: str | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.function.name


Statement = CreateInput | CreateView | CreateTable


@dataclass(frozen=True)
class Program:
    """One application: its name and its statements, in the order they were written, and the functions that
    they may call."""

    application: str
    statements: tuple[Statement, ...]
    source: PqlText = field(default=PqlText("<string>", ""), compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)
    functions: tuple[CreateFunction, ...] = ()
    time_zone: str = UTC
    application_span: Span | None = field(default=None, compare=False)
    time_zone_span: Span | None = field(default=None, compare=False)  # None: it is not set

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def get(self, name: str) -> Statement | None:
        """The statement of that name, in any case, as in Spark."""
        return next((s for s in self.statements if s.name.lower() == name.lower()), None)

    def function(self, name: str | None) -> PythonFunction | None:
        """The function of that name, in any case."""
        wanted = (name or "").lower()
        return next((one.function for one in self.functions if one.name.lower() == wanted), None)

    def with_statements(self, statements: tuple[Statement, ...] | list[Statement]) -> Program:
        return replace(self, statements=tuple(statements))

    def warn(self, *warnings: str) -> Program:
        return replace(self, warnings=(*self.warnings, *warnings))

    def error(
        self, what: str, at: exp.Expr | Span | None, *, expected: str | None = None, hint: str | None = None
    ) -> PqlError:
        """An error in the text, with its place."""
        return PqlError(what, where=self._show(at), expected=expected, hint=hint)

    def plan_error(
        self, what: str, at: exp.Expr | Span | None, *, expected: str | None = None, hint: str | None = None
    ) -> PlanError:
        """An error about something that can be read but not planned, with its place."""
        return PlanError(what, where=self._show(at), expected=expected, hint=hint)

    def placed(self, error: PlanError, at: exp.Expr | Span | None) -> PlanError:
        """The same error with its place in the text."""
        error.where = self._show(at)
        return error

    def _show(self, at: exp.Expr | Span | None) -> str | None:
        span = span_of(at) if isinstance(at, exp.Expr) else at
        return self.source.show(span) if self.source.text else None


def reads(statement: Statement) -> list[str]:
    """Names of the relations that a statement's query reads, in order, without CTEs."""
    if isinstance(statement, CreateInput):
        return []
    return list(statement.reads)


def tables_in(query: exp.Expr) -> list[str]:
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    names = [table.name for table in query.find_all(exp.Table, bfs=False)]
    return list(dict.fromkeys(name for name in names if name and name.lower() not in own))


def is_join(statement: Statement) -> TypeGuard[CreateView]:
    """A view whose query is one SELECT with a JOIN: a streaming join, or several before they are chained."""
    return (
        isinstance(statement, CreateView)
        and isinstance(statement.query, exp.Select)
        and bool(statement.query.args.get("joins"))
    )
