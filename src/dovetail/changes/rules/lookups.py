"""Which table rows are looked up in, and how often it is read."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.changes.verdict import Verdict
from dovetail.connectors.lookup_table import LIMIT, REFRESH
from dovetail.plan.physical import Lookup, SlicerStage, Stage


def lookups(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, SlicerStage) or not isinstance(new, SlicerStage):
        return old
    was, now = old.lookup, new.lookup
    if was is None or now is None or was == now:
        return old
    if was.spec != now.spec:
        view = view_of(new)
        between.say(
            "lookups",
            part_of(new),
            "refused",
            "what is looked up, or by which columns",
            flight="what was found for them is in the log as the old query has it",
            instead=f"give view {view} a new name, and the tables that read it a new name and place: they "
            "begin with what the input has",
            place=between.place_of(view),
        )
        return replace(old, lookup=now)
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


def _place(lookup: Lookup) -> tuple[object, ...]:
    kept = [(name, value) for name, value in lookup.source.options if name not in (REFRESH.name, LIMIT.name)]
    return lookup.source.table, *kept


def _say(
    between: Between, stage: SlicerStage, verdict: Verdict, what: str, flight: str | None = None
) -> None:
    between.say(
        "lookups", part_of(stage), verdict, what, flight=flight, place=between.place_of(view_of(stage))
    )
