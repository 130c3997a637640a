"""Spark SQL that Arrow can compute exactly, compiled; anything else is left to Spark.

    compile_select("SELECT k, x + 1 AS y FROM t WHERE x > 0", {"t": schema}) -> Evaluation, or None

Law: types are those of Spark's analyzer. A caller compares them with the ones that it knows from Spark,
so that a rule missing here costs speed and never a row. Only what is always computed may fail: in a branch
that Spark may skip (CASE, COALESCE, the right of AND and OR) nothing is accepted that can.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import sqlglot
from sqlglot import exp

from dovetail.model.python_function import PythonFunction
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us
from dovetail.plan.physical import JoinStage, Relation, SlicerStage
from dovetail.slicing.evaluation import MOMENT, Call, Evaluation, Node, TypedColumn, TypedConstant

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_TYPES = {
    exp.DataType.Type.TINYINT: pa.int8(),
    exp.DataType.Type.SMALLINT: pa.int16(),
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.TEXT: pa.string(),
    exp.DataType.Type.BOOLEAN: pa.bool_(),
    exp.DataType.Type.DATE: pa.date32(),
    exp.DataType.Type.TIMESTAMP: MOMENT,
    exp.DataType.Type.TIMESTAMPTZ: MOMENT,
}
_COMPARED: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.EQ: ("equal", False),
    exp.NEQ: ("unequal", False),
    exp.LT: ("less", False),
    exp.GT: ("less", True),
    exp.LTE: ("less_or_equal", False),
    exp.GTE: ("less_or_equal", True),
    exp.NullSafeEQ: ("same", False),
}
_SUMS = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply"}
_UNITS = {
    "second": "second",
    "minute": "minute",
    "hour": "hour",
    "day": "day",
    "week": "week",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
}
_PARTS: dict[type[exp.Expr], str] = {
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
    exp.Year: "year",
    exp.Month: "month",
    exp.DayOfMonth: "day",
    exp.Day: "day",
}
_UNITS_US = {"timestamp_seconds": 1_000_000, "timestamp_millis": 1_000, "timestamp_micros": 1}
_SINCE: dict[type[exp.Expr], int] = {
    exp.UnixSeconds: 1_000_000,
    exp.UnixMillis: 1_000,
    exp.UnixMicros: 1,
}
_SINCE_US = {"unix_seconds": 1_000_000, "unix_millis": 1_000, "unix_micros": 1}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_PATTERN = re.compile(r"(%?)([^%_\\]*)(%?)")


class _LeftToSpark(Exception):
    """Not among what can be computed exactly."""


@dataclass(frozen=True)
class _Rows:
    """A relation: its columns by their names in lower case, over the first one's, and what holds for its
    rows."""

    columns: Mapping[str, Node]
    conditions: tuple[Node, ...] = ()


def evaluation_of(
    stage: SlicerStage | JoinStage,
    given: pa.Schema,
    *,
    ansi: bool = True,
    utc: bool = True,
    functions: Sequence[PythonFunction] = (),
) -> Evaluation | None:
    """What a stage computes from the rows that it reads, which have the columns `given`; None: Spark must.
    `functions`: those of the query, where they are to be called here. `utc`: times are seen in UTC."""
    if isinstance(stage, JoinStage):
        source = stage.source_name
    elif len(stage.inputs) == 1:
        source = stage.inputs[0].name
    else:
        return None
    return compile_select(
        stage.select, {source: given}, views=stage.views, ansi=ansi, utc=utc, functions=functions
    )


def compile_select(
    sql: str,
    relations: Mapping[str, pa.Schema],
    *,
    views: Sequence[Relation] = (),
    ansi: bool = True,
    utc: bool = True,
    functions: Sequence[PythonFunction] = (),
) -> Evaluation | None:
    """A query over one relation, directly or through views over it; None: Spark must compute it."""
    if any(len({name.lower() for name in schema.names}) < len(schema.names) for schema in relations.values()):
        return None
    known = {
        name.lower(): _Rows({field.name.lower(): TypedColumn(field.name, field.type) for field in schema})
        for name, schema in relations.items()
    }
    try:
        for view in (*views, Relation("", sql)):
            names, known[view.name.lower()] = _selected(view.sql, known, functions)
    except (_LeftToSpark, sqlglot.ParseError):  # Spark will report what is wrong
        return None
    made = known[""]
    columns = tuple((name, made.columns[name.lower()]) for name in names)
    nodes = [*made.conditions, *(node for _, node in columns)]
    if not columns or any(node.type == pa.null() for node in nodes):
        return None
    if not ansi and not all(node.total for node in nodes):
        return None
    if not utc and any(_in_a_zone(node) for node in nodes):
        return None
    return Evaluation(columns, made.conditions)


def with_column(sql: str, name: str, evaluation: Evaluation, *, ansi: bool = True) -> Evaluation | None:
    """The same with one more column in front: an expression over its columns."""
    rows = _Rows({column.lower(): node for column, node in evaluation.columns})
    try:
        node = _Compiler(rows, {""}).node(_parsed(sql))
    except (_LeftToSpark, sqlglot.ParseError):
        return None
    if node.type == pa.null() or not (ansi or node.total):
        return None
    return replace(evaluation, columns=((name, node), *evaluation.columns))


def _parsed(sql: str) -> exp.Expr:
    if "\\" in sql:  # escapes in texts mean many things
        raise _LeftToSpark
    return sqlglot.parse_one(sql, dialect="spark")


def _selected(
    sql: str, known: Mapping[str, _Rows], functions: Sequence[PythonFunction]
) -> tuple[list[str], _Rows]:
    query = _parsed(sql)
    if not isinstance(query, exp.Select):
        raise _LeftToSpark
    parts = {name for name, value in query.args.items() if value}
    source = query.args.get("from_")
    table = source.this if source is not None else None
    if not parts <= {"expressions", "from_", "kind", "where"} or not isinstance(table, exp.Table):
        raise _LeftToSpark
    below = known.get(table.name.lower())
    if below is None or table.db or {n for n, v in table.args.items() if v} - {"this", "alias"}:
        raise _LeftToSpark
    compiler = _Compiler(below, {"", table.alias_or_name.lower()}, functions)
    where = query.args.get("where")
    conditions = [compiler.condition(part) for part in _conjuncts(where.this)] if where is not None else []
    names = [item.alias_or_name for item in query.expressions]
    if len({name.lower() for name in names}) < len(names):
        raise _LeftToSpark
    made = {
        name.lower(): compiler.node(item.unalias())
        for name, item in zip(names, query.expressions, strict=True)
    }
    return names, _Rows(made, (*below.conditions, *conditions))


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Spark looks at them one after the other, and at none for a row that an earlier one has dropped."""
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    elif isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    else:
        yield node


class _Compiler:
    """Expressions over the columns of one relation."""

    def __init__(self, rows: _Rows, names: set[str], functions: Sequence[PythonFunction] = ()) -> None:
        self._rows, self._names = rows, names
        self._functions = {one.shipped: one for one in functions}

    def condition(self, node: exp.Expr) -> Node:
        return _of_type(self.node(node), pa.bool_())

    def node(self, node: exp.Expr) -> Node:
        match node:
            case exp.Paren():
                return self.node(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Null():
                return TypedConstant(None, pa.null())
            case exp.Boolean():
                return TypedConstant(bool(node.this), pa.bool_())
            case exp.Literal():
                return _literal(node)
            case exp.And() | exp.Or():
                word = "and" if isinstance(node, exp.And) else "or"
                one, other = self.condition(node.this), _total(self.condition(node.expression))
                return Call(word, (one, other), pa.bool_(), one.total)
            case exp.Not():
                return _call("not", [self.condition(node.this)], pa.bool_())
            case exp.Is() if isinstance(node.expression, exp.Null):
                return _call("is_null", [self.node(node.this)], pa.bool_())
            case exp.Neg():
                return self._signed("negate", node.this)
            case exp.Abs():
                return self._signed("absolute", node.this)
            case exp.Add() | exp.Sub() | exp.Mul():
                return self._sum(node)
            case exp.Div():
                pair = [_widened(one, pa.float64()) for one in self._pair(node.this, node.expression)]
                return Call("divide", tuple(pair), pa.float64(), False)
            case exp.Mod():
                pair = self._pair(node.this, node.expression)
                if pair[0].type not in _INTEGERS:
                    raise _LeftToSpark
                return Call("remainder", tuple(pair), pair[0].type, False)
            case exp.Between() if not node.args.get("symmetric"):
                value, low, high = (node.args[part] for part in ("this", "low", "high"))
                above = _compared("less_or_equal", *self._pair(low, value))
                below = _total(_compared("less_or_equal", *self._pair(value, high)))
                return Call("and", (above, below), pa.bool_(), above.total)
            case exp.In() if node.expressions and not node.args.get("query"):
                return self._member(node)
            case exp.Like():
                return self._like(node)
            case exp.Case() | exp.If():
                return self._case(node)
            case exp.Coalesce():
                parts = _alike([self.node(part) for part in arguments(node)])
                _all_total(parts[1:])
                return Call("coalesce", tuple(parts), parts[0].type, parts[0].total)
            case exp.Nullif():
                pair = [self.node(part) for part in (node.this, node.expression)]
                _compared("equal", *pair)
                if pair[0].type != pair[1].type:
                    raise _LeftToSpark
                return _call("null_if", pair, pair[0].type)
            case exp.Least() | exp.Greatest():
                parts = _alike([self.node(part) for part in arguments(node)])
                if parts[0].type not in (*_INTEGERS, pa.date32(), MOMENT) or len(parts) < 2:
                    raise _LeftToSpark
                return _call("least" if isinstance(node, exp.Least) else "greatest", parts, parts[0].type)
            case exp.Cast() | exp.TryCast():
                return self._cast(node)
        if (compared := _COMPARED.get(type(node))) is not None:
            word, turned = compared
            one, other = self._pair(node.this, node.expression)
            return _compared(word, other, one) if turned else _compared(word, one, other)
        return self._function(node)

    def _pair(self, *parts: exp.Expr) -> list[Node]:
        """Two operands in one type. A decimal constant beside a double becomes one."""
        plain = {part: self.node(part) for part in parts if _decimal(part) is None}
        doubles = any(node.type == pa.float64() for node in plain.values())
        return _alike([plain[part] if part in plain else _double(part, doubles) for part in parts])

    def _column(self, node: exp.Column) -> Node:
        found = self._rows.columns.get(node.name.lower())
        if found is None or node.table.lower() not in self._names or node.args.get("db"):
            raise _LeftToSpark
        return found

    def _signed(self, word: str, part: exp.Expr) -> Node:
        if word == "negate" and isinstance(part, exp.Literal) and not part.is_string:
            return _literal(part, negative=True)
        value = self.node(part)
        if value.type == pa.float64():
            return _call(f"{word}_floats", [value], value.type)
        if value.type not in _INTEGERS:
            raise _LeftToSpark
        return Call(word, (value,), value.type, False)

    def _sum(self, node: exp.Add | exp.Sub | exp.Mul) -> Node:
        if not isinstance(node, exp.Mul) and (moved := self._moved(node)) is not None:
            return moved
        word = _SUMS[type(node)]
        pair = self._pair(node.this, node.expression)
        if pair[0].type == pa.float64():
            return _call(f"{word}_floats", pair, pa.float64())
        if pair[0].type not in _INTEGERS:
            raise _LeftToSpark
        return Call(word, tuple(pair), pair[0].type, False)

    def _moved(self, node: exp.Add | exp.Sub) -> Node | None:
        """A timestamp plus or minus an interval of fixed length."""
        pairs = [(node.this, node.expression)]
        if isinstance(node, exp.Add):
            pairs.append((node.expression, node.this))
        for time, length in pairs:
            try:
                by_us = interval_us(length)
            except NotAnInterval:
                continue
            value = self.node(time)
            if value.type not in (MOMENT, pa.timestamp("us")):
                raise _LeftToSpark
            by_us = by_us if isinstance(node, exp.Add) else -by_us
            return Call("shifted", (value,), value.type, False, (by_us,))
        return None

    def _member(self, node: exp.In) -> Node:
        parts = _alike([self.node(part) for part in (node.this, *node.expressions)])
        plain = all(isinstance(part, TypedConstant) and part.value is not None for part in parts[1:])
        if not plain or pa.types.is_floating(parts[0].type):
            raise _LeftToSpark
        return _call("member", parts, pa.bool_())

    def _like(self, node: exp.Like) -> Node:
        text, pattern = self.node(node.this), node.expression
        if not isinstance(pattern, exp.Literal) or not pattern.is_string or text.type != pa.string():
            raise _LeftToSpark
        found = _PATTERN.fullmatch(pattern.this)
        if found is None or {name for name, value in node.args.items() if value} - {"this", "expression"}:
            raise _LeftToSpark
        before, part, after = found.groups()
        if not before and not after:
            return _compared("equal", text, TypedConstant(part, pa.string()))
        word = "contains" if before and after else "starts" if after else "ends"
        return Call(word, (text,), pa.bool_(), text.total, (part,))

    def _case(self, node: exp.Case | exp.If) -> Node:
        branches = node.args.get("ifs") or [node]
        otherwise = node.args.get("default") or node.args.get("false")
        values = [self.node(branch.args["true"]) for branch in branches]
        values.append(self.node(otherwise) if otherwise is not None else TypedConstant(None, pa.null()))
        values = _alike(values)
        subject = node.args.get("this") if isinstance(node, exp.Case) else None
        conditions = [
            self.condition(branch.this)
            if subject is None
            else _compared("equal", self.node(subject), self.node(branch.this))
            for branch in branches
        ]
        _all_total([*conditions[1:], *values])
        made = values[-1]
        for condition, value in reversed(list(zip(conditions, values[:-1], strict=True))):
            made = Call("chosen", (condition, value, made), value.type, condition.total)
        return made

    def _cast(self, node: exp.Cast | exp.TryCast) -> Node:
        kind = _TYPES.get(node.to.this)
        plain = {name for name, value in node.args.items() if value} <= {"this", "to"}
        if kind is None or not plain or node.to.expressions:
            raise _LeftToSpark
        if isinstance(node.this, exp.Literal) and node.this.is_string:
            return _time_literal(node.this.this, kind)
        if isinstance(node.this, exp.Literal) and kind == pa.float64():
            return TypedConstant(float(node.this.this), kind)
        return _widened(self.node(node.this), kind)

    def _function(self, node: exp.Expr) -> Node:
        if (part := _PARTS.get(type(node))) is not None:
            inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
            value = self.node(inner)
            if value.type != MOMENT and not (value.type == pa.date32() and part in ("year", "month", "day")):
                raise _LeftToSpark
            return Call("part", (value,), pa.int32(), value.total, (part,))
        if isinstance(node, exp.TimestampTrunc):
            unit, value = _UNITS.get(str(node.args["unit"].name).lower()), self.node(node.this)
            if unit is None or value.type != MOMENT:
                raise _LeftToSpark
            return Call("truncated", (value,), MOMENT, value.total, (unit,))
        if isinstance(node, exp.Length) and {n for n, v in node.args.items() if v} == {"this"}:
            return _call("length", [_of_type(self.node(node.this), pa.string())], pa.int32())
        if isinstance(node, exp.Trim) and {n for n, v in node.args.items() if v} == {"this"}:
            return _call("trimmed", [_of_type(self.node(node.this), pa.string())], pa.string())
        if isinstance(node, exp.Substring):
            return self._piece(node)
        if isinstance(node, exp.DPipe | exp.Concat):
            parts = [node.this, node.expression] if isinstance(node, exp.DPipe) else node.expressions
            return _call("joined", [_widened(self.node(part), pa.string()) for part in parts], pa.string())
        name = (function_name(node) or "").lower()
        given = arguments(node)
        if name in self._functions:
            return self._own(self._functions[name], given)
        if name in ("isnull", "isnotnull") and len(given) == 1:
            null = _call("is_null", [self.node(given[0])], pa.bool_())
            return null if name == "isnull" else _call("not", [null], pa.bool_())
        if name in _UNITS_US and len(given) == 1:
            value = self.node(given[0])
            if value.type not in _INTEGERS:
                raise _LeftToSpark
            return Call("moment", (value,), MOMENT, False, (_UNITS_US[name],))
        since = _SINCE.get(type(node)) or _SINCE_US.get(name)
        if since is not None and len(given) == 1:
            value = _of_type(self.node(given[0]), MOMENT)
            return Call("floor_by", (value,), pa.int64(), value.total, (since,))
        raise _LeftToSpark

    def _own(self, function: PythonFunction, given: list[exp.Expr]) -> Node:
        kinds = [_type_of(kind) for _, kind in function.parameters]
        parts = [_widened(self.node(part), kind) for part, kind in zip(given, kinds, strict=True)]
        return Call("python", tuple(parts), _type_of(function.returns), False, (function,))

    def _piece(self, node: exp.Substring) -> Node:
        text = _of_type(self.node(node.this), pa.string())
        bounds = [node.args.get("start"), node.args.get("length")]
        numbers = [int(b.this) for b in bounds if isinstance(b, exp.Literal) and str(b.this).isdigit()]
        if len(numbers) != 2 or numbers[0] < 1 or max(numbers) > 2**30:
            raise _LeftToSpark
        start = numbers[0] - 1
        return Call("piece", (text,), pa.string(), text.total, (start, start + numbers[1]))


def simple_type(ddl: str) -> pa.DataType | None:
    """The Arrow type of a Spark type that expressions are computed in here; None: none of these."""
    tree = exp.DataType.build(ddl, dialect="spark")
    return None if tree.expressions else _TYPES.get(tree.this)


def _type_of(ddl: str) -> pa.DataType:
    kind = simple_type(ddl)
    if kind is None:
        raise _LeftToSpark
    return kind


def _in_a_zone(node: Node) -> bool:
    """Whether a value depends on the time zone: parts of times, dates of times, and times in the text."""
    if isinstance(node, TypedConstant):
        return node.type == MOMENT and node.value is not None
    if not isinstance(node, Call):
        return False
    dated = node.function == "cast" and {node.type, node.arguments[0].type} == {MOMENT, pa.date32()}
    return dated or node.function in ("truncated", "part", "date") or any(map(_in_a_zone, node.arguments))


def _call(word: str, parts: Sequence[Node], kind: pa.DataType) -> Call:
    """A function that cannot fail by itself."""
    return Call(word, tuple(parts), kind, all(part.total for part in parts))


def _total(node: Node) -> Node:
    if not node.total:
        raise _LeftToSpark
    return node


def _all_total(nodes: Sequence[Node]) -> None:
    for node in nodes:
        _total(node)


def _of_type(node: Node, kind: pa.DataType) -> Node:
    if node.type != kind:
        raise _LeftToSpark
    return node


def _compared(word: str, one: Node, other: Node) -> Node:
    pair = _alike([one, other])
    kind = pair[0].type
    known = (*_INTEGERS, pa.float64(), pa.string(), pa.bool_(), pa.date32(), MOMENT, pa.timestamp("us"))
    if kind not in known:
        raise _LeftToSpark
    return _call(word, pair, pa.bool_())


def _alike(nodes: Sequence[Node]) -> list[Node]:
    """All in the type that Spark would compare or combine them in."""
    kinds = {node.type for node in nodes} - {pa.null()}
    if not kinds:
        raise _LeftToSpark
    if len(kinds) == 1:
        kind = kinds.pop()
    elif kinds <= set(_INTEGERS):
        kind = max(kinds, key=_INTEGERS.index)
    elif kinds <= {*_INTEGERS, pa.float64()}:
        kind = pa.float64()
    else:
        raise _LeftToSpark
    return [_widened(node, kind) for node in nodes]


def _decimal(node: exp.Expr) -> str | None:
    """The text of a decimal constant, which is no double in Spark: 1.5, -0.25."""
    if isinstance(node, exp.Paren):
        return _decimal(node.this)
    if isinstance(node, exp.Neg):
        text = _decimal(node.this)
        return None if text is None else f"-{text}"
    plain = isinstance(node, exp.Literal) and not node.is_string
    return str(node.this) if plain and re.fullmatch(r"\d*\.\d+|\d+\.", str(node.this)) else None


def _double(node: exp.Expr, beside_doubles: bool) -> TypedConstant:
    text = _decimal(node)
    if text is None or not beside_doubles:
        raise _LeftToSpark
    return TypedConstant(float(text), pa.float64())


def _widened(node: Node, kind: pa.DataType) -> Node:
    """A cast that no value can fail."""
    if node.type == kind:
        return node
    if isinstance(node, TypedConstant) and node.value is None:
        return TypedConstant(None, kind)
    integer = node.type in _INTEGERS
    if integer and kind in _INTEGERS and _INTEGERS.index(node.type) < _INTEGERS.index(kind):
        return _cast_to(node, kind)
    if integer and kind in (pa.float64(), pa.string()):
        return _cast_to(node, kind)
    if node.type == pa.bool_() and kind == pa.string():
        return _cast_to(node, kind)
    if node.type == MOMENT and kind == pa.date32():
        return _call("date", [node], kind)
    if node.type == pa.date32() and kind == MOMENT:
        return _cast_to(node, kind)
    raise _LeftToSpark


def _cast_to(node: Node, kind: pa.DataType) -> Call:
    return Call("cast", (node,), kind, node.total, (kind,))


def _literal(node: exp.Literal, *, negative: bool = False) -> TypedConstant:
    text = f"-{node.this}" if negative else str(node.this)
    if node.is_string:
        return TypedConstant(node.this, pa.string())
    if re.fullmatch(r"-?\d+", text):
        number = int(text)
        if -(2**31) < number < 2**31:
            return TypedConstant(number, pa.int32())
        if -(2**63) < number < 2**63:
            return TypedConstant(number, pa.int64())
    if "e" in text.lower():
        return TypedConstant(float(text), pa.float64())
    raise _LeftToSpark  # a decimal


def _time_literal(text: str, kind: pa.DataType) -> TypedConstant:
    if kind == pa.string():
        return TypedConstant(text, kind)
    try:
        if kind == pa.date32() and _DATE.fullmatch(text):
            return TypedConstant(datetime.date.fromisoformat(text), kind)
        if kind == MOMENT and (_TIME.fullmatch(text) or _DATE.fullmatch(text)):
            return TypedConstant(datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC), kind)
    except ValueError:  # no such day
        pass
    raise _LeftToSpark
