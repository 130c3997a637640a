"""A predicate from its text: comparisons that bound one left column by one right column become ranges, the
rest stays text.

The text is a Python expression over `left.column` and `right.column`: `abs(left.x - right.a) <= 10 and left.y
> right.b`. Law: ranges and rest together are true for exactly the pairs for which the text is. A comparison
becomes a range if it can be written as `left - right` between constants, in whatever spelling: sums,
differences, `abs`, chains, either order.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.errors import SettingError
from dovetail.model.sliding import Predicate, Range

_FUNCTIONS = {"abs", "min", "max", "sqrt", "floor", "ceil", "exp", "log", "sin", "cos"}
_KNOWN = ", ".join(sorted(_FUNCTIONS))
_NODES = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Call,
    ast.IfExp,
    ast.Attribute,
    ast.Name,
    ast.Load,
    ast.Constant,
)
Number = float | int


class Column(NamedTuple):
    side: str  # left or right
    name: str


@dataclass(frozen=True)
class _Sum:
    """Columns, each so many times, and a constant."""

    columns: dict[Column, Number]
    constant: Number

    def plus(self, other: _Sum, times: Number) -> _Sum:
        columns = dict(self.columns)
        for column, factor in other.columns.items():
            columns[column] = columns.get(column, 0) + times * factor
        return _Sum({c: f for c, f in columns.items() if f != 0}, self.constant + times * other.constant)


def parsed(text: str) -> Predicate:
    """Ranges over the same two columns are made one where both bound it."""
    tree = _tree(text)
    ranges: dict[tuple[str, str], Range] = {}
    rest: list[str] = []
    for part in _conjuncts(tree.body):
        found = _ranges(part)
        if found is None:
            rest.append(ast.unparse(part))
            continue
        for one in found:
            key = (one.left, one.right)
            ranges[key] = _both(ranges[key], one) if key in ranges else one
    return Predicate(tuple(ranges.values()), " and ".join(f"({part})" for part in rest) or None)


def columns_of(text: str) -> list[Column]:
    """The columns an expression looks at, in the order in which they come."""
    seen: dict[Column, None] = {}
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            seen[Column(node.value.id, node.attr)] = None
    return sorted(seen)


def _tree(text: str) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise _refused(f"the predicate cannot be read: {error.msg}", text, error.offset) from error
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise _refused(f"{type(node).__name__} has no place in a predicate", text, _column(node))
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name not in _FUNCTIONS or node.keywords:
                raise _refused(f"{name} is no function here", text, _column(node))
        if isinstance(node, ast.Name) and node.id not in _FUNCTIONS | {"left", "right"}:
            raise _refused(f"{node.id} is neither left nor right", text, _column(node))
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("left", "right")
        ):
            raise _refused(f"{ast.unparse(node)} is no column", text, _column(node))
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | bool):
            raise _refused(f"{node.value!r} is no number", text, _column(node))
    return tree


def _column(node: ast.AST) -> int:
    return int(getattr(node, "col_offset", 0)) + 1


def _refused(what: str, text: str, column: int | None) -> SettingError:
    mark = " " * ((column or 1) - 1) + "^"
    return SettingError(
        what,
        where=f"column {column or 1} of\n    {text.strip()}\n    {mark}",
        expected=f"left.column, right.column, numbers, comparisons, and, or, not, {_KNOWN}",
        hint="write it like: abs(left.x - right.a) <= 10 and left.y < right.b",
    )


def _conjuncts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _conjuncts(value)]
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        operands = [node.left, *node.comparators]
        return [
            ast.Compare(operands[i], [operator], [operands[i + 1]]) for i, operator in enumerate(node.ops)
        ]
    return [node]


def _ranges(node: ast.expr) -> list[Range] | None:
    if not isinstance(node, ast.Compare):
        return None
    small, operator, large = node.left, node.ops[0], node.comparators[0]
    if isinstance(operator, ast.Gt | ast.GtE):
        small, large = large, small
    strict = isinstance(operator, ast.Lt | ast.Gt)
    if isinstance(operator, ast.Eq):
        below, above = _at_most(small, large, False), _at_most(large, small, False)
        return None if below is None or above is None else [_both(below, above)]
    if not isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return None
    if isinstance(small, ast.Call) and isinstance(small.func, ast.Name) and small.func.id == "abs":
        inner = small.args[0]
        below = _at_most(inner, large, strict)
        above = _at_most(ast.UnaryOp(ast.USub(), inner), large, strict)
        return None if below is None or above is None else [_both(below, above)]
    one = _at_most(small, large, strict)
    return None if one is None else [one]


def _at_most(small: ast.expr, large: ast.expr, strict: bool) -> Range | None:
    """`small <= large` as a range, if it is one: that is, `difference <= 0` with one column of each side."""
    left_sum, right_sum = _sum(small), _sum(large)
    if left_sum is None or right_sum is None:
        return None
    difference = left_sum.plus(right_sum, -1)
    lefts = [c for c in difference.columns if c.side == "left"]
    rights = [c for c in difference.columns if c.side == "right"]
    if len(lefts) != 1 or len(rights) != 1 or len(difference.columns) != 2:
        return None
    factor = difference.columns[lefts[0]]
    if factor not in (1, -1) or difference.columns[rights[0]] != -factor:
        return None
    if factor == 1:  # left - right + c <= 0
        return Range(lefts[0].name, rights[0].name, None, -difference.constant, high_open=strict)
    return Range(lefts[0].name, rights[0].name, difference.constant, None, low_open=strict)


def _sum(node: ast.expr) -> _Sum | None:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _Sum({}, value)
        case ast.Attribute(value=ast.Name(id=side), attr=name):
            return _Sum({Column(side, name): 1}, 0)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _sum(operand)
            return None if inner is None else _Sum({}, 0).plus(inner, -1)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _sum(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            first, second = _sum(left), _sum(right)
            if first is None or second is None:
                return None
            return first.plus(second, 1 if isinstance(operator, ast.Add) else -1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            first, second = _sum(left), _sum(right)
            if first is None or second is None or (first.columns and second.columns):
                return None
            times, factor = (second, first.constant) if not first.columns else (first, second.constant)
            return _Sum({}, 0).plus(times, factor)
    return None


def _both(one: Range, other: Range) -> Range:
    low, low_open = one.low, one.low_open
    if other.low is not None and (low is None or other.low > low or (other.low == low and other.low_open)):
        low, low_open = other.low, other.low_open
    high, high_open = one.high, one.high_open
    if other.high is not None and (
        high is None or other.high < high or (other.high == high and other.high_open)
    ):
        high, high_open = other.high, other.high_open
    return Range(one.left, one.right, low, high, low_open, high_open)
