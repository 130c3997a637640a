"""What a side carries: columns and expressions that are computed before the join, and its filter.

Categories evolve by name, so a column can come or go anywhere in the list. Rows that are in the log already
have the value that they were written with."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, named, part_of, view_of
from dovetail.changes.flat import Flat, flat
from dovetail.changes.rules.identity import BESIDE
from dovetail.plan.dialect import readable
from dovetail.plan.physical import CategoryOutput, JoinStage, SlicerStage, Stage


def side_columns(between: Between, old: Stage, new: Stage) -> Stage:
    """Of a stage that writes a side of a join, or the rows of an aggregate."""
    if not isinstance(old, SlicerStage | JoinStage) or not isinstance(new, SlicerStage | JoinStage):
        return old
    sided = isinstance(old.output, CategoryOutput) and isinstance(new.output, CategoryOutput)
    if not sided or getattr(old.output, "time", None) is None or getattr(new.output, "time", None) is None:
        return old
    before, after = flat(old), flat(new)
    if before.whole or after.whole:
        if before.whole != after.whole:
            between.say(
                "side_columns",
                part_of(new),
                "kept",
                "the query of the side",
                flight="they keep the values they were written with",
                place=between.place_of(view_of(new)),
            )
    else:
        _columns(between, new, before, after)
        _filters(between, new, before, after)
    kept = replace(old, views=new.views, select=new.select)
    if isinstance(kept, JoinStage) and isinstance(new, JoinStage):
        return replace(kept, columns=new.columns, source_name=new.source_name)
    return kept


def _columns(between: Between, stage: Stage, before: Flat, after: Flat) -> None:
    view = view_of(stage)
    for column in dict.fromkeys([*before.columns, *after.columns]):
        if column.startswith("_key_") or column == "_time":
            continue  # `identity` looks at these
        was, now = before.columns.get(column), after.columns.get(column)
        if was == now:
            continue
        name, place = named(column), between.place_of_column(named(column), view)
        if column.startswith("_on_") and was is not None:
            between.say(
                "side_columns",
                part_of(stage),
                "refused",
                f"what the condition of the join compares: {_sql(was)}, now {_sql(now)}",
                flight="they carry the old one",
                instead=BESIDE,
                place=between.place_of_join(view),
                curable=True,
            )
        elif was is None:
            between.say(
                "side_columns",
                part_of(stage),
                "kept",
                f"new column {name}: {_sql(now)}",
                flight="they have null",
                place=place,
            )
        elif now is None:
            between.say(
                "side_columns", part_of(stage), "kept", f"column {name} is no longer written", place=place
            )
        else:
            between.say(
                "side_columns",
                part_of(stage),
                "kept",
                f"column {name}: {_sql(was)}, now {_sql(now)}",
                flight="they have the old value",
                place=place,
            )


def _filters(between: Between, stage: SlicerStage | JoinStage, before: Flat, after: Flat) -> None:
    gone = [one for one in before.conditions if one not in after.conditions]
    come = [one for one in after.conditions if one not in before.conditions]
    if not gone and not come:
        return
    what = "; ".join(
        [*(f"no longer {_sql(one)}" for one in gone), *(f"now also {_sql(one)}" for one in come)]
    )
    if not gone:
        flight = "those that would not pass any more may still match, for one window"
    elif not come:
        flight = "rows that were left out before the change are missing for one window"
    else:
        flight = "they passed the old filter, and those that it left out are missing for one window"
    between.say(
        "side_filters",
        part_of(stage),
        "kept",
        f"filter: {what}",
        flight=flight,
        place=between.place_of_filter(view_of(stage), *(view.name for view in stage.views)),
    )


def _sql(text: str | None) -> str:
    return "none" if text is None else readable(text)
