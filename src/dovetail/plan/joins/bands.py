"""Bands in a join's conditions, in any spelling: bounds on the difference of a left and a right expression.

    abs(l.x - r.a) <= 10        l.x BETWEEN r.a - 10 AND r.a + 10        l.x - r.a < 10 AND r.a - l.x < 10

Every comparison is brought into the form `sum of left terms - sum of right terms >= low` or `<= high`, with
all constants folded into the bound. Comparisons over the same terms make one band. A comparison is not a
band if one of its terms reads both sides (`l.x * r.a`), or if none reads one of the sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from dovetail.model.theta import Bound
from dovetail.plan.dialect import pql_sql
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us
from dovetail.plan.tree import Signed, comparisons, side_of, terms_of
from dovetail.plan.types import Environment, family, type_of


@dataclass(frozen=True)
class FoundBand:
    """`spelled` are the conditions that it comes from."""

    left: tuple[Signed, ...]
    right: tuple[Signed, ...]
    low: Bound | None
    high: Bound | None
    spelled: tuple[exp.Expr, ...]

    @property
    def key(self) -> tuple[str, str]:
        return sum_words(self.left), sum_words(self.right)


def bands_in(
    conditions: Sequence[exp.Expr], names: tuple[str, str], environment: Environment
) -> tuple[list[FoundBand], list[exp.Expr]]:
    """The bands among conditions, one for each pair of sums, and the other conditions."""
    bands: dict[tuple[str, str], FoundBand] = {}
    rest = []
    for condition in conditions:
        found = [
            band
            for band in _bands(condition, names)
            if all(_on_a_line(term, environment) for _, term in (*band.left, *band.right))
        ]
        if not found:
            rest.append(condition)
        for band in found:
            known = bands.get(band.key)
            bands[band.key] = band if known is None else _both(known, band)
    return list(bands.values()), rest


def _on_a_line(term: exp.Expr, environment: Environment) -> bool:
    """A number or a time, as far as its type is known."""
    type_ = type_of(term, environment)
    return type_ is None or family(type_) in ("number", "time")


def sum_words(terms: Sequence[Signed]) -> str:
    """`x - y`, as it would be written."""
    words = ""
    for sign, term in terms:
        text = pql_sql(term)
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


def _bands(node: exp.Expr, names: tuple[str, str]) -> list[FoundBand]:
    """The bands in one condition: one or two, or none at all."""
    node = node.unnest()
    found: list[FoundBand] = []
    for big, small, strict in comparisons(node, equal=True):
        inner = _absolute(small)
        smaller = [small]
        if inner is not None and constant(big) is not None:  # both ways: inner <= big and -inner <= big
            smaller = [inner, exp.Neg(this=exp.Paren(this=inner.copy()))]
        for one in smaller:
            band = _band(node, big, one, strict, names)
            if band is None:
                return []
            found.append(band)
    return found


def _absolute(node: exp.Expr) -> exp.Expr | None:
    node = node.unnest()
    return arguments(node)[0] if function_name(node) == "abs" and len(arguments(node)) == 1 else None


def _band(
    node: exp.Expr, big: exp.Expr, small: exp.Expr, strict: bool, names: tuple[str, str]
) -> FoundBand | None:
    """`big - small >= 0` as a band."""
    sums: dict[str, list[Signed]] = {"left": [], "right": []}
    total, scale = Fraction(0), Fraction(0)
    for sign, term in [*terms_of(big, 1), *terms_of(small, -1)]:
        side = side_of(term, *names)
        if side is None:
            value = constant(term)
            if value is None:
                return None
            total, scale = total + sign * value, scale + abs(value)
        elif side == "both":
            return None
        else:
            sums[side].append((sign, term))
    left, right = sums["left"], sums["right"]
    if not left or not right:
        return None
    if left[0][0] > 0:  # left + right + total >= 0, so left - (-right) >= -total
        low = Bound(str(-total), strict, str(scale))
        return FoundBand(tuple(left), _flipped(right), low, None, (node,))
    high = Bound(str(total), strict, str(scale))
    return FoundBand(_flipped(left), tuple(right), None, high, (node,))


def _flipped(terms: Sequence[Signed]) -> tuple[Signed, ...]:
    return tuple((-sign, term) for sign, term in terms)


def _both(first: FoundBand, second: FoundBand) -> FoundBand:
    """The tighter bounds of two bands over the same terms."""
    lows = [band.low for band in (first, second) if band.low is not None]
    highs = [band.high for band in (first, second) if band.high is not None]
    spelled = list(first.spelled)
    spelled += [node for node in second.spelled if not any(node is other for other in spelled)]
    return replace(
        first,
        low=max(lows, key=lambda bound: (Fraction(bound.value), bound.strict), default=None),
        high=min(highs, key=lambda bound: (Fraction(bound.value), not bound.strict), default=None),
        spelled=tuple(spelled),
    )
