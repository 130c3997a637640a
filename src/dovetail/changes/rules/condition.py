"""The condition of a join without an equality: pairs that have met were judged by the old one."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.model.join_kind import ThetaJoin
from dovetail.plan.physical import JoinStage, Stage


def condition(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    was, now = old.join_kind, new.join_kind
    if not isinstance(was, ThetaJoin) or not isinstance(now, ThetaJoin):
        return old
    if (was.theta.bands, was.theta.rest) != (now.theta.bands, now.theta.rest):
        between.say(
            "condition",
            part_of(new),
            "kept",
            "the condition of the join",
            flight="rows that are held meet new ones by the new condition; pairs that have met stay as "
            "they are",
            place=between.place_of_join(view_of(new)),
        )
    if was.theta.order != now.theta.order:
        between.say(
            "condition",
            part_of(new),
            "next step",
            f"order: {was.theta.order}, now {now.theta.order}",
            place=between.place_of_option(view_of(new), "order"),
        )
    theta = replace(was.theta, bands=now.theta.bands, rest=now.theta.rest, order=now.theta.order)
    return replace(old, join_kind=replace(was, theta=theta))
