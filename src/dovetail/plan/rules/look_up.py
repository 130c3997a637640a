"""A lookup join becomes a stage between two categories, and a view of what it writes.

    stream   a table: keys, time and left expressions -> category <app>.<view>.stream
    lookup   a table that joins this category with the lookup table -> category <app>.<view>
    after    a view with all other expressions, under the original view's name

Law: behind a lookup is the log. Whatever reads the view reads what was found when each row was looked up,
however often it reads. A stream that is a category already, and whose own columns are the keys, is looked up
as it is, without the first stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from sqlglot import exp

from dovetail.plan.dialect import call
from dovetail.plan.functions import function_name
from dovetail.plan.joins.columns import RESERVED_STARTS, SplitColumns
from dovetail.plan.joins.condition import join_type
from dovetail.plan.joins.sides import time_as_timestamp
from dovetail.plan.lookups import AS_OF, key_type, looks_up, lookup_table, time_of
from dovetail.plan.physical import ScribeSource
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import Types, environment_of, is_simple, relation_types, tables
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Statement,
    into_log,
)
from dovetail.plan.tree import (
    all_of,
    as_written,
    column,
    conjuncts,
    fresh_name,
    named,
    select,
    side_of,
    table,
)
from dovetail.plan.types import INTEGERS, head, is_timestamp, type_of

TIME = "_as_of"


def look_up(program: Program) -> Program:
    types = relation_types(program)
    taken = {statement.name.lower() for statement in program}
    known: dict[str, Statement] = {}  # as they are after this rule

    def rewrite(statement: Statement) -> Sequence[Statement]:
        made: Sequence[Statement] = (statement,)
        if looks_up(program, statement):
            assert isinstance(statement, CreateView)
            made = _Looking(program, statement, types, taken, known).statements()
        known.update({one.name.lower(): one for one in made})
        return made

    return each_statement(program, rewrite)


class _Looking:
    """The statements of one lookup join."""

    def __init__(
        self,
        program: Program,
        view: CreateView,
        types: Types,
        taken: set[str],
        known: Mapping[str, Statement],
    ) -> None:
        assert isinstance(view.query, exp.Select)
        self.program, self.view, self.query, self.taken = program, view, view.query, taken
        self.left, self.right = (one.name for one in tables(view.query))
        found = lookup_table(program, self.right)
        assert found is not None
        self.table = found
        self.environment = environment_of(view.query, types)
        self.how = join_type(view.query)
        self.category = _category(known, self.left)
        self.time: exp.Expr | None = None
        self.keys: list[tuple[exp.Expr, exp.Column]] = []
        self.rest: list[exp.Expr] = []
        for node in conjuncts(view.query.args["joins"][0].args["on"]):
            self._sort_in(node)
        self._check()

    def _sort_in(self, node: exp.Expr) -> None:
        if function_name(node) == AS_OF:
            self.time = self._stream_time(time_of(node))
            return
        if isinstance(node, exp.EQ):
            parts = {
                side_of(part, self.left, self.right): part.unnest() for part in (node.this, node.expression)
            }
            if parts.keys() == {"left", "right"} and isinstance(parts["right"], exp.Column):
                self.keys.append((parts["left"], parts["right"]))
                return
        self.rest.append(node)

    def _stream_time(self, time: exp.Expr) -> exp.Expr:
        if side_of(time, self.left, self.right) != "left":
            raise self.program.plan_error(
                f"{as_written(time)} is not a time of the stream",
                time,
                expected="FOR SYSTEM_TIME AS OF a time of the rows that are looked up",
            )
        return time_as_timestamp(self.program, time, self.environment)

    def _check(self) -> None:
        name = self.right
        if not self.keys:
            raise self.program.plan_error(
                f"no column of lookup table `{name}` is equal to anything",
                self.query.args["joins"][0],
                expected=f"ON stream.key = {name}.key",
                hint="a lookup finds rows by key; for any other condition read the table as a stream",
            )
        if self.rest and self.how == "left":
            raise self.program.plan_error(
                f"{as_written(self.rest[0])[:60]} is not a condition that a LEFT lookup may have",
                self.rest[0],
                expected="equalities of stream and table, and conditions on the stream",
                hint="select the table's columns with CASE WHEN .. THEN .. END, or use an inner join",
            )
        for item in self.query.expressions:
            if item.output_name.lower().startswith((*RESERVED_STARTS, TIME)):
                raise self.program.plan_error(
                    f"the planner needs the name `{item.output_name}` for itself",
                    item,
                    hint="use another name",
                )
        for left, right in self.keys:
            key_type(self.program, left, right, self.environment)

    def statements(self) -> list[Statement]:
        application, view = self.program.application, self.view
        joined = fresh_name(f"{view.name}_found", self.taken)
        columns = SplitColumns(self.left, self.right, "full" if self._direct else "left", joined)
        items = [
            named(columns.item(i.output_name, i.unalias()), i.output_name) for i in self.query.expressions
        ]
        where = self.query.args.get("where")
        kept = conjuncts(where.this) if where is not None else []
        early = [] if self._direct else [n for n in kept if side_of(n, self.left, self.right) == "left"]
        late = [columns.after(node) for node in (*self.rest, *(n for n in kept if n not in early))]
        if not columns.carried:  # constants only: a row must still be a row
            columns.after(self.keys[0][1])
        stream: list[Statement] = []
        if self._direct:
            assert self.category is not None
            rows, stored = self.category
            keys = [column(stored[left.name.lower()], rows) for left, _ in self.keys]
            time = None if self.time is None else column(stored[self.time.name.lower()], rows)
            carried = columns.of_side("left")
            mine = [(one.name, column(stored[one.expression.name.lower()], rows)) for one in carried]
        else:
            stream, rows = self._stream(columns, early)
            keys = [column(f"_key_{i}", rows) for i in range(len(self.keys))]
            time = None if self.time is None else column(TIME, rows)
            mine = [(one.name, column(one.name, rows)) for one in columns.of_side("left")]
        theirs = [(one.name, column(one.expression.name, self.right)) for one in columns.of_side("right")]
        lookup = select([named(node, name) for name, node in (*mine, *theirs)], rows)
        on: list[exp.Expr] = [
            exp.EQ(this=key, expression=column(right.name, self.right))
            for key, (_, right) in zip(keys, self.keys, strict=True)
        ]
        on += [] if time is None else [call(AS_OF, time)]
        join = exp.Join(this=table(self.right), on=all_of(on))
        if self.how == "left":
            join.set("side", "LEFT")
        lookup.set("joins", [join])
        category = f"{application}.{view.name}"
        written = [
            ColumnDef(name, type_of(one.expression, self.environment))
            for name, one in columns.carried.items()
        ]
        order = {name: at for at, name in enumerate([name for name, _ in (*mine, *theirs)])}
        written.sort(key=lambda one: order[one.name])
        return [
            *stream,
            CreateTable(
                fresh_name(f"{view.name}_lookup", self.taken),
                lookup,
                into_log(category, buckets=1),
                view.span,
            ),
            CreateInput(joined, tuple(written), ScribeSource(category), view.span),
            CreateView(view.name, select(items, joined, late), (), view.span, view.part_of),
        ]

    def _stream(self, columns: SplitColumns, early: list[exp.Expr]) -> tuple[list[Statement], str]:
        """The stream with its keys and time, in the log."""
        items = [named(left, f"_key_{i}") for i, (left, _) in enumerate(self.keys)]
        items += [] if self.time is None else [named(self.time, TIME)]
        items += [named(one.expression, one.name) for one in columns.of_side("left")]
        category = f"{self.program.application}.{self.view.name}.stream"
        writer = fresh_name(f"{self.view.name}_stream", self.taken)
        rows = fresh_name(f"{self.view.name}_rows", self.taken)
        defined = tuple(ColumnDef(i.output_name, type_of(i.unalias(), self.environment)) for i in items)
        made = select(items, self.left, early)
        return [
            CreateTable(writer, made, into_log(category, buckets=1), self.view.span),
            CreateInput(rows, defined, ScribeSource(category), self.view.span),
        ], rows

    @cached_property
    def _direct(self) -> bool:
        """The stream is a category, and needs no expression before it is looked up."""
        if self.category is None:
            return False
        if self.time is not None and not (
            isinstance(self.time, exp.Column) and is_timestamp(type_of(self.time, self.environment) or "")
        ):
            return False
        return all(isinstance(left, exp.Column) and self._alike(left, right) for left, right in self.keys)

    def _alike(self, left: exp.Expr, right: exp.Expr) -> bool:
        mine, theirs = type_of(left, self.environment), type_of(right, self.environment)
        whole = head(mine or "") in INTEGERS and head(theirs or "") in INTEGERS
        return mine == theirs or whole


def _category(known: Mapping[str, Statement], name: str) -> tuple[str, Mapping[str, str]] | None:
    """The input table that a relation only renames the columns of, if that is a category, and its column for
    each one of the relation."""
    below = known.get(name.lower())
    if isinstance(below, CreateInput):
        if not isinstance(below.origin, ScribeSource):
            return None
        return below.name, {one.name.lower(): one.name for one in below.columns}
    if not isinstance(below, CreateView) or not is_simple(below.query):
        return None
    parts = {part for part, value in below.query.args.items() if value}
    items = below.query.selects
    if not parts <= {"expressions", "from_"} or any(not isinstance(i.unalias(), exp.Column) for i in items):
        return None
    found = _category(known, below.query.args["from_"].this.name)
    if found is None:
        return None
    table_below, stored = found
    return table_below, {i.output_name.lower(): stored[i.unalias().name.lower()] for i in items}
