"""Undeclared types, from use (paper, section 4.1: "Puma does type inference").

Columns that are equated, compared, coalesced or passed on by a view have the same type. In such a group a
declared type wins, then the uses in the order of `Rank`. A column that no use says anything about is a
STRING.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import IntEnum

from sqlglot import exp

from dovetail.errors import DovetailError
from dovetail.plan.functions import ARGUMENT_TYPES, SAME_TYPE, arguments, function_name
from dovetail.plan.joins.condition import read_join
from dovetail.plan.scope import places_in, relation_types
from dovetail.plan.statements import CreateInput, CreateView, Program, is_join
from dovetail.plan.types import ARITHMETIC, type_of

Place = tuple[str, str]


class Rank(IntEnum):
    """How much a use tells about a type. The lowest wins."""

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
        if isinstance(statement, CreateInput):
            continue
        query = _Query(uses, statement.query)
        query.read(statement.name)
        if is_join(statement):
            query.read_window(statement)
    types = uses.types_of([(s.name.lower(), c.name.lower()) for s in inputs for c in s.columns])
    made = [_typed(s, types) if isinstance(s, CreateInput) else s for s in program]
    return program.with_statements(made)


def _typed(table: CreateInput, types: dict[Place, str]) -> CreateInput:
    places = [(table.name.lower(), column.name.lower()) for column in table.columns]
    columns = zip(table.columns, places, strict=True)
    return replace(table, columns=tuple(replace(c, type=c.type or types[place]) for c, place in columns))


class _Uses:
    """What the program says about its columns: hints, and groups of columns of one type (union-find)."""

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

    def types_of(self, places: Iterable[Place]) -> dict[Place, str]:
        """The type of each place, given all uses."""
        groups: dict[Place, list[Place]] = {}
        for place in {*self.parent, *places, *self.declared}:
            groups.setdefault(self.root(place), []).append(place)
        return {place: self._type_of(sorted(groups[self.root(place)])) for place in places}

    def _type_of(self, group: list[Place]) -> str:
        fixed = [self.declared[place] for place in group if place in self.declared]
        if fixed:
            return fixed[0]
        hints = sorted(
            (rank, i, t) for place in group for i, (rank, t) in enumerate(self.hints.get(place, ()))
        )
        return hints[0][2] if hints else "STRING"

    def root(self, place: Place) -> Place:
        while self.parent.setdefault(place, place) != place:
            self.parent[place] = self.parent[self.parent[place]]
            place = self.parent[place]
        return place

    def link(self, a: Place | None, b: Place | None) -> None:
        if a is not None and b is not None:
            self.parent[self.root(a)] = self.root(b)

    def hint(self, place: Place, rank: Rank, type_: str) -> None:
        self.root(place)
        self.hints.setdefault(place, []).append((rank, type_))


class _Query:
    """What one query says."""

    def __init__(self, uses: _Uses, query: exp.Query) -> None:
        self.uses, self.query = uses, query
        self.place_of = places_in(query, uses.types)

    def read(self, relation: str) -> None:
        for node in self.query.walk():
            self._node(node)
        for item in self.query.selects if isinstance(self.query, exp.Select) else ():
            place = (relation.lower(), item.output_name.lower())
            for passed in self._passes_on(item.unalias()):
                self.uses.link(place, self._place(passed))
        where = self.query.args.get("where")
        if where is not None:
            self._hint(where.this, Rank.TRUTH, "BOOLEAN")

    def read_window(self, view: CreateView) -> None:
        """The times of a join's window are timestamps. A later rule reports errors in the condition."""
        try:
            condition = read_join(self.uses.program, view).condition
        except DovetailError:
            return
        for time in filter(None, (condition.left_time, condition.right_time)):
            self._hint(time, Rank.WINDOW_TIME, "TIMESTAMP")

    def _node(self, node: exp.Expr) -> None:
        if isinstance(node, ARITHMETIC):
            timed = isinstance(node.this, exp.Interval) or isinstance(node.expression, exp.Interval)
            rank, type_ = (Rank.WINDOW_TIME, "TIMESTAMP") if timed else (Rank.NUMBER, "DOUBLE")
            for operand in (node.this, node.expression):
                self._hint(operand, rank, type_)
        elif isinstance(node, exp.Neg):
            self._hint(node.this, Rank.NUMBER, "DOUBLE")
        elif isinstance(node, _COMPARED):
            self._same([node.this, node.expression])
        elif isinstance(node, exp.Between):
            self._same([node.this, node.args["low"], node.args["high"]])
        elif isinstance(node, exp.In):
            self._same([node.this, *node.expressions])
        elif isinstance(node, _TEXT):
            for operand in (node.this, node.expression):
                self._hint(operand, Rank.ARGUMENT, "STRING")
        elif isinstance(node, (exp.Trim, exp.Substring)):
            self._hint(node.this, Rank.ARGUMENT, "STRING")
        elif isinstance(node, (exp.Connector, exp.Not)):
            for operand in node.iter_expressions():
                self._hint(operand, Rank.TRUTH, "BOOLEAN")
        elif isinstance(node, exp.If):
            self._hint(node.this, Rank.TRUTH, "BOOLEAN")
        elif function_name(node):
            self._arguments(node)

    def _arguments(self, node: exp.Expr) -> None:
        name, given = str(function_name(node)), arguments(node)
        if name in SAME_TYPE:
            self._same(given)
            return
        own = self.uses.program.function(name)
        wanted = ARGUMENT_TYPES.get(name) if own is None else tuple(kind for _, kind in own.parameters)
        types = (wanted,) * len(given) if isinstance(wanted, str) else wanted or ()
        for argument, type_ in zip(given, types, strict=False):
            if type_ is not None:
                bare = argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
                self._hint(bare, Rank.NUMBER if type_ in ("DOUBLE", "BIGINT") else Rank.ARGUMENT, type_)

    def _same(self, nodes: list[exp.Expr]) -> None:
        """All have one type: columns are linked, and other expressions give hints."""
        bare = [self._without_intervals(node) for node in nodes]
        places = [self._place(node) for node in bare]
        columns = [place for place in places if place is not None]
        if not columns:
            return
        for other in columns[1:]:
            self.uses.link(columns[0], other)
        for node, place in zip(bare, places, strict=True):
            type_ = None if place else type_of(node, self._known)
            if type_:
                wide = {"INT": "BIGINT"}.get(type_, "DOUBLE" if type_.startswith("DECIMAL") else type_)
                self.uses.hint(columns[0], Rank.LITERAL, wide)

    def _known(self, column: exp.Column) -> str | None:
        place = self.place_of(column)
        return self.uses.types.get(place) if place else None

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
        node = node.unnest()
        if isinstance(node, exp.Column):
            yield node
        elif function_name(node) in SAME_TYPE:
            yield from (argument for argument in arguments(node) if isinstance(argument, exp.Column))

    def _place(self, node: exp.Expr) -> Place | None:
        node = node.unnest()
        if isinstance(node, exp.Case) and len(node.args["ifs"]) == 1 and not node.args.get("default"):
            node = node.args["ifs"][0].args["true"]  # the value, or NULL
        return self.place_of(node) if isinstance(node, exp.Column) else None

    def _hint(self, node: exp.Expr, rank: Rank, type_: str) -> None:
        place = self._place(node)
        if place is not None:
            self.uses.hint(place, rank, type_)
