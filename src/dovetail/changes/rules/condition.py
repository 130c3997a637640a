"""The condition of a join without an equality: pairs that have met were judged by the old one."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.plan.physical import JoinStage, Stage


def condition(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    was, now = old.join_kind, new.join_kind
    before, after = was.condition, now.condition
    if before is None or after is None:
        return old
    if (before.bands, before.rest) != (after.bands, after.rest):
        between.say(
            "condition",
            part_of(new),
            "kept",
            "the condition of the join",
            flight="rows that are held meet new ones by the new condition; pairs that have met stay as "
            "they are",
            place=between.place_of_join(view_of(new)),
        )
    if before.order != after.order:
        between.say(
            "condition",
            part_of(new),
            "next step",
            f"order: {before.order}, now {after.order}",
            place=between.place_of_option(view_of(new), "order"),
        )
    return replace(old, join_kind=was.judging_as(now))
