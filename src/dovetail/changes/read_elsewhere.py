"""What other applications lose by a change: a column that they read, or all rows of a category.

A reader of the log hears nothing of it. It takes columns by name, and one that is no longer written is null
for it from then on (`log/generations.py`); of a category that nobody writes it waits for rows. Law: whoever
changes the query above hears of every application of the home that reads what goes, and can change it first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp

from dovetail.changes.between import part_of
from dovetail.changes.flat import flat
from dovetail.changes.leftovers import readers_elsewhere
from dovetail.changes.verdict import Change
from dovetail.errors import DovetailError
from dovetail.plan.application_file import read_application
from dovetail.plan.dialect import PqlSpark
from dovetail.plan.physical import InputTable, Plan, ScribeSink, ScribeSource, SlicerStage, Stage


def lost_to_readers(home: str, old: Plan, new: Plan) -> list[Change]:
    """What to say about readers of categories that the new plan writes without some column, or not at all."""
    before, after = _written(old), _written(new)
    changed = {category for category, stage in before.items() if stage.select != _select(after.get(category))}
    if not changed:
        return []
    found: list[Change] = []
    for category, application in dict.fromkeys(readers_elsewhere(home, old.application, changed)):
        found += _said(home, application, category, before[category], after.get(category))
    return found


def _said(home: str, application: str, category: str, was: Stage, now: Stage | None) -> Iterator[Change]:
    first = f"change application {application} first"
    if now is None:
        yield Change(
            "readers",
            part_of(was),
            "kept",
            f"category {category} gets no more rows",
            flight=f"application {application} reads it, and will wait for rows that do not come",
            instead=f"keep a table that goes to category {category}, or {first}",
        )
        return
    gone = _gone(_columns(was), _columns(now))
    read = _read_by(home, application, category, gone)
    for column in gone:
        if where := read.get(column):
            yield Change(
                "readers",
                part_of(now),
                "kept",
                f"column {column} is no longer in category {category}",
                flight=f"it is null from the change on for {', '.join(where)}",
                instead=f"keep {column}, or {first}",
            )


def _written(plan: Plan) -> Mapping[str, Stage]:
    """The tables of an application that go to the log, by category."""
    return {stage.output.category: stage for stage in plan.stages if isinstance(stage.output, ScribeSink)}


def _select(stage: Stage | None) -> str | None:
    return None if stage is None else stage.select


def _columns(stage: Stage) -> tuple[str, ...]:
    """Those of a table's rows; none, if only Spark knows them."""
    query = sqlglot.parse_one(stage.select, dialect=PqlSpark) if stage.select else None
    names = query.named_selects if isinstance(query, exp.Query) else []
    return () if "*" in names else tuple(names)


def _gone(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    there = {name.lower() for name in after}
    return tuple(name for name in before if name.lower() not in there) if after else ()


def _read_by(
    home: str, application: str, category: str, columns: tuple[str, ...]
) -> Mapping[str, tuple[str, ...]]:
    """By column, the stages of an application that take it from a category. One whose plan cannot be read is
    named as a whole."""
    try:
        plan = read_application(home, application)
    except DovetailError:
        return dict.fromkeys(columns, (f"application {application}",))
    reading = [
        (stage, table)
        for stage in plan.slicers
        for table in stage.inputs
        if table.source == ScribeSource(category)
    ]
    return {
        column: tuple(
            f"{part_of(stage)} of application {application}"
            for stage, table in reading
            if _takes(stage, table, column)
        )
        for column in columns
    }


def _takes(stage: SlicerStage, table: InputTable, column: str) -> bool:
    if column.lower() not in (one.name.lower() for one in table.columns):
        return False
    made = flat(stage)
    said = [*made.columns.values(), *made.conditions, *made.whole]
    return any(re.search(rf"\b{re.escape(column)}\b", sql, flags=re.IGNORECASE) for sql in said)
