"""Bands among conditions, in any spelling: bounds on the difference of a left and a right sum.

    abs(l.x - r.a) <= 10        l.x BETWEEN r.a - 10 AND r.a + 10        l.x - r.a < 10 AND r.a - l.x < 10

Every comparison is brought into the form `sum of left terms - sum of right terms >= low` or `<= high`, with
all constants folded into the bound; those over the same terms are one band. A comparison is no band if a
term in it reads both sides (`l.x * r.a`), or if one side is not read.

A band is for an index: it finds candidates. The condition as it is spelled decides, except where a band
cannot differ from it (`largest_safe`, `has_double`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from dovetail.model.theta import Band, Bound, Constant, Expression, Operand, Operation

Node = TypeVar("Node")
Signed = tuple[int, Node]
Reads = str | None
"""left, right, both, or neither."""

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
DOUBLE_DOUBT, SINGLE_DOUBT = 2.0**-49, 2.0**-20
"""Relative to a number's size: more than rounding, in any spelling of a band, can be off."""


class Language(Protocol[Node]):
    """How conditions of one language are read."""

    def compared(self, node: Node) -> list[tuple[Node, Node, bool]]:
        """`big >= small` (or `>`, if strict), one or two of them; none if it is something else."""

    def absolute(self, node: Node) -> Node | None:
        """What `abs` is applied to; None if it is no such call."""

    def terms(self, node: Node, sign: int) -> list[Signed[Node]]:
        """A sum as signed terms."""

    def side(self, term: Node) -> Reads: ...

    def constant(self, term: Node) -> Fraction | None: ...

    def key(self, terms: Sequence[Signed[Node]]) -> Hashable:
        """The same for the same sum."""


@dataclass(frozen=True)
class FoundBand(Generic[Node]):
    """`spelled`: the conditions that say it."""

    left: tuple[Signed[Node], ...]
    right: tuple[Signed[Node], ...]
    low: Bound | None
    high: Bound | None
    spelled: tuple[Node, ...]


def bands_in(
    conditions: Sequence[Node], language: Language[Node], fits: Callable[[Node], bool] = lambda _: True
) -> tuple[list[FoundBand[Node]], list[Node]]:
    """The bands among conditions, one for each pair of sums, and the conditions that are none. `fits` says
    whether a term can be part of a band."""
    bands: dict[tuple[Hashable, Hashable], FoundBand[Node]] = {}
    rest = []
    for condition in conditions:
        found = [
            band
            for band in _bands(condition, language)
            if all(fits(term) for _, term in (*band.left, *band.right))
        ]
        if not found:
            rest.append(condition)
        for band in found:
            key = language.key(band.left), language.key(band.right)
            bands[key] = _both(bands[key], band) if key in bands else band
    return list(bands.values()), rest


def _bands(node: Node, language: Language[Node]) -> list[FoundBand[Node]]:
    """The bands of one condition: one or two, or none at all."""
    found: list[FoundBand[Node]] = []
    for big, small, strict in language.compared(node):
        inner = language.absolute(small)
        both_ways = inner is not None and language.constant(big) is not None
        for sign in (1, -1) if both_ways else (1,):  # inner <= big, and -inner <= big
            smaller = small if inner is None or not both_ways else inner
            band = _band(node, big, smaller, sign, strict, language)
            if band is None:
                return []
            found.append(band)
    return found


def _band(
    node: Node, big: Node, small: Node, sign: int, strict: bool, language: Language[Node]
) -> FoundBand[Node] | None:
    """`big - sign * small >= 0` as a band."""
    left: list[Signed[Node]] = []
    right: list[Signed[Node]] = []
    total, scale = Fraction(0), Fraction(0)
    for factor, term in [*language.terms(big, 1), *language.terms(small, -sign)]:
        side = language.side(term)
        if side == "left":
            left.append((factor, term))
        elif side == "right":
            right.append((factor, term))
        elif side is None and (value := language.constant(term)) is not None:
            total, scale = total + factor * value, scale + abs(value)
        else:
            return None
    if not left or not right:
        return None
    if left[0][0] > 0:  # left + right + total >= 0, so left - (-right) >= -total
        low = Bound(str(-total), strict, str(scale))
        return FoundBand(tuple(left), _flipped(right), low, None, (node,))
    high = Bound(str(total), strict, str(scale))
    return FoundBand(_flipped(left), tuple(right), None, high, (node,))


def _flipped(terms: Sequence[Signed[Node]]) -> tuple[Signed[Node], ...]:
    return tuple((-sign, term) for sign, term in terms)


def _both(first: FoundBand[Node], second: FoundBand[Node]) -> FoundBand[Node]:
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


class Trees:
    """Conditions as trees over operands and constants."""

    def compared(self, node: Expression) -> list[tuple[Expression, Expression, bool]]:
        if not isinstance(node, Operation):
            return []
        match node.name, node.arguments:
            case (">=" | ">") as name, (first, second):
                return [(first, second, name == ">")]
            case ("<=" | "<") as name, (first, second):
                return [(second, first, name == "<")]
            case "=", (first, second):
                return [(first, second, False), (second, first, False)]
        return []

    def absolute(self, node: Expression) -> Expression | None:
        return node.arguments[0] if isinstance(node, Operation) and node.name == "abs" else None

    def terms(self, node: Expression, sign: int) -> list[Signed[Expression]]:
        if isinstance(node, Operation) and node.name in ("+", "-", "neg"):
            *first, last = node.arguments
            last_sign = sign if node.name == "+" else -sign
            return [*(term for one in first for term in self.terms(one, sign)), *self.terms(last, last_sign)]
        return [(sign, node)]

    def side(self, term: Expression) -> Reads:
        if isinstance(term, Operand):
            return term.side
        return None if isinstance(term, Constant) else "both"

    def constant(self, term: Expression) -> Fraction | None:
        if not isinstance(term, Constant) or term.type not in ("int", "decimal", "double"):
            return None
        value = float(term.text) if term.type == "double" else 0.0
        if not math.isfinite(value):
            return None
        return Fraction(value) if term.type == "double" else Fraction(term.text)

    def key(self, terms: Sequence[Signed[Expression]]) -> Hashable:
        return tuple(terms)


def whole_bound(bound: Bound | None, *, up: bool) -> int | None:
    """The nearest whole number that a whole difference can be: bounds need not be whole."""
    if bound is None:
        return None
    value = Fraction(bound.value)
    if up:
        return math.floor(value) + 1 if bound.strict else math.ceil(value)
    return math.ceil(value) - 1 if bound.strict else math.floor(value)


def has_double(band: Band) -> bool:
    """Whether a condition of the band computes in floating point though its columns may be whole: then it is
    rounded, and the exact bound can differ from it."""
    return any(constant.type == "double" for spelled in band.spelled for constant in _constants(spelled))


def _constants(node: Expression) -> list[Constant]:
    if isinstance(node, Operation):
        return [constant for argument in node.arguments for constant in _constants(argument)]
    return [node] if isinstance(node, Constant) else []


def largest_safe(band: Band) -> int | None:
    """Columns of whole numbers up to this size cannot make a condition of the band leave 64 bits, in whatever
    order it adds them; None: no column can, as there is nothing to add."""
    if all(_only_compares(spelled) for spelled in band.spelled):
        return None
    scale = max(Fraction(bound.scale) for bound in (band.low, band.high) if bound is not None)
    return max(-1, (2**63 - 1 - math.ceil(scale)) // (len(band.left) + len(band.right)))


def _only_compares(node: Expression) -> bool:
    """Columns as they are, with nothing computed from them."""
    if not isinstance(node, Operation):
        return False
    if node.name == "and":
        return all(map(_only_compares, node.arguments))
    return node.name in COMPARISONS and all(isinstance(part, Operand) for part in node.arguments)
