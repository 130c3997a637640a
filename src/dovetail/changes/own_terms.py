"""Expressions as the query writes them: columns of a side under the name that the join gives to it."""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp

from dovetail.changes.between import Between, view_of
from dovetail.plan.aggregates import window_call
from dovetail.plan.dialect import PqlSpark, readable, spark_sql
from dovetail.plan.joins.columns import RESERVED_STARTS
from dovetail.plan.physical import JoinStage, ScribeSource, SlicerStage, Stage, WindowStage
from dovetail.plan.statements import Program

_OUTER = ("table", "db", "catalog")
"""Where a name goes that comes before one, two or three others."""


def was_and_now(between: Between, stage: Stage, was: str | None, now: str | None) -> tuple[str, str]:
    """What a column was before the change, and is after it."""
    old, new = between.old_text or between.new_text, between.new_text or between.old_text
    return _in_terms_of(old, stage, was), _in_terms_of(new, stage, now)


def differing_filters(
    between: Between, stage: Stage, before: tuple[str, ...], after: tuple[str, ...]
) -> tuple[list[str], list[str]]:
    """Conditions that are gone, and those that have come."""
    gone = [was_and_now(between, stage, one, None)[0] for one in before if one not in after]
    return gone, [was_and_now(between, stage, None, one)[1] for one in after if one not in before]


def _in_terms_of(program: Program | None, stage: Stage, sql: str | None) -> str:
    if sql is None:
        return "none"
    tree = sqlglot.parse_one(f"SELECT {sql}", dialect=PqlSpark)
    assert isinstance(tree, exp.Select)
    names = _names(program, view_of(stage))
    if isinstance(stage, JoinStage):
        tree = tree.transform(lambda node: _of_side(node, {**{"left": "left", "right": "right"}, **names}))
    elif isinstance(stage, SlicerStage) and (name := names.get(stage.name.rpartition(".")[2])):
        columns = {column.name.lower() for table in stage.inputs for column in table.columns}
        if _reads(program, stage):
            tree = tree.transform(lambda node: _called(node, name, columns))
    elif isinstance(stage, SlicerStage) and (found := _looked_up(program, stage)):
        tree = tree.transform(lambda node: _of_lookup(node, found))
    elif isinstance(stage, WindowStage):
        statement = program.get(stage.table) if program is not None else None
        call = window_call(statement) if statement is not None else None
        tree = tree.transform(lambda node: _of_window(node, stage, call))
    said = readable(spark_sql(tree)).removeprefix("SELECT ")
    return said.replace("`left`.", "left.").replace("`right`.", "right.")


def _names(program: Program | None, view: str) -> Mapping[str, str]:
    """By side, the name that a view's join gives to it."""
    query = getattr(program.get(view) if program is not None else None, "query", None)
    sides = [getattr(query, "args", {}).get("from_"), *(getattr(query, "args", {}).get("joins") or [])]
    if len(sides) != 2 or None in sides:
        return {}
    left, right = (side.this.alias_or_name for side in sides)
    return {"left": left, "right": right} if left and right else {}


def _reads(program: Program | None, stage: SlicerStage) -> bool:
    """Whether the join names the input itself, and no view of it, whose columns may be called otherwise."""
    side = stage.name.rpartition(".")[2]
    query = getattr(program.get(view_of(stage)) if program is not None else None, "query", None)
    args = getattr(query, "args", {})
    table = args["from_"].this if side == "left" else args["joins"][0].this
    return len(stage.inputs) == 1 and table.name.lower() == stage.inputs[0].name.lower()


def _of_side(node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    if isinstance(node, exp.Column) and len(node.parts) > 1 and node.parts[0].name in names:
        first, second = node.parts[:2]
        first.replace(exp.to_identifier(names[first.name], quoted=True))
        for start in RESERVED_STARTS[:2]:
            second.set("this", second.name.removeprefix(start))
    return node


def _looked_up(program: Program | None, stage: SlicerStage) -> Mapping[str, str]:
    """By the start of a column's name in a lookup's category, what the lookup calls the stream and the table.
    Empty: the stage reads no such category."""
    sources = [table.source for table in stage.inputs]
    if program is None or len(sources) != 1 or not isinstance(sources[0], ScribeSource):
        return {}
    application, _, view = sources[0].category.partition(".")
    names = _names(program, view) if application == program.application else {}
    return {f"_{side[0]}_": name for side, name in names.items()}


def _of_lookup(node: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    start = next((one for one in names if isinstance(node, exp.Column) and node.name.startswith(one)), None)
    if start is None:
        return node
    return exp.column(node.name.removeprefix(start), names[start], quoted=True)


def _of_window(node: exp.Expr, stage: WindowStage, call: exp.Expr | None) -> exp.Expr:
    """An aggregate reads one input alone, and its window under a name of its own."""
    if not isinstance(node, exp.Column):
        return node
    if call is not None and node.table == stage.window_name:
        return exp.Dot(this=call.copy(), expression=exp.to_identifier(node.name))
    return exp.column(node.name, quoted=True) if node.table == stage.source_name else node


def _called(node: exp.Expr, name: str, columns: set[str]) -> exp.Expr:
    parts = node.parts if isinstance(node, exp.Column) else []
    if parts and len(parts) <= len(_OUTER) and parts[0].name.lower() in columns:
        node.set(_OUTER[len(parts) - 1], exp.to_identifier(name, quoted=True))
    return node
