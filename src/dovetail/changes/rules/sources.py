"""Where an input's rows come from, and their types."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of
from dovetail.changes.flat import flat
from dovetail.changes.rules.identity import BESIDE
from dovetail.plan.kafka_options import FIELDS
from dovetail.plan.physical import (
    Column,
    FilesSource,
    InputTable,
    KafkaSource,
    ScribeSource,
    SlicerStage,
    Source,
    Stage,
)

_WIDER = {
    "TINYINT": ("SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    "SMALLINT": ("INT", "BIGINT", "FLOAT", "DOUBLE"),
    "INT": ("BIGINT", "DOUBLE"),
    "FLOAT": ("DOUBLE",),
}


def sources(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, SlicerStage) or not isinstance(new, SlicerStage):
        return old
    before = {table.name.lower(): table for table in old.inputs}
    read = _read(old)
    for table in new.inputs:
        was = before.get(table.name.lower())
        if was is None:
            continue
        own = _own(between, was), _own(between, table)
        if _place(was.source) != _place(table.source) and not all(own):
            _swapped(between, new, was, table)
        if not _own(between, table):
            for column in table.columns:
                _typed(between, new, table, _column(was, column.name), column, read)
    return replace(old, inputs=new.inputs)


def _own(between: Between, table: InputTable) -> bool:
    """A category that the application writes itself: who writes it is the planner's business."""
    source = table.source
    return isinstance(source, ScribeSource) and source.category.startswith(f"{between.new.application}.")


def _swapped(between: Between, stage: SlicerStage, was: InputTable, now: InputTable) -> None:
    between.say(
        "sources",
        part_of(stage),
        "refused",
        f"input {now.name} comes from {_said(now)}, it came from {_said(was)}",
        flight="how far it was read is known of the old source only",
        instead=BESIDE,
        place=between.place_of(now.name),
    )


def _typed(
    between: Between,
    stage: SlicerStage,
    table: InputTable,
    was: Column | None,
    now: Column,
    read: dict[str, str],
) -> None:
    if was is None or was.type == now.type or None in (was.type, now.type):
        return
    carried = [name for name, sql in read.items() if f"`{now.name}`".lower() in sql.lower()]
    if not carried:
        return
    place = between.place_of(table.name)
    what = f"column {now.name} of {table.name} is {now.type}, was {was.type}"
    wider = str(now.type) in _WIDER.get(str(was.type), ())
    if wider and not any(name.startswith("_key_") for name in carried):
        between.say("sources", part_of(stage), "kept", what, flight="they are widened", place=place)
        return
    between.say(
        "sources",
        part_of(stage),
        "refused",
        what,
        flight="keys are hashed by their type" if wider else "they have values that do not fit",
        instead=f"keep {was.type} here and write CAST({now.name} AS {now.type}) where it is selected, "
        "under a new "
        "name",
        place=place,
    )


def _read(stage: SlicerStage) -> dict[str, str]:
    """What the stage makes of its input: a change of a type that nobody reads is none."""
    made = flat(stage)
    return {**made.columns, **{f"_where_{n}": sql for n, sql in enumerate((*made.conditions, *made.whole))}}


def _column(table: InputTable, name: str) -> Column | None:
    return next((column for column in table.columns if column.name.lower() == name.lower()), None)


def _place(source: Source) -> Source:
    """Which rows come, and as what. How brokers are reached, and how fast a topic is read, may change: a
    topic of another cluster is found out by its id."""
    if not isinstance(source, KafkaSource):
        return source
    kept = tuple((name, value) for name, value in source.options if name in (*FIELDS, "times", "sep"))
    return KafkaSource(source.topic, "", source.format, kept)


def _said(table: InputTable) -> str:
    match table.source:
        case ScribeSource(category):
            return f"category {category}"
        case FilesSource(path, form, options):
            given = "".join(f", {name} = {value}" for name, value in options)
            return f"{form} files in {path}{given}"
        case KafkaSource(topic, brokers, form, options):
            given = "".join(f", {name} = {value}" for name, value in options)
            return f"topic {topic} at {brokers}, {form}{given}"
