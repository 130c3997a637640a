"""Spark's types: which exist, which can be equal, which hold all values of others, the common type of keys,
and types of expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dovetail.plan.dialect import PqlSpark
from dovetail.plan.functions import (
    ARGUMENT_IS_RESULT,
    RESULT_VARIES,
    RETURN_TYPES,
    RETURNS,
    SAME_TYPE,
    arguments,
    function_name,
)

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FLOATS = ("FLOAT", "DOUBLE")
TIMES = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP", "TIMESTAMP_LTZ")
SIMPLE = (*INTEGERS, *FLOATS, "DECIMAL", *TIMES, "STRING", "BOOLEAN", "BINARY", "VARCHAR", "CHAR", "VARIANT")
NESTED = ("ARRAY", "MAP", "STRUCT")
INCOMPARABLE = ("MAP", "VARIANT")
"""Spark has no equality and no hash for these."""
ALIASES = ("LONG", "INTEGER", "SHORT", "BYTE", "REAL", "DEC", "NUMERIC", "CHARACTER")
"""Other names of simple types in Spark's DDL."""

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
    """Values of one family can be equal. Values of two families need a cast."""
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
    """The type in which keys of both types hash and compare the same; None if they can never be equal."""
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


_WIDER = {
    "TINYINT": ("SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    "SMALLINT": ("INT", "BIGINT", "FLOAT", "DOUBLE"),
    "INT": ("BIGINT", "DOUBLE"),
    "FLOAT": ("DOUBLE",),
}
_WHOLE_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}


def holds(wide: str, type_: str) -> bool | None:
    """Whether a type holds every value of another, as it is, so that a column of the log may become of it
    (`log/schema.py`). None: that is not known of nested types."""
    heads = head(wide), head(type_)
    if wide == type_:
        return True
    if {*heads} & {*NESTED, "VARIANT", "INTERVAL"}:
        return None
    if {family(wide), family(type_)} == {"string"} or (is_timestamp(wide) and is_timestamp(type_)):
        return True
    if heads[0] != "DECIMAL":
        return heads[0] in _WIDER.get(heads[1], ())
    digits, scale = _decimal(wide)
    if heads[1] in _WHOLE_DIGITS:
        return digits - scale >= _WHOLE_DIGITS[heads[1]]
    if heads[1] != "DECIMAL":
        return False
    held, held_scale = _decimal(type_)
    return scale >= held_scale and digits - scale >= held - held_scale


Environment = Callable[[exp.Column], str | None]

_TRUTH = (
    exp.Connector,
    exp.Not,
    exp.Is,
    exp.In,
    exp.Between,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.Exists,
)
_COMPARISON = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)


def type_of(node: exp.Expr, environment: Environment) -> str | None:
    """The type of an expression, if it can be found without Spark."""
    if isinstance(node, (exp.Paren, exp.Alias, exp.Neg)):
        return type_of(node.this, environment)
    if isinstance(node, exp.Column):
        return environment(node)
    if isinstance(node, exp.Literal):
        return literal_type(node)
    if isinstance(node, (exp.Boolean, *_TRUTH, *_COMPARISON)):
        return "BOOLEAN"
    if isinstance(node, exp.TryCast):
        return str(node.args["to"].sql(dialect=PqlSpark, identify=False))
    if isinstance(node, exp.Trim):
        return "STRING"
    if isinstance(node, exp.Substring):
        return _text(type_of(node.this, environment))
    if isinstance(node, exp.DPipe):
        types = (type_of(operand, environment) for operand in (node.this, node.expression))
        return next((None for type_ in types if _text(type_) is None), "STRING")
    if isinstance(node, ARITHMETIC):
        return _arithmetic(node, environment)
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        return _one_type([*results, *filter(None, [node.args.get("default")])], environment)
    if isinstance(node, exp.If):
        return _one_type([node.args["true"], *filter(None, [node.args.get("false")])], environment)
    return _call(node, environment)


def literal_type(node: exp.Literal) -> str:
    if node.is_string:
        return "STRING"
    text = str(node.this)
    if text.isdigit():
        return "INT" if int(text[:11]) < 2**31 and len(text) < 11 else "BIGINT"
    return (
        "DOUBLE"
        if "e" in text.lower()
        else f"DECIMAL({max(1, len(text) - 1)}, {len(text.partition('.')[2])})"
    )


def _text(type_: str | None) -> str | None:
    """The type of a piece of a text, or of a text with more behind it. Bytes and arrays are no text."""
    return None if head(type_ or "") in ("BINARY", "ARRAY") else "STRING"


def _arithmetic(node: exp.Expr, environment: Environment) -> str | None:
    for interval, other in ((node.expression, node.this), (node.this, node.expression)):
        if isinstance(interval, exp.Interval):
            shifted = type_of(other, environment)
            return shifted if shifted is not None and is_timestamp(shifted) else None
    types = type_of(node.this, environment), type_of(node.expression, environment)
    heads = [head(t) if t else None for t in types]
    if heads == ["FLOAT", "FLOAT"] and not isinstance(node, exp.Div | exp.IntDiv):
        return "FLOAT"
    if any(name in FLOATS for name in heads):
        return "DOUBLE"
    if not all(name in INTEGERS for name in heads):
        return None
    if isinstance(node, exp.Div):
        return "DOUBLE"
    if isinstance(node, exp.IntDiv):
        return "BIGINT"
    return common_type(str(types[0]), str(types[1]))


def _one_type(nodes: list[exp.Expr], environment: Environment) -> str | None:
    """The common type of several expressions, if there is one. NULLs do not count."""
    types = {type_of(node, environment) for node in nodes if not isinstance(node, exp.Null)}
    return types.pop() if len(types) == 1 else None


def _call(node: exp.Expr, environment: Environment) -> str | None:
    name = function_name(node)
    if name is None:
        return None
    if RETURNS in node.meta:
        return str(node.meta[RETURNS])
    given = arguments(node)
    if name in RETURN_TYPES:
        first = type_of(given[0], environment) if given and name in RESULT_VARIES else RETURN_TYPES[name]
        return RETURN_TYPES[name] if first and head(first) not in RESULT_VARIES.get(name, ()) else None
    if name in SAME_TYPE:
        return type_of(given[0], environment) if name == "nullif" and given else _one_type(given, environment)
    if not given:
        return None
    first = type_of(given[0], environment)
    if name in ARGUMENT_IS_RESULT:
        return first
    if name in ("concat",) and first is not None and head(first) == "STRING":
        return "STRING"
    if name in ("sum", "try_sum") and first is not None:
        return "DOUBLE" if head(first) in FLOATS else "BIGINT" if head(first) in INTEGERS else None
    return None
