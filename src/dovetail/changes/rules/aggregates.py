"""Aggregates: a window is aggregated when it closes, from its rows in the log, so there is no state to
keep. A column that its rows have had all along is aggregated from all of them. One that came with the change
is whole from the next window on, and null in windows with rows from before it (`engine/window_step.py`)."""

from __future__ import annotations

from dataclasses import replace

import sqlglot

from dovetail.changes.between import Between, named, part_of, view_of
from dovetail.changes.column_types import narrowed
from dovetail.changes.flat import flat
from dovetail.changes.own_terms import was_and_now
from dovetail.changes.rules.output_columns import refuse_type
from dovetail.changes.stored_views import whole_writer
from dovetail.changes.window_words import windows_words
from dovetail.plan.aggregates import WINDOW_CLOSED
from dovetail.plan.dialect import PqlSpark, spark_sql
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import JoinStage, Plan, SlicerStage, Stage, WindowStage


def aggregates(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, WindowStage) or not isinstance(new, WindowStage):
        return old
    part, place = part_of(new), between.place_of(view_of(new))
    was_by, now_by = (_keys(*one) for one in zip(between.plans, (old, new), strict=True))
    if old.window != new.window or was_by != now_by:
        same = old.window == new.window
        between.say(
            "aggregates",
            part,
            "refused",
            f"sessions are {_by(between, old, was_by)}, now {_by(between, new, now_by)}"
            if same
            else f"windows: {windows_words(old.window, new.window)}",
            flight="an open window of the old kind would be cut by one of the new kind",
            instead="write the new windows as a table of another name beside this one, and remove this "
            "one when "
            "they have caught up",
            place=place,
        )
    elif not _refuse_narrower(between, old, new) and _computed(old) != _computed(new):
        between.say("aggregates", part, "kept", "what is aggregated", flight=_open(old, new), place=place)
    was, now = old.settings.early_us, new.settings.early_us
    if was != now:
        between.say(
            "aggregates",
            part,
            "kept",
            f"early results: {_early(was)}, now {_early(now)}",
            flight="windows that are open are looked at as the new query says",
            place=between.place_of_option(view_of(new), "early"),
        )
    # Without an option of its own, how late rows may be follows from the joins, which have said what changed.
    known = [[(join.name, join.join_kind, join.settings) for join in plan.joins] for plan in between.plans]
    same_joins = known[0] == known[1]
    if same_joins and old.settings.max_delay_us != new.settings.max_delay_us:
        between.say(
            "aggregates",
            part,
            "next step",
            f"rows may be {words(old.settings.max_delay_us)} late, now {words(new.settings.max_delay_us)}",
            flight="stream time never goes back",
            place=between.place_of_option(view_of(new), "max_delay"),
        )
    return replace(
        old,
        window=new.window,
        keys=new.keys,
        select=new.select,
        columns=new.columns,
        source_name=new.source_name,
        window_name=new.window_name,
    )


def _refuse_narrower(between: Between, old: WindowStage, new: WindowStage) -> bool:
    """Columns of its table in a type that does not hold what the table has."""
    found = False
    before, after = _columns(old), _columns(new)
    for column in (column for column in before if column in after):
        sql = before[column], after[column]
        types = narrowed(between.plans, (old, new), sql)
        if types is not None:
            refuse_type(between, "aggregates", new, column, sql, types)
            found = True
    return found


def _columns(stage: WindowStage) -> dict[str, str]:
    """What is computed for each column of its table."""
    query = sqlglot.parse_one(stage.select, dialect=PqlSpark)
    return {item.alias_or_name: spark_sql(item.unalias()) for item in query.expressions}


def _computed(stage: WindowStage) -> tuple[str, str]:
    """The query of a stage. With early results it also tells windows that are closed from others."""
    return stage.select.replace(f", `{WINDOW_CLOSED}`", ""), stage.window_name


def _open(old: WindowStage, new: WindowStage) -> str:
    """What becomes of windows that are open."""
    before = {column.name.lower() for column in old.columns}
    come = [named(column.name) for column in new.columns if column.name.lower() not in before]
    if not come:
        return "windows that are open are aggregated by the new query, from all of their rows"
    return (
        f"{', '.join(come)} {'is' if len(come) == 1 else 'are'} null in windows that have rows from before "
        "the change, and windows that begin after it are whole"
    )


def _early(interval_us: int | None) -> str:
    return "none" if interval_us is None else f"every {words(interval_us)}"


def _keys(plan: Plan, stage: WindowStage) -> tuple[str | None, ...]:
    """What the keys of sessions are: their columns are called the same whatever that is."""
    writer = whole_writer(plan, stage.rows)
    known = flat(writer).columns if isinstance(writer, SlicerStage | JoinStage) else {}
    return tuple(known.get(key) for key in stage.keys)


def _by(between: Between, stage: WindowStage, keys: tuple[str | None, ...]) -> str:
    said = [was_and_now(between, stage, key, None)[0] for key in keys]
    return f"by {', '.join(said)}" if said else "of all rows"
