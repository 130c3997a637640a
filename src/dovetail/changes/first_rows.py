"""Which rows a new table gets first, in words.

A query that has never run begins with what its source still has: all files of a folder, the commits of a
category that retention has left. Only a join that runs already, and whose rows were not stored, has nothing
to look back on."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.changes.between import Between, writer_of
from dovetail.changes.rules.sources import is_taken_in
from dovetail.plan.physical import (
    InputTable,
    JoinStage,
    Plan,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
)

ALL, STILL, SAID = (
    "it gets all that comes out of {}",
    "it begins with the rows that {} still {}",
    "where it begins, input {} says",
)
FROM_NOW = "it gets what comes out from the change on"


def first_rows(between: Between, stage: Stage) -> str:
    found: dict[str, list[str]] = {}
    for words, name in dict.fromkeys(_first(between, stage)):
        found.setdefault(words, []).append(name)
    said = [
        words.format(" and ".join(names), "have" if len(names) > 1 else "has")
        for words, names in found.items()
    ]
    return "; ".join(said) or FROM_NOW


def _first(between: Between, stage: Stage) -> Iterator[tuple[str, str]]:
    """Nothing of a stage that has rows only from the change on."""
    if isinstance(stage, JoinStage):
        if all(join.name != stage.name for join in between.old.joins):
            yield ALL, stage.name
    elif isinstance(stage, WindowStage):
        writer = writer_of(between.new, stage.rows)
        yield from () if writer is None else _first(between, writer)
    else:
        for table in stage.inputs:
            yield from _of_input(between, table)


def _of_input(between: Between, table: InputTable) -> Iterator[tuple[str, str]]:
    writer = _writer(between.new, table)
    if writer is not None and _writer(between.old, table) is None:
        if isinstance(writer, SlicerStage) and any(is_taken_in(one.source) for one in writer.inputs):
            yield SAID, table.name
        else:
            yield from _first(between, writer)
    else:
        yield STILL, table.name


def _writer(plan: Plan, table: InputTable) -> Stage | None:
    return writer_of(plan, table.source.category) if isinstance(table.source, ScribeSource) else None
