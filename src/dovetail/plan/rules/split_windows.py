"""An aggregate becomes a slicer of its rows and an aggregate over their category.

    rows       view and table: event time, and the columns that the query reads -> category <app>.<table>.rows
    windows    an input table over that category, and the aggregate over it
    output     a table outside the log reads the closed windows from category <app>.<table>.windows, and so
               does whatever reads a view

All rows of a window come at once, so what is ranked or made distinct within it is ordinary SQL as well. A
DISTINCT becomes a GROUP BY that has the window in it: several windows may close at once.

A join that only this aggregate reads writes the rows itself: the slicer is its only reader. The sessions of a
key end when its rows pause, so the rows of sessions also carry the other group keys (`_key_0`, ...) and a
hash of them. The filter is evaluated before the rows are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from sqlglot import exp

from dovetail.plan.aggregates import WINDOW_CLOSED, early_us, read_window, window_call
from dovetail.plan.consumers import unread
from dovetail.plan.dialect import call as made_call
from dovetail.plan.dialect import pql_sql
from dovetail.plan.functions import TIME_WINDOWS, arguments, function_name
from dovetail.plan.joins.columns import RESERVED, RESERVED_STARTS
from dovetail.plan.joins.sides import time_as_timestamp
from dovetail.plan.physical import ScribeSource
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import Types, environment_of, output_names, relation_types, tables
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Statement,
    into_log,
)
from dovetail.plan.tree import column, fresh_name, named, passed_on, select
from dovetail.plan.types import type_of

TIME = "_time"


def split_windows(program: Program) -> Program:
    types = relation_types(program)
    taken = {statement.name.lower() for statement in program}
    idle = unread(program)

    def rewrite(statement: Statement) -> Sequence[Statement]:
        call = window_call(statement)
        if call is None:
            return (statement,)
        assert not isinstance(statement, CreateInput)
        made = _Split(program, statement, call, types, taken).statements()
        return (statement,) if any(statement is other for other in idle) else made

    return each_statement(program, rewrite)


def _grouped(program: Program, query: exp.Select, call: exp.Expr) -> exp.Select:
    """A DISTINCT as a GROUP BY of the window and all columns."""
    _require_window(program, query, call)
    if query.args.get("distinct") is None:
        return query
    made = query.copy()
    made.set("distinct", None)
    columns = [item.unalias().copy() for item in made.expressions]
    keys = [column for column in columns if column != call and not isinstance(column, exp.Literal)]
    made.set("group", exp.Group(expressions=[call.copy(), *keys]))
    return made


def _require_window(program: Program, query: exp.Select, call: exp.Expr) -> None:
    """Rows of different windows may come together: no function may look from one into another."""
    name = str(function_name(call))
    for over in query.find_all(exp.Window):
        partition = over.args.get("partition_by") or []
        if any(part == call or _is_window(part, name) for part in partition):
            continue
        raise program.plan_error(
            "a window function looks beyond its time window",
            over,
            expected=f"OVER (PARTITION BY {pql_sql(call)}, ...)",
            hint="rows of several windows may come out together",
        )


def _is_window(part: exp.Expr, name: str) -> bool:
    """The window as a column, or a bound of it that tells it from all others."""
    if not isinstance(part, exp.Column | exp.Dot):
        return False
    path = [one.name.lower() for one in part.find_all(exp.Identifier)]
    if path == [name]:
        return True
    return name != "session_window" and path[:1] == [name] and path[-1] in ("start", "end")


class _Split:
    def __init__(
        self,
        program: Program,
        table: CreateTable | CreateView,
        call: exp.Expr,
        types: Types,
        taken: set[str],
    ) -> None:
        assert isinstance(table.query, exp.Select)
        self.program, self.table, self.call = program, table, call
        self.query: exp.Select = _grouped(program, table.query, call)
        self.relation = tables(self.query)[0].name
        self.window = read_window(program, call)
        self.environment = environment_of(self.query, types)
        self.names = {
            part: fresh_name(f"{table.name}_{part}", taken)
            for part in ("rows", "slicer", "input", "windows", "closed")
        }
        self.carried: dict[str, exp.Column] = {}

    def statements(self) -> list[Statement]:
        span, names = self.table.span, self.names
        category = f"{self.program.application}.{self.table.name}"
        query = self._over_rows()
        items = [*self._keys(), named(self._time(), TIME)]
        items += [named(node, name) for name, node in self.carried.items()]
        rows = select(items, self.relation)
        if where := self.query.args.get("where"):
            rows.set("where", where.copy())
        columns = [ColumnDef(item.alias, type_of(item, self.environment)) for item in items]
        columns = [replace(c, type="TIMESTAMP") if c.name == TIME else c for c in columns]
        passed = select(passed_on([item.alias for item in items], names["rows"]), names["rows"])
        return [
            CreateView(names["rows"], rows, span=span),
            CreateTable(names["slicer"], passed, into_log(f"{category}.rows", buckets=1), span),
            CreateInput(names["input"], tuple(columns), ScribeSource(f"{category}.rows"), span),
            *self._output(query, f"{category}.windows"),
        ]

    def _output(self, query: exp.Select, category: str) -> list[Statement]:
        table, names = self.table, self.names
        if isinstance(table, CreateView):
            columns = [ColumnDef(item.output_name, self._type(item)) for item in self.query.expressions]
            return [
                CreateTable(
                    names["windows"], query, into_log(category, buckets=1), table.span, table.options
                ),
                CreateInput(table.name, tuple(columns), ScribeSource(category), table.span),
            ]
        if table.storage.kind == "SCRIBE":
            return [replace(table, query=query)]
        passed = output_names(query)
        return [
            CreateTable(names["windows"], query, into_log(category, buckets=1), table.span, table.options),
            CreateInput(
                names["closed"],
                tuple(ColumnDef(name) for name in passed),
                ScribeSource(category),
                table.span,
            ),
            replace(table, query=select(passed_on(passed, names["closed"]), names["closed"]), options=()),
        ]

    def _type(self, item: exp.Expr) -> str | None:
        """For a column of a view; None: Spark will know."""
        bare = item.unalias()
        path = [part.name.lower() for part in bare.find_all(exp.Identifier)]
        bound = isinstance(bare, exp.Column | exp.Dot) and bare.name.lower() in ("start", "end")
        if bound and (self.call in bare.walk() or str(function_name(self.call)) in path):
            return "TIMESTAMP"
        return type_of(item, self.environment)

    def _time(self) -> exp.Expr:
        return time_as_timestamp(self.program, arguments(self.call)[0], self.environment)

    def _keys(self) -> list[exp.Alias]:
        """The group keys: rows of other keys are in other sessions."""
        if not self.window.is_session:
            return []
        others = [item for item in self._partition() if item != self.call]
        if not others:
            return []
        keys = [self._grouped(item) for item in others]
        hashed = named(made_call("xxhash64", *(key.copy() for key in keys)), "_hash")
        return [hashed, *(named(key, f"_key_{number}") for number, key in enumerate(keys))]

    def _partition(self) -> list[exp.Expr]:
        """What makes a session, beside its time."""
        if (group := self.query.args.get("group")) is not None:
            return list(group.expressions)
        over = list(self.query.find_all(exp.Window))
        parts = [node.args.get("partition_by") or [] for node in over]
        if any(part != parts[0] for part in parts):
            raise self.program.plan_error(
                "window functions over sessions of different keys in one query",
                over[1],
                expected="the same PARTITION BY in all of them",
                hint="write one view for each",
            )
        return list(parts[0])

    def _grouped(self, item: exp.Expr) -> exp.Expr:
        """A group key. A whole number is the position of an item of the select list."""
        if isinstance(item, exp.Literal) and not item.is_string and str(item.this).isdigit():
            position = int(item.this)
            if 1 <= position <= len(self.query.expressions):
                found: exp.Expr = self.query.expressions[position - 1].unalias()
                return found
        return item

    def _over_rows(self) -> exp.Select:
        """The query over the rows in the log."""
        source = self.names["input"]
        query = self.query.copy()
        query.set("where", None)
        group = query.args.get("group")
        if group is not None and early_us(self.table) is not None:
            group.append("expressions", column(WINDOW_CLOSED))  # one value in each window
        time = made_call(
            str(function_name(self.call)), column(TIME, source), *(a.copy() for a in arguments(self.call)[1:])
        )

        def moved(node: exp.Expr) -> exp.Expr:
            if node == self.call:
                return time.copy()
            if function_name(node) in TIME_WINDOWS:
                raise self.program.plan_error(
                    "two time windows in one query",
                    node,
                    expected="the window of GROUP BY",
                    hint="write one CREATE TABLE for each window",
                )
            if isinstance(node, exp.Column) and node.table.lower() == self.relation.lower():
                return column(self._carry(node), source)
            if isinstance(node, exp.Table):
                return exp.Table(this=exp.to_identifier(source, quoted=True))
            return node

        return cast(exp.Select, query.transform(moved, copy=False))

    def _carry(self, node: exp.Column) -> str:
        """The name of a column in the category of the rows."""
        for name, known in self.carried.items():
            if known.name.lower() == node.name.lower():
                return name
        wanted = node.name
        if wanted.lower() in (*RESERVED, *TIME_WINDOWS) or wanted.lower().startswith(
            (*RESERVED_STARTS, "_window_")
        ):
            wanted = f"_of_{wanted}"
        name = fresh_name(wanted, {known.lower() for known in self.carried})
        self.carried[name] = node.copy()
        return name
