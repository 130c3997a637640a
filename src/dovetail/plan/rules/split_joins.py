"""The paper's second rewriting (section 4.2): a join view becomes four groups of statements.

    left slicer    view and table: keys, time, left expressions -> category <app>.<view>.left
    right slicer   view and table: keys, time, raw right columns -> category <app>.<view>.right
    join           two input tables over those categories, and a join of columns that are already there
    post-join      a view of the join's output with all other expressions, under the original view's name

A join that only one table reads ends there. A join with several readers, or one that another join reads, is
materialised: a table writes it to category <app>.<view>, and an input table of the view's name reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from dovetail.model.compression import Compression
from dovetail.plan.consumers import fused_table
from dovetail.plan.dialect import call
from dovetail.plan.interval_literal import interval_node
from dovetail.plan.joins.checks import check_join, no_bounds
from dovetail.plan.joins.columns import RESERVED, RESERVED_STARTS, SplitColumns
from dovetail.plan.joins.condition import read_join
from dovetail.plan.joins.filters import filters
from dovetail.plan.joins.options import spelled_out
from dovetail.plan.joins.picks import pick_over_operands
from dovetail.plan.joins.sides import JoinSide, SideNames, keys_of_one_type, time_as_timestamp
from dovetail.plan.joins.theta import SlicedOperands, rewritten
from dovetail.plan.joins.windows import window_call
from dovetail.plan.physical import ScribeSource
from dovetail.plan.problems import each_statement
from dovetail.plan.scope import Types, environment_of, relation_types
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Statement,
    into_log,
    is_join,
)
from dovetail.plan.tree import all_of, column, fresh_name, named, passed_on, select, table


def split_joins(program: Program, apart: Collection[str] = ()) -> Program:
    """`apart`: views whose rows have a category of their own, even if only one table reads them."""
    types = relation_types(program)
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Sequence[Statement]:
        if not is_join(statement):
            return (statement,)
        return _Split(program, statement, types, taken, statement.name in apart).statements()

    return each_statement(program, rewrite)


class _Split:
    """The four groups of one join view."""

    def __init__(
        self, program: Program, view: CreateView, types: Types, taken: set[str], apart: bool
    ) -> None:
        self.program, self.view, self.types, self.taken = program, view, types, taken
        self.apart = apart
        self.join = read_join(program, view)
        self.query, self.how, self.options = self.join.query, self.join.how, self.join.options
        self.condition = self.join.condition
        check_join(program, self.join)

    @property
    def _compression(self) -> Compression | None:
        """None for the default, so that rendered programs do not mention it."""
        return None if self.options.compression == "auto" else self.options.compression

    def statements(self) -> list[Statement]:
        fused = not self.apart and fused_table(self.program, self.view) is not None
        names = {side: self._names(side) for side in ("left", "right")}
        joined = fresh_name(f"{self.view.name}_join", self.taken)
        columns = SplitColumns(*self.join.names, self.how, joined)
        items = [self._item(columns, item) for item in self.query.expressions]
        environment = environment_of(self.query, self.types)
        before, on, after = filters(self.program, self.join)
        operands = SlicedOperands({side: names[side].input for side in names})
        on, unknown = rewritten(self.program, self.join, on, environment, operands)
        picked_by = pick_over_operands(self.program, self.join, environment, operands.column)
        conditions = [columns.after(node) for node in (*unknown, *after)]
        in_windows = any(c.side == "window" for c in columns.carried.values())
        if in_windows and self.condition.window is None:
            raise no_bounds(self.program, self.query)
        if not columns.carried and self.condition.left_keys:  # constants only: a row must still be a row
            columns.after(self.condition.left_keys[0])
        keys = keys_of_one_type(self.program, self.condition, environment)
        # Where rows are counted, the time only tells people when a row was read.
        times = [
            call("current_timestamp") if time is None else time
            for time in (self.condition.left_time, self.condition.right_time)
        ]
        sides = [
            JoinSide(
                names[side],
                relation,
                keys[i],
                time_as_timestamp(self.program, times[i], environment),
                columns.of_side(side),
                before[side],
                self.view.span,
                operands.of(side),
            )
            for i, (side, relation) in enumerate((("left", self.join.left), ("right", self.join.right)))
        ]
        return [
            *(
                statement
                for side in sides
                for statement in side.slicer(self.options.buckets, self._compression)
            ),
            *(side.input(environment) for side in sides),
            self._join(joined, names, columns, len(keys[0]), on, picked_by),
            *self._post(joined, items, conditions, fused),
        ]

    def _names(self, side: str) -> SideNames:
        base = f"{self.view.name}_{side}"
        return SideNames(
            rows=fresh_name(f"{base}_rows", self.taken),
            slicer=fresh_name(f"{base}_slicer", self.taken),
            input=fresh_name(base, self.taken),
            category=f"{self.program.application}.{self.view.name}.{side}",
        )

    def _item(self, columns: SplitColumns, item: exp.Expr) -> exp.Alias:
        name = item.output_name
        if name.lower().startswith(RESERVED_STARTS) or name.lower() in RESERVED:
            raise self.program.plan_error(
                f"`{name}` cannot name a column of a join: the planner uses such names itself",
                item,
                expected=f"a name that is not one of {', '.join(RESERVED)}, "
                f"and does not start with {', '.join(RESERVED_STARTS)}",
                hint="give it another name with AS",
            )
        return named(columns.item(name, item.unalias()), name)

    def _join(
        self,
        name: str,
        names: dict[str, SideNames],
        columns: SplitColumns,
        keys: int,
        conditions: list[exp.Expr],
        picked_by: exp.Expr | None,
    ) -> CreateView:
        inputs = {side: names[side].input for side in names}
        left, right = inputs["left"], inputs["right"]
        equal: list[exp.Expr] = [
            exp.EQ(this=column(f"_key_{i}", left), expression=column(f"_key_{i}", right)) for i in range(keys)
        ]
        window: exp.Expr = exp.Between(
            this=column("_time", right),
            low=exp.Sub(this=column("_time", left), expression=interval_node(self.condition.before_us)),
            high=exp.Add(this=column("_time", left), expression=interval_node(self.condition.after_us)),
        )
        windows = [window] if self.options.rows is None else []
        if clause := self.condition.window:
            times = [column("_time", left), column("_time", right)]
            shape, every_us = clause.window.shape, clause.window.every_us
            windows = [window_call(shape, times, clause.length_us, every_us if shape == "hopping" else None)]
        join = self.query.args["joins"][0].copy()
        join.set("this", table(right))
        picks = [] if picked_by is None else [picked_by]
        join.set("on", all_of([*equal, *conditions, *windows, *picks] or [exp.true()]))
        items = [
            named(c.expression if c.side == "window" else column(c.name, inputs[c.side]), c.name)
            for c in columns.carried.values()
        ]
        query = exp.Select(expressions=items, from_=exp.From(this=table(left)), joins=[join])
        options = spelled_out(self.view.options, self.join.kind)
        return CreateView(name, query, options, self.view.span, part_of=self.view.name)

    def _post(
        self, joined: str, items: list[exp.Alias], conditions: list[exp.Expr], fused: bool
    ) -> list[Statement]:
        view = self.view
        if fused:
            return [CreateView(view.name, select(items, joined, conditions), span=view.span)]
        rows = fresh_name(f"{view.name}_rows", self.taken)
        output = fresh_name(f"{view.name}_output", self.taken)
        names = [item.alias for item in items]
        storage = into_log(
            f"{self.program.application}.{view.name}",
            buckets=self.options.buckets,
            compression=self._compression,
        )
        columns = tuple(ColumnDef(n, self.types.get((view.name.lower(), n.lower()))) for n in names)
        return [
            CreateView(rows, select(items, joined, conditions), span=view.span),
            CreateTable(output, select(passed_on(names, rows), rows), storage, view.span),
            CreateInput(view.name, columns, ScribeSource(str(storage.category)), view.span),
        ]
