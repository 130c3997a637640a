"""Fixed lengths of time: `INTERVAL '3 minutes'` and its other spellings, in microseconds and back."""

from __future__ import annotations

import re
from fractions import Fraction

from sqlglot import exp

UNIT_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
NOT_FIXED = ("month", "quarter", "year")
LONGEST_US = 3_650 * UNIT_US["day"]
SPELLINGS = "an interval such as INTERVAL '3 minutes', INTERVAL 90 SECONDS or INTERVAL '1 hour 30 minutes'"

_TERM = re.compile(r"\s*([+-]?)\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*")


class NotAnInterval(ValueError):
    """An expression is not a fixed length of time. The message says why, for people."""


def interval_us(node: exp.Expr) -> int:
    """The length of an interval expression: literals, sums, differences, and a leading minus."""
    if isinstance(node, exp.Paren):
        return interval_us(node.this)
    if isinstance(node, exp.Neg):
        return -interval_us(node.this)
    if isinstance(node, exp.Add):
        return interval_us(node.this) + interval_us(node.expression)
    if isinstance(node, exp.Sub):
        return interval_us(node.this) - interval_us(node.expression)
    if not isinstance(node, exp.Interval):
        raise NotAnInterval(f"{node.sql()[:60]} is not an interval")
    value, unit = node.this, node.args.get("unit")
    sign = 1
    while isinstance(value, (exp.Neg, exp.Paren)):
        sign = -sign if isinstance(value, exp.Neg) else sign
        value = value.this
    if not isinstance(value, exp.Literal) or isinstance(unit, exp.IntervalSpan):
        raise NotAnInterval("the interval is not a number with one unit, or text such as '1 hour 30 minutes'")
    text = f"{value.this} {unit.name}" if unit is not None else str(value.this)
    return sign * text_us(text)


def text_us(text: str) -> int:
    """Microseconds of `3 minutes`, `-1 hour 30 minutes`, ..."""
    total, at = Fraction(0), 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or len(term[2]) > 20:
            raise NotAnInterval(f"`{text[:40]}` is not a number and a unit")
        total += (-1 if term[1] == "-" else 1) * Fraction(term[2]) * _unit_us(term[3])
        at = term.end()
    if not text.strip():
        raise NotAnInterval("the interval is empty")
    if total.denominator != 1:
        raise NotAnInterval(f"`{text}` is not a whole number of microseconds")
    if abs(total) > LONGEST_US:
        raise NotAnInterval(f"`{text[:40]}` is longer than ten years")
    return int(total)


def _unit_us(word: str) -> int:
    unit = word.lower().removesuffix("s")
    if unit in NOT_FIXED:
        raise NotAnInterval(f"a {unit} has no fixed length; give the interval in days or shorter units")
    if unit not in UNIT_US:
        raise NotAnInterval(f"`{word[:20]}` is not a unit; units are {', '.join(UNIT_US)}")
    return UNIT_US[unit]


def words(us: int) -> str:
    """`90000000` -> `1 minute 30 seconds`, which `text_us` reads back."""
    if us == 0:
        return "0 seconds"
    parts, rest = [], abs(us)
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, rest = divmod(rest, UNIT_US[unit])
        if count:
            parts.append(f"{'-' if us < 0 else ''}{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts)


def interval_node(us: int) -> exp.Interval:
    """An interval literal of `us`, in the form in which sqlglot parses its own rendering."""
    text = words(us)
    parts = text.split()
    if len(parts) == 2:
        return exp.Interval(this=exp.Literal.string(parts[0]), unit=exp.Var(this=parts[1].upper()))
    return exp.Interval(this=exp.Literal.string(text))
