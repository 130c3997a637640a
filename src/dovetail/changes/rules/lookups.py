"""What is looked up, and in which table: an answer stays as it was found, and later rows get the new one.

The answers are in a category of their own, which evolves by name, so a column can come or go anywhere in the
list. Each row is looked up once: no row that has been is looked up again.
"""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, named, part_of, view_of
from dovetail.changes.verdict import Verdict
from dovetail.connectors.lookup_table import LIMIT, REFRESH
from dovetail.plan.physical import Lookup, SlicerStage, Stage

_FLIGHT = {
    "left": "those that were looked up before the change and had no partner were dropped; from the change on "
    "such rows come out with nulls",
    "inner": "those that were looked up before the change and had no partner come out with nulls; from the "
    "change on such rows are left out",
}
"""By what the lookup has become."""


def lookups(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, SlicerStage) or not isinstance(new, SlicerStage):
        return old
    was, now = old.lookup, new.lookup
    if was is None or now is None or was == now:
        return old
    if _by(was) != _by(now):
        view = view_of(new)
        between.say(
            "lookups",
            part_of(new),
            "refused",
            "by which columns rows are looked up, or as of which time",
            flight="what was found for them is in the log as the old query has it",
            instead=f"give view {view} a new name, and the tables that read it a new name and place: they "
            "begin with what the input has",
            place=between.place_of(view),
        )
        return replace(old, lookup=now)
    _columns(between, new, was, now)
    if was.spec.how != now.spec.how:
        between.say(
            "lookups",
            part_of(new),
            "kept",
            f"{was.spec.how} lookup, now {now.spec.how} lookup",
            flight=_FLIGHT[now.spec.how],
            place=between.place_of_join(view_of(new)),
        )
    if _place(was) != _place(now):
        _say(
            between,
            new,
            "kept",
            f"rows are looked up in {now.source.place}, they were looked up in {was.source.place}",
            "what was found stays as it is in the log; rows that are not looked up yet see the new table",
        )
    elif was.source != now.source:
        _say(between, new, "next step", f"how {now.source.place} is read")
    return replace(old, lookup=now)


def _by(lookup: Lookup) -> tuple[object, ...]:
    """What decides which row of the table is found."""
    spec = lookup.spec
    return spec.keys, spec.as_of, spec.valid_from, spec.valid_to


def _columns(between: Between, stage: SlicerStage, was: Lookup, now: Lookup) -> None:
    before, after = ({one.name: one.column for one in lookup.spec.columns} for lookup in (was, now))
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        flight = None
        if old is None:
            what = f"column {new} of {now.table} is looked up as well"
            flight = "those that were looked up before the change have null in it"
        elif new is None:
            what = f"column {old} of {was.table} is no longer looked up"
        else:
            what = f"column {named(name)}: {old} of {was.table}, now {new} of {now.table}"
            flight = "those that were looked up before the change have the old value"
        _say(between, stage, "kept", what, flight)


def _place(lookup: Lookup) -> tuple[object, ...]:
    kept = [(name, value) for name, value in lookup.source.options if name not in (REFRESH.name, LIMIT.name)]
    return lookup.source.table, *kept


def _say(
    between: Between, stage: SlicerStage, verdict: Verdict, what: str, flight: str | None = None
) -> None:
    between.say(
        "lookups", part_of(stage), verdict, what, flight=flight, place=between.place_of(view_of(stage))
    )
