"""Undeclared types, from use (paper, section 4.1: "Puma does type inference").

Two columns that are equated, compared, coalesced or passed on by a view are of one type. In such a group a
declared type wins; then what use says, in the order of `Rank`; and what nothing says anything of is a
STRING.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum

from sqlglot import exp

from dovetail.errors import DovetailError
from dovetail.plan.expression_types import ARITHMETIC, type_of
from dovetail.plan.functions import ARGUMENT_TYPES, SAME_TYPE, arguments, function_name
from dovetail.plan.join_condition import take_apart
from dovetail.plan.relation_types import environment_of, place_of, relation_types
from dovetail.plan.scope import tables
from dovetail.plan.statements import CreateInput, CreateView, Program, is_join

Place = tuple[str, str]


class Rank(IntEnum):
    """How much a use says; the lowest wins."""

    WINDOW_TIME = 0
    NUMBER = 1
    LITERAL = 2
    ARGUMENT = 3
    TRUTH = 4


_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_TEXT = (exp.Like, exp.ILike, exp.RegexpLike, exp.DPipe)


def infer_types(program: Program) -> Program:
    inputs = [s for s in program if isinstance(s, CreateInput)]
    if all(column.type for table in inputs for column in table.columns):
        return program
    uses = _Uses(program)
    for statement in program:
        if not isinstance(statement, CreateInput):
            uses.of_query(statement.name, statement.query)
        if is_join(statement) and isinstance(statement, CreateView):
            uses.of_window(statement)
    made = [
        replace(
            s, columns=tuple(replace(c, type=c.type or uses.type_at((s.name, c.name))) for c in s.columns)
        )
        if isinstance(s, CreateInput)
        else s
        for s in program
    ]
    return program.with_statements(made)


class _Uses:
    """What the program says of its columns: hints, and groups of columns of one type (union-find)."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.types = relation_types(program)
        self.declared = {
            (s.name.lower(), c.name.lower()): c.type
            for s in program
            if isinstance(s, CreateInput)
            for c in s.columns
            if c.type
        }
        self.parent: dict[Place, Place] = {}
        self.hints: dict[Place, list[tuple[Rank, str]]] = {}

    def type_at(self, place: Place) -> str:
        root = self._root((place[0].lower(), place[1].lower()))
        members = [p for p in {*self.parent, root} if self._root(p) == root]
        fixed = [self.declared[p] for p in sorted(members) if p in self.declared]
        if fixed:
            return fixed[0]
        hints = sorted(
            (rank, i, type_) for p in sorted(members) for i, (rank, type_) in enumerate(self.hints.get(p, []))
        )
        return hints[0][2] if hints else "STRING"

    def _root(self, place: Place) -> Place:
        while self.parent.setdefault(place, place) != place:
            place = self.parent[place]
        return place

    def of_window(self, view: CreateView) -> None:
        """The times of a join's window are timestamps; errors in the condition are for a later rule."""
        query = view.query
        assert isinstance(query, exp.Select)
        left, right = (table.name for table in tables(query))
        try:
            condition = take_apart(self.program, query.args["joins"][0].args["on"], left, right)
        except DovetailError:
            return
        for time in (condition.left_time, condition.right_time):
            self._hint(time, query, Rank.WINDOW_TIME, "TIMESTAMP")

    def of_query(self, relation: str, query: exp.Query) -> None:
        for node in query.walk():
            self._node(node, query)
        for item in query.selects if isinstance(query, exp.Select) else ():
            place = (relation.lower(), item.output_name.lower())
            for passed in self._passes_on(item.unalias()):
                self._link(place, self._place(passed, query))
        where = query.args.get("where")
        if where is not None:
            self._hint(where.this, query, Rank.TRUTH, "BOOLEAN")

    def _node(self, node: exp.Expr, query: exp.Query) -> None:
        if isinstance(node, ARITHMETIC):
            timed = isinstance(node.this, exp.Interval) or isinstance(node.expression, exp.Interval)
            rank, type_ = (Rank.WINDOW_TIME, "TIMESTAMP") if timed else (Rank.NUMBER, "DOUBLE")
            for operand in (node.this, node.expression):
                self._hint(operand, query, rank, type_)
        elif isinstance(node, exp.Neg):
            self._hint(node.this, query, Rank.NUMBER, "DOUBLE")
        elif isinstance(node, _COMPARED):
            self._same(query, [node.this, node.expression])
        elif isinstance(node, exp.Between):
            self._same(query, [node.this, node.args["low"], node.args["high"]])
        elif isinstance(node, exp.In):
            self._same(query, [node.this, *node.expressions])
        elif isinstance(node, _TEXT):
            for operand in (node.this, node.expression):
                self._hint(operand, query, Rank.ARGUMENT, "STRING")
        elif isinstance(node, (exp.Trim, exp.Substring)):
            self._hint(node.this, query, Rank.ARGUMENT, "STRING")
        elif isinstance(node, (exp.Connector, exp.Not)):
            for operand in node.iter_expressions():
                self._hint(operand, query, Rank.TRUTH, "BOOLEAN")
        elif isinstance(node, exp.If):
            self._hint(node.this, query, Rank.TRUTH, "BOOLEAN")
        elif function_name(node):
            self._arguments(node, query)

    def _arguments(self, node: exp.Expr, query: exp.Query) -> None:
        name, given = str(function_name(node)), arguments(node)
        if name in SAME_TYPE:
            self._same(query, given)
            return
        wanted = ARGUMENT_TYPES.get(name)
        types = (wanted,) * len(given) if isinstance(wanted, str) else wanted or ()
        for argument, type_ in zip(given, types, strict=False):
            if type_ is not None:
                bare = argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
                self._hint(
                    bare, query, Rank.NUMBER if type_ in ("DOUBLE", "BIGINT") else Rank.ARGUMENT, type_
                )

    def _same(self, query: exp.Query, nodes: list[exp.Expr]) -> None:
        """All of one type: columns are linked, and what is no column says what it is."""
        bare = [self._without_intervals(node) for node in nodes]
        places = [self._place(node, query) for node in bare]
        columns = [place for place in places if place is not None]
        for other in columns[1:]:
            self._link(columns[0], other)
        for node, place in zip(bare, places, strict=True):
            type_ = None if place else type_of(node, environment_of(query, self.types))
            if type_ and columns:
                wide = {"INT": "BIGINT"}.get(type_, "DOUBLE" if type_.startswith("DECIMAL") else type_)
                self.hints.setdefault(columns[0], []).append((Rank.LITERAL, wide))

    @staticmethod
    def _without_intervals(node: exp.Expr) -> exp.Expr:
        while True:
            shifted = isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval)
            if not shifted and not isinstance(node, exp.Paren):
                return node
            node = node.this

    @staticmethod
    def _passes_on(node: exp.Expr) -> Iterator[exp.Expr]:
        """The columns whose type an item of a select list has."""
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            yield node
        elif function_name(node) in SAME_TYPE:
            yield from (argument for argument in arguments(node) if isinstance(argument, exp.Column))

    def _place(self, node: exp.Expr, query: exp.Query) -> Place | None:
        while isinstance(node, exp.Paren):
            node = node.this
        return place_of(node, query, self.types) if isinstance(node, exp.Column) else None

    def _hint(self, node: exp.Expr, query: exp.Query, rank: Rank, type_: str) -> None:
        place = self._place(node, query)
        if place is not None:
            self.hints.setdefault(self._touch(place), []).append((rank, type_))

    def _touch(self, place: Place) -> Place:
        self._root(place)
        return place

    def _link(self, a: Place | None, b: Place | None) -> None:
        if a is not None and b is not None:
            self.parent[self._root(a)] = self._root(b)
