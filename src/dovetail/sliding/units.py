"""What times count. In a predicate, dates, timestamps and the like are the numbers that they are stored as: a
second of one column and a second of another are not the same number if one counts milliseconds.

Law: no condition that is accepted compares, adds or subtracts two times that count different things. What a
predicate multiplies or divides counts whatever it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from dovetail.errors import SettingError
from dovetail.model.sliding import Predicate
from dovetail.model.theta import Constant, Expression, Operand

_SUMS = frozenset(("+", "-", "min", "max", "neg", "abs"))
_ALIKE = _SUMS | frozenset(("=", "<>", "<", "<=", ">", ">="))
"""What needs two numbers of the same things; of these, what counts the same things itself."""
_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def counted(kind: pa.DataType) -> str | None:
    """What a column of times counts; None: it has other numbers, which count whatever they may."""
    if pa.types.is_date32(kind):
        return "days"
    if pa.types.is_date64(kind):
        return "milliseconds"
    return _NAMES.get(getattr(kind, "unit", ""))


def check_units(predicate: Predicate, schemas: Mapping[str, pa.Schema]) -> None:
    spelled = [condition for band in predicate.bands for condition in band.spelled]
    for condition in (*spelled, *predicate.rest):
        _check(condition, schemas)


def _check(expression: Expression, schemas: Mapping[str, pa.Schema]) -> tuple[str, str] | None:
    """A column whose times the expression counts, and what these are."""
    if isinstance(expression, Operand):
        schema, name = schemas[expression.side], expression.column
        unit = counted(schema.field(name).type) if name in schema.names else None
        return None if unit is None else (f"{expression.side}.{name}", unit)
    if isinstance(expression, Constant):
        return None
    found = [one for part in expression.arguments if (one := _check(part, schemas)) is not None]
    if expression.name in _ALIKE:
        _refuse_unlike(found, "on")
    return found[0] if found and expression.name in _SUMS else None


def check_alike(kinds: Mapping[str, pa.DataType], where: str) -> None:
    """Columns that are compared with each other, by their names."""
    _refuse_unlike([(name, unit) for name, kind in kinds.items() if (unit := counted(kind))], where)


def _refuse_unlike(found: Sequence[tuple[str, str]], where: str) -> None:
    for name, unit in found[1:]:
        if unit != found[0][1]:
            raise SettingError(
                f"{found[0][0]} counts {found[0][1]}, and {name} counts {unit}",
                where=where,
                expected="times of one unit",
                hint="cast one of the columns to the type of the other",
            )
