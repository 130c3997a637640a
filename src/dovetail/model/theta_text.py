"""A condition of a theta join as text, for people: `abs(l.x - r.a) <= 10`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dovetail.model.theta import Constant, Expression, Operand, Operation, Theta

_BETWEEN = frozenset(("and", "or", "=", "<>", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%"))
_LOOSE = frozenset(("and", "or"))


def conjuncts(theta: Theta) -> tuple[Expression, ...]:
    """The conditions that a pair must meet, one by one."""
    return tuple(part for condition in theta.conditions for part in _parts(condition))


def condition_text(node: Expression, names: Mapping[Operand, str]) -> str:
    """The condition as text. `names` has operands as the query wrote them; others become side.column."""
    if isinstance(node, Operand):
        return names.get(node, f"{node.side}.{node.column}")
    if isinstance(node, Constant):
        return f"'{node.text}'" if node.type == "string" else "NULL" if node.type == "null" else node.text
    said = [condition_text(argument, names) for argument in node.arguments]
    if node.name in _BETWEEN:
        return f" {node.name.upper()} ".join(
            f"({text})" if _binds_less(argument, node) else text
            for argument, text in zip(node.arguments, said, strict=True)
        )
    match node.name:
        case "neg":
            return f"-{said[0]}"
        case "not":
            return f"NOT ({said[0]})"
        case "is_null":
            return f"{said[0]} IS NULL"
    return f"{node.name}({', '.join(said)})"


def _parts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Operation) and condition.name == "and":
        for argument in condition.arguments:
            yield from _parts(argument)
    else:
        yield condition


def _binds_less(argument: Expression, of: Operation) -> bool:
    """Whether the argument needs brackets. Arithmetic in a comparison does not."""
    if not isinstance(argument, Operation) or argument.name not in _BETWEEN:
        return False
    return of.name not in _LOOSE and (argument.name in _LOOSE or of.name in "+-*/%")
