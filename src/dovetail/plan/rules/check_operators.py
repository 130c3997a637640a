"""Operands and conditions of types that Spark's analyzer would refuse: `WHERE k` of a STRING, `t + 1` of a
TIMESTAMP. Types are those that are declared or known from a source. Changes nothing.

An equality in a join's ON is left to `plan/joins/sides.py`, which asks more of keys than Spark does.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from dovetail.errors import PqlError
from dovetail.plan.problems import Problems
from dovetail.plan.scope import environment_of, is_simple, relation_types
from dovetail.plan.spark_operator_types import refuses_alone, refuses_between
from dovetail.plan.statements import CreateInput, Program
from dovetail.plan.types import TIMES, Environment, head, type_of

ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}
COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "="),
    exp.NullSafeEQ: ("<=>", "="),
    exp.LT: ("<", "<"),
    exp.LTE: ("<=", "<"),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<"),
}
"""As a comparison is written, and the one that refuses the same types."""


def check_operators(program: Program) -> Program:
    problems = Problems(program)
    types = relation_types(program)
    for statement in program:
        if isinstance(statement, CreateInput) or not is_simple(statement.query):
            continue  # in a query within another one, a name may be an inner column of another type
        environment = _beside_aliases(statement.query, environment_of(statement.query, types))
        for node in statement.query.walk():
            error = _refused(program, node, environment)
            if error is not None:
                problems.add(statement.name, error)
                break  # the operators around it are of no type
    problems.done()
    return program


def _beside_aliases(query: exp.Query, environment: Environment) -> Environment:
    """In HAVING and QUALIFY, the name of a column of the query means that column."""
    aliases = {item.alias.lower() for item in query.expressions if isinstance(item, exp.Alias)}

    def look_up(column: exp.Column) -> str | None:
        after = column.find_ancestor(exp.Having, exp.Qualify) is not None
        return None if after and column.name.lower() in aliases else environment(column)

    return look_up


def _refused(program: Program, node: exp.Expr, environment: Environment) -> PqlError | None:
    for form, operand in _alone(node):
        type_ = type_of(operand, environment)
        if type_ is not None and refuses_alone(form, type_):
            if form == "-":
                return program.error(f"`-` does not take {type_}", operand, expected="a number")
            return program.error(
                f"{form} needs a condition, and this is {type_}",
                operand,
                expected="BOOLEAN",
                hint="compare it with something",
            )
    for left, (written, operator), right in _between_two(node):
        first, second = type_of(left, environment), type_of(right, environment)
        if first is not None and second is not None and refuses_between(first, operator, second):
            return program.error(
                f"`{written}` does not take {first} and {second}", node, hint=_way_out(node, first, second)
            )
    return None


def _alone(node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    """The operands of a node that count by themselves, and in which form."""
    if isinstance(node, exp.Where) and isinstance(node.parent, exp.Select):
        yield "WHERE", node.this
    elif isinstance(node, exp.Having):
        yield "HAVING", node.this
    elif isinstance(node, exp.Not):
        yield "NOT", node.this
    elif isinstance(node, exp.Neg):
        yield "-", node.this
    elif isinstance(node, (exp.And, exp.Or)):
        form = "AND" if isinstance(node, exp.And) else "OR"
        yield from ((form, operand) for operand in (node.this, node.expression))
    elif isinstance(node, exp.Case) and node.this is None:
        yield from (("WHEN", branch.this) for branch in node.args["ifs"])


def _between_two(node: exp.Expr) -> Iterator[tuple[exp.Expr, tuple[str, str], exp.Expr]]:
    if type(node) in ARITHMETIC:
        operator = ARITHMETIC[type(node)]
        yield node.this, (operator, operator), node.expression
    elif type(node) in COMPARISONS and not _may_be_key(node):
        yield node.this, COMPARISONS[type(node)], node.expression
    elif isinstance(node, exp.Between):
        for bound in (node.args["low"], node.args["high"]):
            yield node.this, ("BETWEEN", "<"), bound


def _may_be_key(node: exp.Expr) -> bool:
    return isinstance(node, (exp.EQ, exp.NullSafeEQ)) and node.find_ancestor(exp.Join) is not None


def _way_out(node: exp.Expr, *types: str) -> str:
    if isinstance(node, (exp.Add, exp.Sub)) and any(head(type_) in TIMES for type_ in types):
        return "add an interval to a time: t + INTERVAL '1' HOUR"
    return "CAST one of them, so that both have types that the operator takes"
