"""Keys and times as the slicers write them: one type for both sides of a key, a TIMESTAMP for the time."""

from __future__ import annotations

from sqlglot import exp

from dovetail.plan.dialect import cast_to, pql_sql
from dovetail.plan.expression_types import Environment, type_of
from dovetail.plan.joins.condition import JoinCondition
from dovetail.plan.statements import Program
from dovetail.plan.types import common_type, family, is_timestamp


def keys_of_one_type(
    program: Program, condition: JoinCondition, environment: Environment
) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """Keys hash alike only in one type: where the two sides' types differ, both are cast to the wider one."""
    left_keys, right_keys = [], []
    for left, right in zip(condition.left_keys, condition.right_keys, strict=True):
        types = type_of(left, environment), type_of(right, environment)
        if types[0] is not None and types[1] is not None and types[0] != types[1]:
            common = common_type(types[0], types[1])
            if common is None:
                raise program.plan_error(
                    f"the two sides of the key can never be equal: {pql_sql(left)} is {types[0]}, "
                    f"{pql_sql(right)} is {types[1]}",
                    right,
                    expected="types of one kind",
                    hint=f"cast one side: CAST({pql_sql(left)} AS {types[1]}) = {pql_sql(right)}",
                )
            left_keys.append(left if types[0] == common else cast_to(left, common))
            right_keys.append(right if types[1] == common else cast_to(right, common))
        else:
            left_keys.append(left)
            right_keys.append(right)
    return left_keys, right_keys


def time_as_timestamp(program: Program, time: exp.Expr, environment: Environment) -> exp.Expr:
    """The window's time expression, cast where its type is not known to be TIMESTAMP."""
    type_ = type_of(time, environment)
    if type_ is not None and is_timestamp(type_):
        return time
    if type_ is None or family(type_) in ("time", "string"):
        return cast_to(time, "TIMESTAMP")
    text = pql_sql(time)
    numeric = family(type_) == "number"
    raise program.plan_error(
        f"the window compares times, but {text} is {type_}",
        time,
        expected="a TIMESTAMP",
        hint=f"seconds since 1970 become a time with timestamp_seconds({text}), or with timestamp_millis"
        if numeric
        else f"write CAST({text} AS TIMESTAMP)",
    )
