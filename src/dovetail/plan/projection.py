"""Stages that only select and rename columns. They need no SQL engine.

Law: if `plain_projection` returns a mapping, the stage's rows are those it reads, with columns renamed by it.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from dovetail.plan.physical import JoinStage, SlicerStage


def plain_projection(stage: SlicerStage | JoinStage) -> dict[str, str] | None:
    """Output column -> input column, in output order; None if anything is computed, filtered or combined. The
    input of a join stage is the join's source."""
    if isinstance(stage, JoinStage):
        source, columns = stage.source_name, [column.name for column in stage.columns]
    elif len(stage.inputs) == 1:
        source, columns = stage.inputs[0].name, [column.name for column in stage.inputs[0].columns]
    else:
        return None
    known: dict[str, dict[str, str]] = {source.lower(): {name.lower(): name for name in columns}}
    for name, sql in [*((view.name, view.sql) for view in stage.views), ("", stage.select)]:
        made = _renaming(sql, known)
        if made is None:
            return None
        known[name.lower()] = {output.lower(): source for output, source in made.items()}
    return made


def _renaming(sql: str, known: dict[str, dict[str, str]]) -> dict[str, str] | None:
    try:
        query = sqlglot.parse_one(sql, dialect="spark")
    except sqlglot.ParseError:  # Spark will report it
        return None
    if not isinstance(query, exp.Select):
        return None
    parts = {name for name, value in query.args.items() if value}
    source = query.args.get("from_")
    if (
        not parts <= {"expressions", "from_", "kind"}
        or source is None
        or not isinstance(source.this, exp.Table)
    ):
        return None
    columns = known.get(source.this.name.lower())
    if columns is None or source.this.alias:
        return None
    made = {}
    for item in query.expressions:
        column = item.this if isinstance(item, exp.Alias) else item
        if not isinstance(column, exp.Column) or column.name.lower() not in columns:
            return None
        made[item.alias_or_name] = columns[column.name.lower()]
    return made if len(made) == len(query.expressions) else None
