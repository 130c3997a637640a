"""What a side carries: columns and expressions that are computed before the join, and its filter.

Categories evolve by name, so a column can come or go anywhere in the list. Rows that are in the log already
have the value that they were written with. They are in use for one window, and then all is as the new query
says: each verdict names the commit with which that begins. `--reslice` closes the gap (`changes/afresh.py`).
"""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, named, part_of, view_of
from dovetail.changes.column_types import category_of, narrowed
from dovetail.changes.flat import Flat, flat
from dovetail.changes.own_terms import differing_filters, was_and_now
from dovetail.changes.rules.identity import BESIDE
from dovetail.changes.rules.output_columns import refuse_type
from dovetail.changes.since_commit import from_commit
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import CategoryOutput, JoinStage, SlicerStage, Stage, WindowStage
from dovetail.plan.shared import joins_of


def side_columns(between: Between, old: Stage, new: Stage) -> Stage:
    """For a stage that writes a side of a join, or the rows of an aggregate."""
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
                flight=_gap(between, new, "they keep the values they were written with"),
                place=between.place_of(view_of(new)),
            )
    else:
        _columns(between, old, new, before, after)
        _filters(between, new, before, after)
    kept = replace(old, views=new.views, select=new.select)
    if isinstance(kept, JoinStage) and isinstance(new, JoinStage):
        return replace(kept, columns=new.columns, source_name=new.source_name)
    return kept


def _columns(
    between: Between,
    old: SlicerStage | JoinStage,
    stage: SlicerStage | JoinStage,
    before: Flat,
    after: Flat,
) -> None:
    view = view_of(stage)
    for column in dict.fromkeys([*before.columns, *after.columns]):
        if column.startswith("_key_") or column == "_time":
            continue  # `identity` looks at these
        was, now = before.columns.get(column), after.columns.get(column)
        types = None
        if was is not None and now is not None and (was != now or isinstance(stage, JoinStage)):
            types = narrowed(between.plans, (old, stage), (was, now))
        if was == now and types is None:
            continue
        name, place = named(column), between.place_of_column(named(column), view)
        shown = was_and_now(between, stage, was, now)
        if column.startswith("_on_") and (was is not None or not stage.select):
            between.say(
                "side_columns",
                part_of(stage),
                "refused",
                f"what the condition of the join compares: {shown[0]}, now {shown[1]}",
                flight="they carry the old one",
                instead=BESIDE,
                place=between.place_of_join(view),
                curable=not isinstance(stage, JoinStage),  # see `identity`
            )
        elif types is not None:
            readers = joins_of(between.new, getattr(stage.output, "category", ""))
            alone = bool(readers) and not any(category_of(one) for one in readers)
            refuse_type(
                between,
                "side_columns",
                stage,
                column,
                (was, now),
                types,
                afresh=alone and not isinstance(stage, JoinStage),
            )
        elif was is None:
            between.say(
                "side_columns",
                part_of(stage),
                "kept",
                f"new column {name}: {shown[1]}",
                flight=_gap(between, stage, "they have null"),
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
                f"column {name}: {shown[0]}, now {shown[1]}",
                flight=_gap(between, stage, "they have the old value"),
                place=place,
            )


def _filters(between: Between, stage: SlicerStage | JoinStage, before: Flat, after: Flat) -> None:
    gone, come = differing_filters(between, stage, before.conditions, after.conditions)
    if not gone and not come:
        return
    what = "; ".join([*(f"no longer {one}" for one in gone), *(f"now also {one}" for one in come)])
    if not gone:
        flight = "those that would not pass any more may still match"
    elif not come:
        flight = "rows that were left out before the change are missing"
    else:
        flight = "they passed the old filter, and those that it left out are missing"
    between.say(
        "side_filters",
        part_of(stage),
        "kept",
        f"filter: {what}",
        flight=_gap(between, stage, flight),
        place=between.place_of_filter(view_of(stage), *(view.name for view in stage.views)),
    )


def _gap(between: Between, stage: SlicerStage | JoinStage, flight: str) -> str:
    """What is so of rows in flight, for how long, and with which commit that begins to end."""
    category = getattr(stage.output, "category", "")
    commit, window = between.costs.next_commit(category), _window(between, category)
    said = f"{flight}, for one window{f' ({window})' if window else ''}"
    return said if commit is None else f"{said}; {from_commit(category, commit)}"


def _window(between: Between, category: str) -> str | None:
    """How long a row of this category may be in use; None: that is no time."""
    lengths = [join.join_kind.held_us for join in joins_of(between.new, category)]
    lengths += [
        stage.window.length_us
        for stage in between.new.stages
        if isinstance(stage, WindowStage) and stage.rows == category
    ]
    return None if not lengths or None in lengths else words(max(one for one in lengths if one is not None))
