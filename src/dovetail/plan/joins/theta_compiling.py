"""Which conditions of a theta join will be compiled, told from the types that its tables declare."""

from __future__ import annotations

from sqlglot import exp

from dovetail.joins.theta.source import Kind, can_compile
from dovetail.model.share import Side
from dovetail.plan.expression_types import Environment, type_of
from dovetail.plan.joins.expressions import expression_of, operands_out
from dovetail.plan.tree import column
from dovetail.plan.types import INTEGERS, TIMES, head

_KINDS: dict[str, Kind] = {
    **dict.fromkeys((*INTEGERS, *TIMES), "int"),
    "DOUBLE": "double",
    "FLOAT": "float",
    "BOOLEAN": "bool",
}


def is_compiled(condition: exp.Expr, names: tuple[str, str], environment: Environment) -> bool:
    """A condition that the join knows. What has a type that is not declared is not said to be."""
    kinds: dict[Side, dict[str, Kind | None]] = {"left": {}, "right": {}}

    def operand(side: str, expression: exp.Expr) -> exp.Expr:
        of = kinds["left" if side == "left" else "right"]
        name = f"_on_{len(of)}"
        of[name] = _KINDS.get(head(type_of(expression, environment) or ""))
        return column(name, side)

    tree = operands_out(condition, names, environment, operand)
    return can_compile(expression_of(tree, lambda of: "left" if of.table == "left" else "right"), kinds)
