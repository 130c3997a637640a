"""Conditions that the join evaluates itself: from SQL trees to `model/theta.py`.

Only what reads both sides must be known here. An expression over one side is one operand: Spark evaluates it
in that side's slicer, whatever it is, and `operands_out` puts a column in its place.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dovetail.model.share import Side
from dovetail.model.theta import OPERATIONS, Constant, Expression, Operand, Operation
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us
from dovetail.plan.tree import column, side_of, terms_of
from dovetail.plan.types import INTEGERS, TIMES, Environment, family, head, is_timestamp, type_of
from dovetail.predicates.source import Kind, can_compile

_BINARY: dict[type[exp.Expr], str] = {
    exp.And: "and",
    exp.Or: "or",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "concat",
}
_CALLED = {"pow": "power", "ceiling": "ceil", "nvl": "coalesce", "ifnull": "coalesce"}
FUNCTIONS = ("abs", "sqrt", "power", "floor", "ceil", "least", "greatest", "coalesce", "concat", "if")
"""Functions that may read both sides."""


class NotEvaluated(Exception):
    """The join cannot evaluate this expression."""


def expression_of(node: exp.Expr, side: Callable[[exp.Column], Side]) -> Expression:
    """The expression, with its columns as operands."""

    def made(name: str, *nodes: exp.Expr) -> Operation:
        return Operation(name, tuple(expression_of(part, side) for part in nodes))

    if isinstance(node, exp.Paren):
        return expression_of(node.this, side)
    if isinstance(node, exp.Column):
        return Operand(side(node), node.name)
    if isinstance(node, exp.Literal):
        return _literal(node)
    if isinstance(node, exp.Interval):
        try:
            return Constant("int", str(interval_us(node)))
        except NotAnInterval:
            raise NotEvaluated(str(node)) from None
    if isinstance(node, exp.Boolean):
        return Constant("boolean", str(bool(node.this)).lower())
    if isinstance(node, exp.Null):
        return Constant("null", "")
    if type(node) in _BINARY:
        return made(_BINARY[type(node)], node.this, node.expression)
    if isinstance(node, (exp.Not, exp.Neg)):
        return made("not" if isinstance(node, exp.Not) else "neg", node.this)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return made("is_null", node.this)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = made(">=", node.this, node.args["low"]), made("<=", node.this, node.args["high"])
        return Operation("and", (low, high))
    if isinstance(node, exp.In) and node.expressions:
        equal: Expression = made("=", node.this, node.expressions[0])
        for one in node.expressions[1:]:
            equal = Operation("or", (equal, made("=", node.this, one)))
        return equal
    if isinstance(node, exp.If):
        return made("case", node.this, node.args["true"], node.args.get("false") or exp.Null())
    if isinstance(node, exp.Case) and node.args.get("this") is None:
        branches = [part for one in node.args["ifs"] for part in (one.this, one.args["true"])]
        return made("case", *branches, node.args.get("default") or exp.Null())
    name = function_name(node)
    name = _CALLED.get(name or "", name)
    if name not in FUNCTIONS or name not in OPERATIONS:
        raise NotEvaluated(str(node))
    return made(name, *arguments(node))


def _literal(node: exp.Literal) -> Constant:
    text = str(node.this)
    if node.is_string:
        return Constant("string", text)
    if text.isdigit():
        if int(text) >= 2**63:
            raise NotEvaluated(str(node))
        return Constant("int", text)
    return Constant("double" if "e" in text.lower() else "decimal", text)


def operands_out(
    node: exp.Expr,
    names: tuple[str, str],
    environment: Environment,
    operand: Callable[[str, exp.Expr], exp.Expr],
) -> exp.Expr:
    """The condition with `operand(side, expression)` in place of whatever reads only one side.

    Constants that are added to numbers or times stay outside, because they only shift the bound of a band.
    """

    def replaced(part: exp.Expr) -> exp.Expr:
        side = side_of(part, *names)
        if side not in ("left", "right"):
            return part
        if isinstance(part, (exp.Add, exp.Sub, exp.Neg, exp.Paren)) and _shifted(part, names, environment):
            return part
        return operand(str(side), part.unnest())

    return node.copy().transform(replaced, copy=False)


def _shifted(node: exp.Expr, names: tuple[str, str], environment: Environment) -> bool:
    """A sum of numbers or times with a constant in it, or one with a minus sign."""
    terms = [term for _, term in terms_of(node, 1)]
    read = [term for term in terms if side_of(term, *names) is not None]
    types = [type_of(term, environment) for term in read]
    adds = all(type_ is None or family(type_) == "number" or is_timestamp(type_) for type_ in types)
    return adds and (len(read) < len(terms) or isinstance(node, exp.Neg))


_KINDS: dict[str, Kind] = {
    **dict.fromkeys((*INTEGERS, *TIMES), "int"),
    "DOUBLE": "double",
    "FLOAT": "float",
    "BOOLEAN": "bool",
}


def is_evaluated(condition: exp.Expr, names: tuple[str, str], environment: Environment) -> bool:
    """Whether the join can evaluate a condition itself."""
    try:
        tree = operands_out(condition, names, environment, lambda side, _: column("_on_0", side))
        expression_of(tree, _named_side)
    except NotEvaluated:
        return False
    return True


def is_compiled(condition: exp.Expr, names: tuple[str, str], environment: Environment) -> bool:
    """Whether a condition that the join evaluates will be compiled, judging by declared types. A condition
    over undeclared types counts as not compiled."""
    kinds: dict[Side, dict[str, Kind | None]] = {"left": {}, "right": {}}

    def operand(side: str, expression: exp.Expr) -> exp.Expr:
        of = kinds["left" if side == "left" else "right"]
        name = f"_on_{len(of)}"
        of[name] = _KINDS.get(head(type_of(expression, environment) or ""))
        return column(name, side)

    tree = operands_out(condition, names, environment, operand)
    return can_compile(expression_of(tree, _named_side), kinds)


def _named_side(of: exp.Column) -> Side:
    return "left" if of.table == "left" else "right"
