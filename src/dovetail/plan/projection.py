"""Slicers that only pick and rename columns of one input: these need no SQL engine.

Law: where `plain_projection` gives a mapping, the stage's rows are the input's rows, column by column, under
other names.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from dovetail.plan.physical import SlicerStage


def plain_projection(stage: SlicerStage) -> dict[str, str] | None:
    """Output column -> input column, in output order; None if anything is computed, filtered or combined."""
    if len(stage.inputs) != 1 or stage.watermark is not None:
        return None
    table = stage.inputs[0]
    known: dict[str, dict[str, str]] = {
        table.name.lower(): {column.name.lower(): column.name for column in table.columns}
    }
    for name, sql in [*((view.name, view.sql) for view in stage.views), ("", stage.select)]:
        made = _renaming(sql, known)
        if made is None:
            return None
        known[name.lower()] = {output.lower(): source for output, source in made.items()}
    return made


def _renaming(sql: str, known: dict[str, dict[str, str]]) -> dict[str, str] | None:
    query = sqlglot.parse_one(sql, dialect="spark")
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
