"""Bands in the conditions of a PQL text (`predicates/bands.py`): how its expressions are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us
from dovetail.plan.tree import Signed, as_written, comparisons, side_of, terms_of
from dovetail.plan.types import Environment, family, type_of
from dovetail.predicates import bands
from dovetail.predicates.bands import Reads

FoundBand: TypeAlias = bands.FoundBand[exp.Expr]


def bands_in(
    conditions: Sequence[exp.Expr], names: tuple[str, str], environment: Environment
) -> tuple[list[FoundBand], list[exp.Expr]]:
    """The bands among conditions, one for each pair of sums, and the other conditions."""
    return bands.bands_in(conditions, _Pql(names), lambda term: _on_a_line(term, environment))


def _on_a_line(term: exp.Expr, environment: Environment) -> bool:
    """A number or a time, as far as its type is known."""
    type_ = type_of(term, environment)
    return type_ is None or family(type_) in ("number", "time")


def sum_words(terms: Sequence[Signed]) -> str:
    """`x - y`, as it would be written."""
    words = ""
    for sign, term in terms:
        text = as_written(term)
        words += f" {'+' if sign > 0 else '-'} {text}" if words else f"{'' if sign > 0 else '-'}{text}"
    return words


def constant(node: exp.Expr) -> Fraction | None:
    """The exact value of a number, an interval (in microseconds), or a sum or product of such."""
    if isinstance(node, exp.Paren):
        return constant(node.this)
    if isinstance(node, exp.Neg):
        value = constant(node.this)
        return None if value is None else -value
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        first, second = constant(node.this), constant(node.expression)
        if first is None or second is None:
            return None
        if isinstance(node, exp.Mul):
            return first * second
        return first + second if isinstance(node, exp.Add) else first - second
    try:
        if isinstance(node, exp.Interval):
            return Fraction(interval_us(node))
        if isinstance(node, exp.Literal) and not node.is_string:
            return Fraction(str(node.this))
    except (NotAnInterval, ValueError):
        return None
    return None


@dataclass(frozen=True)
class _Pql:
    names: tuple[str, str]

    def compared(self, node: exp.Expr) -> list[tuple[exp.Expr, exp.Expr, bool]]:
        return list(comparisons(node.unnest(), equal=True))

    def absolute(self, node: exp.Expr) -> exp.Expr | None:
        node = node.unnest()
        return arguments(node)[0] if function_name(node) == "abs" and len(arguments(node)) == 1 else None

    def terms(self, node: exp.Expr, sign: int) -> list[Signed]:
        return terms_of(node, sign)

    def side(self, term: exp.Expr) -> Reads:
        return side_of(term, *self.names)

    def constant(self, term: exp.Expr) -> Fraction | None:
        return constant(term)

    def key(self, terms: Sequence[Signed]) -> str:
        return sum_words(terms)
