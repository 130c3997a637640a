"""Types of the columns that a stage computes, as far as they are known without Spark.

A category keeps its rows, so a column of it may only become wider (`log/generations.py`). What the rules do
not know is found when the query is built, before anything is done.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from dovetail.changes.flat import OF_ALL
from dovetail.plan.dialect import PqlSpark
from dovetail.plan.functions import RETURNS, arguments, function_name
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, ScribeSink, Stage, WindowStage
from dovetail.plan.types import Environment, holds, type_of


def narrowed(
    plans: tuple[Plan, Plan],
    stages: tuple[Stage, Stage],
    column: tuple[str, str],
) -> tuple[str, str] | None:
    """The two types of a column, if its category has values that the second one does not hold. Each argument:
    before the change, and after it."""
    was, now = (_type(*one) for one in zip(plans, stages, column, strict=True))
    if (
        None in (was, now)
        or category_of(stages[0]) != category_of(stages[1])
        or category_of(stages[1]) is None
    ):
        return None
    return (str(was), str(now)) if holds(str(now), str(was)) is False else None


def category_of(stage: Stage) -> str | None:
    """Where its rows go, if that is the log."""
    return stage.output.category if isinstance(stage.output, CategoryOutput | ScribeSink) else None


def _type(plan: Plan, stage: Stage, sql: str) -> str | None:
    """`sql`: over the input, as `flat` has it, or the query of an aggregate."""
    tree = sqlglot.parse_one(f"SELECT {sql}", dialect=PqlSpark)
    returns = {function.shipped: function.returns for function in plan.functions}
    for call in tree.find_all(exp.Anonymous):
        if (name := function_name(call)) in returns:
            call.meta[RETURNS] = returns[name]
    (value,) = tree.expressions
    parts = arguments(value) if function_name(value) == OF_ALL.lower() else [value]
    types = {type_of(part, _environment(stage)) for part in parts}
    return types.pop() if len(types) == 1 else None


def _environment(stage: Stage) -> Environment:
    found: dict[tuple[str, str], set[str | None]] = {}
    if isinstance(stage, JoinStage):
        for one in stage.columns:
            found.setdefault((one.side, one.source.lower()), set()).add(one.type)
    elif isinstance(stage, WindowStage):
        found = {(stage.source_name, column.name.lower()): {column.type} for column in stage.columns}
        found |= {(stage.window_name, bound): {"TIMESTAMP"} for bound in ("start", "end")}
    else:
        for column in (column for table in stage.inputs for column in table.columns):
            found.setdefault(("", column.name.lower()), set()).add(column.type)

    def look_up(column: exp.Column) -> str | None:
        types = found.get((column.table, column.name.lower()), {None})
        return next(iter(types)) if len(types) == 1 else None

    return look_up
