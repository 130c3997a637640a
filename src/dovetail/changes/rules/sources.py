"""Where an input's rows come from, and their types.

How far a stage has read is known of its sources, one after the other. So a stage with one input may get
another source for it, under whatever name, if it is said where that begins; one with several must keep all.
"""

from __future__ import annotations

from dataclasses import replace

import sqlglot
from sqlglot import exp

from dovetail.changes.between import Between, NewSource, part_of, view_of
from dovetail.changes.flat import flat
from dovetail.changes.rules.identity import BESIDE
from dovetail.connectors.lake import ON_CHANGE, START
from dovetail.plan.dialect import PqlSpark, spark_sql
from dovetail.plan.kafka_options import FIELDS
from dovetail.plan.physical import (
    CategoryOutput,
    Column,
    FilesSource,
    InputTable,
    KafkaSource,
    LakeSource,
    Plan,
    ScribeSource,
    SlicerStage,
    Source,
    Stage,
)
from dovetail.plan.shared import joins_of
from dovetail.plan.types import holds


def sources(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, SlicerStage) or not isinstance(new, SlicerStage):
        return old
    if _others(between, old, new):
        return replace(old, inputs=new.inputs, views=new.views, select=new.select)
    read = _read(old)
    for was, table in same_inputs(old, new):
        if swapped(between.new.application, was, table):
            _swapped(between, old, new, was, table)
        elif was.source != table.source and not _own(between.new.application, table):
            between.say(
                "sources",
                part_of(new),
                "kept",
                f"input {table.name} is read from {_said(table)}, it was read from {_said(was)}",
                flight=f"{_kept_of(table.source)} that have been read are not read again",
                place=between.place_of(table.name),
            )
        if not _own(between.new.application, table):
            for column in table.columns:
                _typed(between, new, table, _column(was, column.name), column, read)
    return replace(_called_as(old, new), inputs=new.inputs)


def same_inputs(old: SlicerStage, new: SlicerStage) -> list[tuple[InputTable, InputTable]]:
    """The inputs that both versions of a stage have, by their names. A single one is the same, whatever it is
    called: its source may have changed."""
    if len(old.inputs) == len(new.inputs) == 1:
        return [(old.inputs[0], new.inputs[0])]
    before = {table.name.lower(): table for table in old.inputs}
    return [(was, now) for now in new.inputs if (was := before.get(now.name.lower())) is not None]


def swapped(application: str, was: InputTable, now: InputTable) -> bool:
    """Whether an input comes from another place. Which categories the application writes itself on the way
    is the planner's business, as long as they hold the same view."""
    own = _own(application, was) and _own(application, now)
    return _place(was) != _place(now) and not (own and was.name.lower() == now.name.lower())


def intake_of(plan: Plan, stage: SlicerStage, table: InputTable) -> SlicerStage | None:
    """The stage that takes an input into the log, if the input is a topic or a table of a lake."""
    if is_taken_in(table.source):
        return stage
    for other in plan.slicers:
        takes = any(is_taken_in(one.source) for one in other.inputs)
        if takes and table.source == ScribeSource(getattr(other.output, "category", "")):
            return other
    return None


def is_taken_in(source: Source) -> bool:
    return isinstance(source, KafkaSource | LakeSource)


def _place(table: InputTable) -> tuple[object, ...]:
    """Which rows come, and as what. How brokers are reached, and how fast a topic is read, may change: a
    topic of another cluster is found out by its id."""
    match table.source:
        case ScribeSource(category):
            return (category,)
        case FilesSource(path, form):
            return path, form
        case KafkaSource(topic, _, form, options):
            kept = [(name, value) for name, value in options if name in (*FIELDS, "times", "sep")]
            return "kafka", topic, form, *kept
        case LakeSource(lake, options):
            unread = (START.name, ON_CHANGE.name, "token")
            return "lake", lake, *((name, value) for name, value in options if name not in unread)


def _kept_of(source: Source) -> str:
    match source:
        case KafkaSource():
            return "records"
        case LakeSource():
            return "versions"
    return "files"


def _own(application: str, table: InputTable) -> bool:
    source = table.source
    return isinstance(source, ScribeSource) and source.category.startswith(f"{application}.")


def _swapped(
    between: Between, old: SlicerStage, stage: SlicerStage, was: InputTable, now: InputTable
) -> None:
    left, intake = intake_of(between.old, old, was), intake_of(between.new, stage, now)
    name = now.name if intake is None else intake.name
    before, after = (table if one is None else one.inputs[0] for one, table in ((left, was), (intake, now)))
    what = f"input {name} comes from {_said(after)}, it came from {_said(before)}"
    part, place = part_of(stage), between.place_of(name)
    views = any(_own(between.new.application, table) for table in (before, after))  # no source of its own
    if views:
        what = f"rows come from {_said(after)}, they came from {_said(before)}"
    alone = len(stage.inputs) == 1 and not views
    begins = between.begins(stage, NewSource(name, now, intake)) if alone else None
    if begins is not None:
        left_out = "what the old source has and was not read by then is left out; "
        flight = f"they stay; {'' if _same_topic(before, after) else left_out}the new one begins with "
        flight += begins.words
        joins = joins_of(between.new, getattr(stage.output, "category", ""))
        by = joins[0].name if joins else None
        cost = between.costs.source(now.source, begins.standing, by) if intake is None else None
        between.say("sources", part, "kept", what, flight=flight, cost=cost, place=place)
        return
    between.say(
        "sources",
        part,
        "refused",
        what,
        flight="how far it was read is known of the old source only",
        instead=_instead(name, after.source) if alone else _anew(stage),
        place=place,
    )


def _others(between: Between, old: SlicerStage, stage: SlicerStage) -> bool:
    """Whether a stage with several inputs does not have them all any more, in their order. How far they were
    read is known of the first, the second, and so on."""
    was, now = ([table.name for table in one.inputs] for one in (old, stage))
    if max(len(was), len(now)) < 2 or [one.lower() for one in was] == [one.lower() for one in now]:
        return False
    between.say(
        "sources",
        part_of(stage),
        "refused",
        f"inputs {', '.join(now)}, they were {', '.join(was)}",
        flight="how far each was read is known of the old ones only, in their order",
        instead=_anew(stage),
        place=between.place_of(view_of(stage)),
    )
    return True


def _anew(stage: SlicerStage) -> str:
    """What else may be done where a stage cannot go on."""
    if isinstance(stage.output, CategoryOutput):
        return BESIDE
    return (
        f"give table {stage.name} a new name, and another place if it has one: then it is a new table, and "
        "the old one is removed"
    )


def _called_as(old: SlicerStage, new: SlicerStage) -> SlicerStage:
    """The old stage, in which its single input has the name that the new one gives to it."""
    if not len(old.inputs) == len(new.inputs) == 1:
        return old
    was, now = old.inputs[0].name, new.inputs[0].name
    if was == now:
        return old
    views = tuple(replace(view, sql=_renamed(view.sql, was, now)) for view in old.views)
    return replace(old, views=views, select=_renamed(old.select, was, now))


def _renamed(sql: str, was: str, now: str) -> str:
    if not sql:
        return sql
    tree = sqlglot.parse_one(sql, dialect=PqlSpark)
    for table in tree.find_all(exp.Table):
        if table.name.lower() == was.lower():
            table.set("this", exp.to_identifier(now, quoted=True))
    for column in tree.find_all(exp.Column):
        if column.table.lower() == was.lower():
            column.set("table", exp.to_identifier(now, quoted=True))
    return spark_sql(tree)


def _same_topic(was: InputTable, now: InputTable) -> bool:
    one, other = was.source, now.source
    return isinstance(one, KafkaSource) and isinstance(other, KafkaSource) and one.topic == other.topic


def _instead(name: str, source: Source) -> str:
    if isinstance(source, KafkaSource):
        return f'say where {name} begins, in the query: start = "latest", or earliest, a time, offsets'
    if isinstance(source, LakeSource):
        return f'say where {name} begins, in the query: start = "latest", or earliest, a version'
    return f"say where it begins: --from {name}=latest, or earliest, a commit number, a time"


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
    wider = bool(holds(str(now.type), str(was.type)))
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
        "under a new name; or start it with --reslice: then the join begins afresh",
        place=place,
        curable=wider or between.reslice,
    )


def _read(stage: SlicerStage) -> dict[str, str]:
    """What the stage makes of its input: a change of a type that nobody reads is none."""
    made = flat(stage)
    return {**made.columns, **{f"_where_{n}": sql for n, sql in enumerate((*made.conditions, *made.whole))}}


def _column(table: InputTable, name: str) -> Column | None:
    return next((column for column in table.columns if column.name.lower() == name.lower()), None)


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
        case LakeSource():
            return table.source.place
