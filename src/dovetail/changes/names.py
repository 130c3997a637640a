"""Columns of a side keep the names that they have in the log.

The planner names a column by where it is evaluated: `cost` of a left join is `_l_cost` of a full join,
which computes with it later. Rows in flight are read by name, so a new plan calls a column of the same
value what the old one did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sqlglot
from sqlglot import exp

from dovetail.changes.flat import flat
from dovetail.plan.dialect import PqlSpark, spark_sql
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, SlicerStage, Stage, WindowStage
from dovetail.plan.promises import with_promises

Names = Mapping[str, str]
"""New name -> the name that it has in the log."""


def with_old_names(old: Plan, new: Plan) -> Plan:
    before = {stage.name: stage for stage in old.stages}
    names: dict[str, Names] = {}
    for stage in new.stages:
        known, output = before.get(stage.name), stage.output
        if isinstance(output, CategoryOutput) and output.time and known is not None:
            names[output.category] = _names(known, stage)
    if not any(names.values()):
        return new
    return with_promises(replace(new, stages=tuple(_renamed(stage, names) for stage in new.stages)))


def with_old_categories(old: Plan, new: Plan) -> Plan:
    """The sides of a join that has begun afresh are where the old plan has them."""
    before = {join.name: join for join in old.joins if join.begun > 1}
    places: dict[str, str] = {}
    for join in new.joins:
        if (known := before.get(join.name)) is not None:
            for was, now in ((known.left, join.left), (known.right, join.right)):
                if was == f"{now}.{known.begun}":
                    places[now] = was
    return with_categories(new, places)


def with_categories(plan: Plan, places: Mapping[str, str]) -> Plan:
    """The plan with other names for some of the categories that joins read."""

    def placed(stage: Stage) -> Stage:
        if isinstance(stage, JoinStage):
            left, right = (places.get(name, name) for name in (stage.left, stage.right))
            stage = replace(stage, left=left, right=right)
        if isinstance(stage.output, CategoryOutput) and stage.output.category in places:
            return replace(stage, output=replace(stage.output, category=places[stage.output.category]))
        return stage

    return replace(plan, stages=tuple(placed(stage) for stage in plan.stages)) if places else plan


def _names(old: Stage, new: Stage) -> Names:
    if isinstance(old, WindowStage) or isinstance(new, WindowStage):
        return {}
    if not new.select:  # the columns of a DataFrame have names of their own
        return {}
    before, after = flat(old).columns, flat(new).columns
    gone = {sql: name for name, sql in before.items() if name not in after}
    return {name: gone[sql] for name, sql in after.items() if name not in before and sql in gone}


def _renamed(stage: Stage, names: Mapping[str, Names]) -> Stage:
    if isinstance(stage, WindowStage):
        return stage
    own = names.get(stage.output.category, {}) if isinstance(stage.output, CategoryOutput) else {}
    select = _aliased(stage.select, own) if own else stage.select
    if isinstance(stage, SlicerStage):
        return replace(stage, select=select)
    sides = {"left": names.get(stage.left, {}), "right": names.get(stage.right, {})}
    columns = tuple(
        replace(column, source=sides.get(column.side, {}).get(column.source, column.source))
        for column in stage.columns
    )
    assert isinstance(stage, JoinStage)
    return replace(stage, select=select, columns=columns)


def _aliased(select: str, names: Names) -> str:
    query = sqlglot.parse_one(select, dialect=PqlSpark)
    assert isinstance(query, exp.Select)
    for item in query.expressions:
        if item.alias_or_name in names:
            value = item.this if isinstance(item, exp.Alias) else item.copy()
            alias = exp.to_identifier(names[item.alias_or_name], quoted=True)
            item.replace(exp.Alias(this=value.copy(), alias=alias))
    return spark_sql(query)
