"""Spark's types: which exist, which can be equal, and the one type in which two keys are compared."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dovetail.plan.dialect import PqlSpark

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FLOATS = ("FLOAT", "DOUBLE")
TIMES = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP", "TIMESTAMP_LTZ")
SIMPLE = (*INTEGERS, *FLOATS, "DECIMAL", *TIMES, "STRING", "BOOLEAN", "BINARY", "VARCHAR", "CHAR", "VARIANT")
NESTED = ("ARRAY", "MAP", "STRUCT")
ALIASES = ("LONG", "INTEGER", "SHORT", "BYTE", "REAL", "DEC", "NUMERIC", "CHARACTER")
"""Other words for simple types that Spark's DDL takes."""

_ONE_TYPE = re.compile(r"\w+\s*([<(].*[>)])?\Z", re.S)
INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}


def spark_type(text: str) -> str | None:
    """The canonical spelling of a Spark type, or None if Spark has no such type."""
    first = head(text.strip())
    if first not in (*SIMPLE, *NESTED, *ALIASES, "INTERVAL"):
        return None
    if first != "INTERVAL" and not _ONE_TYPE.match(text.strip()):
        return None
    try:
        tree = exp.DataType.build(text, dialect=PqlSpark)
    except (SqlglotError, ValueError, AttributeError, RecursionError):
        return None
    rendered = tree.sql(dialect=PqlSpark, identify=False)
    return rendered if head(rendered) in (*SIMPLE, *NESTED, "INTERVAL") else None


def head(type_: str) -> str:
    """`DECIMAL(10, 2)` -> `DECIMAL`."""
    return re.split(r"[\s(<]", type_, maxsplit=1)[0].upper()


def family(type_: str) -> str:
    """Types of one family can be equal; types of two cannot without a cast."""
    name = head(type_)
    if name in INTEGERS or name in FLOATS or name == "DECIMAL":
        return "number"
    if name in TIMES:
        return "time"
    if name in ("STRING", "VARCHAR", "CHAR"):
        return "string"
    return name.lower()


def is_timestamp(type_: str) -> bool:
    return head(type_) in ("TIMESTAMP", "TIMESTAMP_LTZ")


def common_type(left: str, right: str) -> str | None:
    """The type in which keys of both types hash and compare alike; None if they can never be equal."""
    if left == right:
        return left
    kind = family(left)
    if kind != family(right):
        return None
    if kind == "number":
        return _common_number(left, right)
    if kind == "time":
        return "TIMESTAMP"
    if kind == "string":
        return "STRING"
    return left if left.upper() == right.upper() else None


def _common_number(left: str, right: str) -> str:
    heads = head(left), head(right)
    if any(name in FLOATS for name in heads):
        return "DOUBLE"
    if "DECIMAL" not in heads:
        return max(heads, key=INTEGERS.index)
    digits, scale = zip(_decimal(left), _decimal(right), strict=True)
    most_scale = max(scale)
    whole = max(d - s for d, s in zip(digits, scale, strict=True))
    return f"DECIMAL({min(38, whole + most_scale)}, {most_scale})"


def _decimal(type_: str) -> tuple[int, int]:
    if head(type_) in INTEGER_DIGITS:
        return INTEGER_DIGITS[head(type_)], 0
    numbers = [int(n) for n in re.findall(r"\d+", type_)]
    return (numbers[0] if numbers else 10, numbers[1] if len(numbers) > 1 else 0)
