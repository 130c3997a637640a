"""The paper's second rewriting (section 4.2): a join view becomes four groups of statements, one an operator.

    left slicer    view and table: keys, time, left expressions -> category <app>.<view>.left
    right slicer   view and table: keys, time, raw right columns -> category <app>.<view>.right
    join           two input tables over those categories, and a join of columns that are already there
    post-join      a view of the join's output with all other expressions, under the original view's name

A join with one table behind it ends there. One with several readers, or read by another join, is
materialised: a table writes it to category <app>.<view>, and an input table of the view's name reads it.
"""

from __future__ import annotations

from sqlglot import exp

from dovetail.model.compression import Compression
from dovetail.model.interval import JoinType
from dovetail.plan.consumers import fused_table
from dovetail.plan.dialect import call
from dovetail.plan.fresh_name import fresh_name
from dovetail.plan.interval_literal import interval_node
from dovetail.plan.joins import options as join_options
from dovetail.plan.joins.columns import RESERVED, RESERVED_STARTS, SplitColumns
from dovetail.plan.joins.condition import take_apart
from dovetail.plan.joins.filters import filters
from dovetail.plan.joins.join_keys import keys_of_one_type, time_as_timestamp
from dovetail.plan.joins.sides import JoinSide, SideNames
from dovetail.plan.joins.theta import BY_KEY, Operands, check_options, rewritten
from dovetail.plan.joins.window_options import check_window_options, program_error_of_bounds
from dovetail.plan.joins.windows import window_call
from dovetail.plan.problems import Problems
from dovetail.plan.relation_types import Types, environment_of, relation_types
from dovetail.plan.scope import tables
from dovetail.plan.statements import (
    ColumnDef,
    CreateInput,
    CreateTable,
    CreateView,
    Program,
    Scribe,
    Statement,
    Storage,
    is_join,
)
from dovetail.plan.tree import all_of, column, named, passed_on, select, table

HOW: dict[str, JoinType] = {
    "": "inner",
    "INNER": "inner",
    "LEFT": "left",
    "LEFT OUTER": "left",
    "RIGHT": "right",
    "RIGHT OUTER": "right",
    "FULL": "full",
    "FULL OUTER": "full",
    "SEMI": "semi",
    "LEFT SEMI": "semi",
    "ANTI": "anti",
    "LEFT ANTI": "anti",
}


def split_joins(program: Program) -> Program:
    problems = Problems(program)
    types = relation_types(program)
    taken = {statement.name.lower() for statement in program}
    made: list[Statement] = []
    for statement in program:
        if isinstance(statement, CreateView) and is_join(statement):
            with problems.of(statement.name):
                made.extend(_Split(program, statement, types, taken).statements())
        else:
            made.append(statement)
    problems.done()
    return program.with_statements(made)


def join_type(query: exp.Select) -> JoinType:
    join = query.args["joins"][0]
    return HOW[" ".join(filter(None, (join.side, join.kind))).upper()]


class _Split:
    """The four groups of one join view."""

    def __init__(self, program: Program, view: CreateView, types: Types, taken: set[str]) -> None:
        query = view.query
        assert isinstance(query, exp.Select)
        self.program, self.view, self.query, self.types, self.taken = program, view, query, types, taken
        self.how = join_type(query)
        self.left, self.right = (found.name for found in tables(query))
        self.options = join_options.resolve(view.options)
        self.condition = take_apart(
            program,
            query.args["joins"][0].args["on"],
            self.left,
            self.right,
            counted=self.options.rows is not None,
        )
        check_options(program, view, self.condition, self.how, self.options)
        check_window_options(program, view, self.condition, self.how, self.options)

    @property
    def _compression(self) -> Compression | None:
        """None where it is left to the data: nobody need read it then."""
        return None if self.options.compression == "auto" else self.options.compression

    def statements(self) -> list[Statement]:
        fused = fused_table(self.program, self.view) is not None
        names = {side: self._names(side) for side in ("left", "right")}
        joined = fresh_name(f"{self.view.name}_join", self.taken)
        columns = SplitColumns(self.left, self.right, self.how, joined)
        items = [self._item(columns, item) for item in self.query.expressions]
        environment = environment_of(self.query, self.types)
        before, on, after = filters(self.program, self.query, self.condition, self.how, self.options.match)
        operands = Operands({side: names[side].input for side in names})
        on, unknown = rewritten(
            self.program,
            on,
            (self.left, self.right),
            environment,
            operands,
            self.how,
            self.options.match,
        )
        conditions = [columns.after(node) for node in (*unknown, *after)]
        in_windows = any(c.side == "window" for c in columns.carried.values())
        if in_windows and self.condition.window is None:
            raise program_error_of_bounds(self.program, self.query)
        if not columns.carried and self.condition.left_keys:  # constants only: a row must still be a row
            columns.after(self.condition.left_keys[0])
        keys = keys_of_one_type(self.program, self.condition, environment)
        # Where rows are counted, the time only tells when a row was read, for people.
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
            for i, (side, relation) in enumerate((("left", self.left), ("right", self.right)))
        ]
        return [
            *(
                statement
                for side in sides
                for statement in side.slicer(self.options.buckets, self._compression)
            ),
            *(side.input(environment) for side in sides),
            self._join(joined, names, columns, len(keys[0]), on),
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
                f"`{name}` cannot name a column of a join: such names are the planner's own",
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
            every_us = clause.every_us if clause.shape == "hopping" else None
            windows = [window_call(clause.shape, times, clause.length_us, every_us)]
        join = self.query.args["joins"][0].copy()
        join.set("this", table(right))
        join.set("on", all_of([*equal, *conditions, *windows] or [exp.true()]))
        items = [
            named(c.expression if c.side == "window" else column(c.name, inputs[c.side]), c.name)
            for c in columns.carried.values()
        ]
        query = exp.Select(expressions=items, from_=exp.From(this=table(left)), joins=[join])
        options = join_options.spelled_out(self.view.options)
        if self.condition.is_theta:
            options = tuple(option for option in options if option.name not in BY_KEY)
        return CreateView(name, query, options, self.view.span)

    def _post(
        self, joined: str, items: list[exp.Alias], conditions: list[exp.Expr], fused: bool
    ) -> list[Statement]:
        view = self.view
        if fused:
            return [CreateView(view.name, select(items, joined, conditions), span=view.span)]
        rows = fresh_name(f"{view.name}_rows", self.taken)
        output = fresh_name(f"{view.name}_output", self.taken)
        names = [item.alias for item in items]
        storage = Storage(
            "SCRIBE",
            f"{self.program.application}.{view.name}",
            buckets=self.options.buckets,
            compression=self._compression,
        )
        columns = tuple(ColumnDef(n, self.types.get((view.name.lower(), n.lower()))) for n in names)
        return [
            CreateView(rows, select(items, joined, conditions), span=view.span),
            CreateTable(output, select(passed_on(names, rows), rows), storage, view.span),
            CreateInput(view.name, columns, Scribe(str(storage.category)), view.span),
        ]
