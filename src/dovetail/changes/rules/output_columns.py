"""What is computed after the join, and the columns and rows that a table gets: from the next batch on."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, named, part_of, view_of
from dovetail.changes.column_types import narrowed
from dovetail.changes.flat import Flat, flat
from dovetail.changes.own_terms import differing_filters, was_and_now
from dovetail.plan.physical import CategoryOutput, ConsoleSink, JoinStage, NoopSink, SlicerStage, Stage


def output_columns(between: Between, old: Stage, new: Stage) -> Stage:
    """For a stage whose rows nobody joins: a table, or a view that several tables read."""
    if not isinstance(old, SlicerStage | JoinStage) or not isinstance(new, SlicerStage | JoinStage):
        return old
    sides = {isinstance(output, CategoryOutput) and bool(output.time) for output in (old.output, new.output)}
    if sides == {True}:
        return old  # `side_columns`
    if sides == {True, False}:
        return _to_others(old, new)
    before, after = flat(old), flat(new)
    if before.whole or after.whole:
        if before.whole != after.whole:
            between.say(
                "output_columns", part_of(new), "kept", "the query", place=between.place_of(view_of(new))
            )
    else:
        _columns(between, old, new, before, after)
        _filters(between, new, before, after)
    kept = replace(old, views=new.views, select=new.select)
    if isinstance(kept, JoinStage) and isinstance(new, JoinStage):
        return replace(kept, columns=new.columns, source_name=new.source_name)
    return kept


def _to_others(old: SlicerStage | JoinStage, new: SlicerStage | JoinStage) -> SlicerStage | JoinStage:
    """The rows of a join go to a table, and went to another join alone, or the other way around. `tables`
    says which came and which went: each begins, or ends, with the change."""
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    return replace(old, views=new.views, select=new.select, columns=new.columns, source_name=new.source_name)


def _columns(
    between: Between,
    old: SlicerStage | JoinStage,
    new: SlicerStage | JoinStage,
    before: Flat,
    after: Flat,
) -> None:
    """A column of a join may get another type from below, and be written as before."""
    gone = [column for column in before.columns if column not in after.columns]
    come = [column for column in after.columns if column not in before.columns]
    view, part = view_of(new), part_of(new)
    renamed = {one: other for one in gone for other in come if before.columns[one] == after.columns[other]}
    for column in dict.fromkeys([*before.columns, *after.columns]):
        was, now = before.columns.get(column), after.columns.get(column)
        name = named(column) if isinstance(new.output, CategoryOutput) else column  # of a lookup's stream
        place, shown = between.place_of_column(name, view), was_and_now(between, new, was, now)
        types = None
        if was is not None and now is not None and (was != now or isinstance(new, JoinStage)):
            types = narrowed(between.plans, (old, new), (was, now))
        if types is not None:
            refuse_type(between, "output_columns", new, column, (was, now), types)
        elif column in renamed:
            new_place = between.place_of_column(renamed[column], view)
            between.say(
                "output_columns",
                part,
                "kept",
                f"column {column} is called {renamed[column]} now",
                place=new_place,
            )
        elif column in renamed.values() or was == now:
            continue
        elif was is None:
            between.say(
                "output_columns",
                part,
                "kept",
                f"new column {name}: {shown[1]}",
                flight=_earlier(new),
                place=place,
            )
        elif now is None:
            between.say("output_columns", part, "kept", f"column {name} is no longer written", place=place)
        else:
            what = f"column {name}: {shown[0]}, now {shown[1]}"
            between.say("output_columns", part, "kept", what, place=place)
    shared = [column for column in before.columns if column in after.columns]
    if not gone and not come and shared != [column for column in after.columns if column in before.columns]:
        between.say("output_columns", part, "kept", "the order of the columns", place=between.place_of(view))


def refuse_type(
    between: Between,
    rule: str,
    stage: Stage,
    column: str,
    sql: tuple[str | None, str | None],
    types: tuple[str, str],
    *,
    afresh: bool = False,
) -> None:
    """A column gets a type that does not hold all values that its category has. `afresh`: the category is
    that of a side, which is another one if the join begins afresh."""
    (was, now), name = types, named(column)
    before, after = map(named, was_and_now(between, stage, *sql))
    instead = f"write CAST({after} AS {was}) AS {name}, or give the column another name"
    between.say(
        rule,
        part_of(stage),
        "refused",
        f"column {name} is {now}, was {was}: {f'{before}, now {after}' if before != after else after}",
        flight=f"they have values that are no {now}",
        instead=f"{instead}; or start it with --reslice: then the join begins afresh" if afresh else instead,
        place=between.place_of_column(name, view_of(stage)),
        curable=afresh and between.reslice,
    )


def _earlier(stage: Stage) -> str | None:
    """Rows that were written before the change."""
    if isinstance(stage.output, ConsoleSink | NoopSink):
        return None
    return "rows that were written before the change have no such column"


def _filters(between: Between, stage: Stage, before: Flat, after: Flat) -> None:
    gone, come = differing_filters(between, stage, before.conditions, after.conditions)
    if gone or come:
        said = [*(f"no longer {one}" for one in gone), *(f"now also {one}" for one in come)]
        between.say(
            "output_columns",
            part_of(stage),
            "kept",
            f"filter: {'; '.join(said)}",
            place=between.place_of_filter(view_of(stage)),
        )
