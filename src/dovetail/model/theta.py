"""What a theta join is asked to do: conditions over both rows' columns, and how much of each side is looked
at.

A condition is data: a tree over *operands* (columns that the slicers have written, each of one side) and
constants. Conditions that bound the difference of two numbers are *bands*: an index finds their pairs. All
others are looked at pair by pair, by whole columns.

A count window takes the place of the event-time window: when a row enters, it sees the last `left_rows` or
`right_rows` rows of the other side. Rows enter by commits, in the order that the offsets have recorded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dovetail.errors import PlanError
from dovetail.model.share import SIDES, Side

Order = Literal["none", "task", "step"]
"""`none`: rows come out as they are found. `task`: what a task puts out in a step is sorted by the arrival of
the later row. `step`: all of a step is; that takes one task."""

ConstantKind = Literal["int", "decimal", "double", "string", "boolean", "null"]


@dataclass(frozen=True)
class Operand:
    """A column of one side, as the slicer calls it."""

    side: Side
    column: str


@dataclass(frozen=True)
class Constant:
    """Times and intervals are `int`, in microseconds."""

    type: ConstantKind
    text: str


@dataclass(frozen=True)
class Operation:
    name: str
    arguments: tuple[Expression, ...]


Expression = Operand | Constant | Operation

OPERATIONS = frozenset(
    ("and", "or", "not", "=", "<>", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%", "neg", "is_null")
) | frozenset(("coalesce", "least", "greatest", "case", "abs", "sqrt", "power", "floor", "ceil", "concat"))
"""What the evaluator knows (`joins/theta/condition.py`)."""


@dataclass(frozen=True)
class Term:
    """A column in a sum: added (1) or taken away (-1)."""

    sign: int
    column: str


@dataclass(frozen=True)
class Bound:
    """An exact number, as text; `scale` is the sum of the constants it was folded from, without their signs:
    what rounding may have cost."""

    value: str
    strict: bool
    scale: str


@dataclass(frozen=True)
class Band:
    """`low <= sum of left terms - sum of right terms <= high`. `spelled`: the conditions it was read from,
    which decide where numbers are not whole."""

    left: tuple[Term, ...]
    right: tuple[Term, ...]
    low: Bound | None
    high: Bound | None
    spelled: tuple[Expression, ...]

    def terms(self, side: Side) -> tuple[Term, ...]:
        return self.left if side == "left" else self.right


@dataclass(frozen=True)
class CountWindow:
    left_rows: int
    right_rows: int

    def of(self, side: Side) -> int:
        return self.left_rows if side == "left" else self.right_rows


@dataclass(frozen=True)
class Theta:
    """`bands` and `rest` must all be true. `rows` None: the window is one of event time."""

    bands: tuple[Band, ...] = ()
    rest: tuple[Expression, ...] = ()
    rows: CountWindow | None = None
    order: Order = "none"

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise PlanError(f"unknown order {self.order!r}", expected=" | ".join(get_args(Order)))

    @property
    def conditions(self) -> tuple[Expression, ...]:
        return (*(spelled for band in self.bands for spelled in band.spelled), *self.rest)

    def columns(self, side: Side) -> tuple[str, ...]:
        """The operands of a side, each once."""
        named = [term.column for band in self.bands for term in band.terms(side)]
        for condition in self.conditions:
            named.extend(operand.column for operand in operands_in(condition) if operand.side == side)
        return tuple(dict.fromkeys(named))

    def to_json(self) -> dict[str, Any]:
        return {
            "bands": [
                {
                    "left": [[term.sign, term.column] for term in band.left],
                    "right": [[term.sign, term.column] for term in band.right],
                    "low": _bound_json(band.low),
                    "high": _bound_json(band.high),
                    "spelled": [expression_to_json(spelled) for spelled in band.spelled],
                }
                for band in self.bands
            ],
            "rest": [expression_to_json(condition) for condition in self.rest],
            "rows": [self.rows.left_rows, self.rows.right_rows] if self.rows else None,
            "order": self.order,
        }

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Theta:
        bands = tuple(
            Band(
                tuple(Term(*term) for term in band["left"]),
                tuple(Term(*term) for term in band["right"]),
                Bound(*band["low"]) if band["low"] else None,
                Bound(*band["high"]) if band["high"] else None,
                tuple(expression_from_json(spelled) for spelled in band["spelled"]),
            )
            for band in said["bands"]
        )
        rest = tuple(expression_from_json(condition) for condition in said["rest"])
        rows = CountWindow(*said["rows"]) if said["rows"] else None
        return cls(bands, rest, rows, said["order"])

    def __str__(self) -> str:
        return json.dumps(self.to_json())


def operands_in(expression: Expression) -> list[Operand]:
    if isinstance(expression, Operand):
        return [expression]
    if isinstance(expression, Constant):
        return []
    return [operand for argument in expression.arguments for operand in operands_in(argument)]


def dealt_sides(how: str, match: str) -> tuple[Side, ...]:
    """Whose rows are dealt out to the tasks by number; those of the other side go to every task.

    Where only pairs come out, both are: a pair meets where the row that came first is stored. Where a left
    row must decide (which partner, or that there is none), all its partners must come to one place.
    """
    return SIDES if (how, match) == ("inner", "all") else ("left",)


def _bound_json(bound: Bound | None) -> list[Any] | None:
    return [bound.value, bound.strict, bound.scale] if bound else None


def expression_to_json(expression: Expression) -> list[Any]:
    if isinstance(expression, Operand):
        return [expression.side, expression.column]
    if isinstance(expression, Constant):
        return ["constant", expression.type, expression.text]
    return ["apply", expression.name, *(expression_to_json(argument) for argument in expression.arguments)]


def expression_from_json(said: list[Any]) -> Expression:
    kind, *rest = said
    if kind == "constant":
        return Constant(*rest)
    if kind == "apply":
        return Operation(rest[0], tuple(expression_from_json(argument) for argument in rest[1:]))
    return Operand(kind, *rest)
