"""A predicate from its text: a Python expression over `left.column` and `right.column`, such as
`abs(left.x - right.a) <= 10 and left.y > right.b`.

Law: the conditions are all true for exactly the pairs for which the text is, as Python computes it but for
this: whole numbers have 64 bits, whole numbers beside floats are floats, and what cannot be computed (a sum
that leaves 64 bits, a division by zero) is null, and then nothing that needs it is true. Theta joins have the
same rule.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from typing import Any

from dovetail.errors import SettingError
from dovetail.model.sliding import Predicate
from dovetail.model.theta import Band, Constant, Expression, Operand, Operation, Term
from dovetail.predicates.bands import FoundBand, Trees, bands_in

_ONE = ("abs", "sqrt", "floor", "ceil", "exp", "log", "sin", "cos")
_FUNCTIONS = {*_ONE, "min", "max"}
_KNOWN = ", ".join(sorted(_FUNCTIONS))
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "=",
    ast.NotEq: "<>",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_BITS: dict[type[ast.operator], tuple[str, str]] = {  # of numbers, and of what is true or false
    ast.BitAnd: ("&", "and"),
    ast.BitOr: ("|", "or"),
    ast.BitXor: ("^", "<>"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("**", operator.pow),
}
_Nodes = tuple[type[ast.AST], ...]
_SIGNS: _Nodes = (ast.boolop, ast.Not, ast.USub, ast.UAdd, *_ARITHMETIC, *_BITS, *_COMPARISONS)
_LEAVES: _Nodes = (ast.Attribute, ast.Name, ast.Load, ast.Constant)
_BRANCHES: _Nodes = (ast.Expression, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.IfExp)
_MOST, _MOST_POWER = 2**63 - 1, 1024
_ZERO, _ONE_MORE = Constant("int", "0"), Constant("int", "1")


def parsed(text: str) -> Predicate:
    if not isinstance(text, str):
        raise SettingError(
            f"a predicate cannot be a {type(text).__name__}",
            where=f"on={text!r}",
            expected="a text over left.column and right.column",
            hint='on="abs(left.x - right.a) <= 10"',
        )
    tree = _tree(text)
    reader = _Reader(text)
    conditions = [reader.truth(part) for part in _conjuncts(tree.body)]
    found, rest = bands_in(conditions, Trees())
    simple = [band for band in found if _of_two_columns(band)]
    others = [node for band in found if band not in simple for node in band.spelled]
    return Predicate(tuple(map(_band, simple)), tuple(dict.fromkeys([*rest, *others])))


def _of_two_columns(band: FoundBand[Expression]) -> bool:
    return [sign for sign, _ in (*band.left, *band.right)] == [1, 1]


def _band(band: FoundBand[Expression]) -> Band:
    left, right = (
        tuple(Term(sign, term.column) for sign, term in terms if isinstance(term, Operand))
        for terms in (band.left, band.right)
    )
    return Band(left, right, band.low, band.high, band.spelled)


def _tree(text: str) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise _refused(f"the predicate cannot be read: {error.msg}", text, error.offset) from error
    for node in ast.walk(tree):
        if not isinstance(node, _BRANCHES + _SIGNS + _LEAVES):
            raise _refused(f"{type(node).__name__} has no place in a predicate", text, _column(node))
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name not in _FUNCTIONS or node.keywords:
                raise _refused(f"{name} is not a function here", text, _column(node))
            if name in _ONE and len(node.args) != 1:
                raise _refused(f"{name} takes 1 argument", text, _column(node))
            if name not in _ONE and len(node.args) < 2:
                raise _refused(f"{name} takes 2 arguments or more", text, _column(node))
        if isinstance(node, ast.Name) and node.id not in _FUNCTIONS | {"left", "right"}:
            raise _refused(f"{node.id} is neither left nor right", text, _column(node))
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("left", "right")
        ):
            raise _refused(f"{ast.unparse(node)} is not a column", text, _column(node))
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | bool):
            raise _refused(f"{node.value!r} is not a number", text, _column(node))
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
        return [ast.Compare(operands[n], [sign], [operands[n + 1]]) for n, sign in enumerate(node.ops)]
    return [node]


def _is_truth(node: ast.expr) -> bool:
    """Whether it is true or false, and no number."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=parts):
            return all(map(_is_truth, parts))
        case ast.IfExp(body=first, orelse=second):
            return _is_truth(first) and _is_truth(second)
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), left=first, right=second):
            return _is_truth(first) and _is_truth(second)
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


class _Reader:
    """Python's tree as ours. Where Python takes a number for true or false, or the other way round, ours says
    so."""

    def __init__(self, text: str) -> None:
        self._text = text

    def truth(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=bool() as value):
                return Constant("boolean", str(value).lower())
            case ast.BoolOp(op=joined, values=values):
                return _folded("and" if isinstance(joined, ast.And) else "or", map(self.truth, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Operation("not", (self.truth(operand),))
            case ast.Compare():
                return _folded("and", [self._compared(part) for part in _conjuncts(node)])
            case ast.IfExp(test=test, body=first, orelse=second):
                return Operation("case", (self.truth(test), self.truth(first), self.truth(second)))
            case ast.BinOp(left=first, op=sign, right=second) if _is_truth(node):
                return Operation(_BITS[type(sign)][1], (self.truth(first), self.truth(second)))
        return Operation("<>", (self.number(node), _ZERO))

    def _compared(self, node: ast.expr) -> Expression:
        assert isinstance(node, ast.Compare)
        sides = self.number(node.left), self.number(node.comparators[0])
        return Operation(_COMPARISONS[type(node.ops[0])], sides)

    def number(self, node: ast.expr) -> Expression:
        if _is_truth(node):
            return Operation("case", (self.truth(node), _ONE_MORE, _ZERO))
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._constant(value, node)
            case ast.Attribute(value=ast.Name(id="left"), attr=name):
                return Operand("left", name)
            case ast.Attribute(attr=name):
                return Operand("right", name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.number(operand)
                if isinstance(inner, Constant):
                    return self._constant(-_value(inner), node)
                return Operation("neg", (inner,))
            case ast.UnaryOp(operand=operand):
                return self.number(operand)
            case ast.BinOp(left=first, op=sign, right=second):
                return self._computed(node, sign, self.number(first), self.number(second))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _folded(name, map(self.number, arguments))
            case ast.IfExp(test=test, body=first, orelse=second):
                return Operation("case", (self.truth(test), self.number(first), self.number(second)))
            case ast.BoolOp(op=joined, values=[*earlier, last]):  # the first that decides is the value
                chosen = self.number(last)
                for part in reversed(earlier):
                    one, holds = self.number(part), self.truth(part)
                    both = (chosen, one) if isinstance(joined, ast.And) else (one, chosen)
                    chosen = Operation("case", (holds, *both))
                return chosen
        raise _refused(f"{ast.unparse(node)} is not a number", self._text, _column(node))

    def _computed(
        self, node: ast.expr, sign: ast.operator, first: Expression, second: Expression
    ) -> Expression:
        if type(sign) in _BITS:
            for side in (first, second):
                if isinstance(side, Constant) and side.type == "double":
                    raise _refused("bits are those of whole numbers", self._text, _column(node))
            return Operation(_BITS[type(sign)][0], (first, second))
        name, compute = _ARITHMETIC[type(sign)]
        if not (isinstance(first, Constant) and isinstance(second, Constant)):
            return Operation(name, (first, second))
        one, other = _value(first), _value(second)
        try:
            if name == "**" and abs(other) > _MOST_POWER:
                raise OverflowError
            return self._constant(compute(one, other), node)
        except (ArithmeticError, TypeError) as error:
            what = f"{ast.unparse(node)} cannot be computed in 64 bits"
            raise _refused(what, self._text, _column(node)) from error

    def _constant(self, value: float | int, node: ast.expr) -> Constant:
        if isinstance(value, float):
            return Constant("double", repr(value))
        if not isinstance(value, int) or abs(value) > _MOST:
            raise _refused(f"{ast.unparse(node)} does not fit 64 bits", self._text, _column(node))
        return Constant("int", str(int(value)))


def _folded(name: str, arguments: Iterable[Expression]) -> Expression:
    """An operation of one argument, or of two from the left on."""
    first, *others = arguments
    if name in _ONE:
        return Operation(name, (first,))
    for other in others:
        first = Operation(name, (first, other))
    return first


def _value(constant: Constant) -> float | int:
    return float(constant.text) if constant.type == "double" else int(constant.text)
