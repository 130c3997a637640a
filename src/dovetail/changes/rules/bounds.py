"""A window that becomes narrower or wider (paper, section 6.5: what the advice is about)."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.changes.positions import instant
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, ThetaJoin
from dovetail.plan.interval_literal import words
from dovetail.plan.physical import JoinStage, Stage

NARROWER = "left rows beyond the new window close at once; right rows that are no longer needed are let go"
WIDER = (
    "the right window is read from the log again, as far as that reaches; open left rows meet what it adds, "
    "and rows that were closed stay closed"
)


def bounds(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    was, now = old.join_kind, new.join_kind
    if isinstance(was, IntervalJoin) and isinstance(now, IntervalJoin):
        spec = _compared(between, new, was.spec, now.spec)
        return replace(old, join_kind=replace(was, spec=spec))
    if (
        isinstance(was, ThetaJoin)
        and isinstance(now, ThetaJoin)
        and (was.theta.rows is None) == (now.theta.rows is None)
    ):
        spec = _compared(between, new, was.spec, now.spec)
        if was.theta.rows != now.theta.rows and was.theta.rows is not None and now.theta.rows is not None:
            for side in ("left", "right"):
                before, after = (getattr(rows, f"{side}_rows") for rows in (was.theta.rows, now.theta.rows))
                if before != after:
                    between.say(
                        "bounds",
                        part_of(new),
                        "replayed" if after > before else "kept",
                        f"{side}_rows: {before}, now {after}",
                        flight=_wider(between, new) if after > before else NARROWER,
                        cost=between.costs.window(new) if after > before else None,
                        place=between.place_of_option(view_of(new), f"{side}_rows"),
                    )
        return replace(old, join_kind=replace(was, spec=spec, theta=replace(was.theta, rows=now.theta.rows)))
    return old


def _compared(between: Between, stage: JoinStage, was: IntervalSpec, now: IntervalSpec) -> IntervalSpec:
    for bound in ("before", "after"):
        before, after = getattr(was, f"{bound}_us"), getattr(now, f"{bound}_us")
        if before == after:
            continue
        wider = after > before
        between.say(
            "bounds",
            part_of(stage),
            "replayed" if wider else "kept",
            f"window {'wider' if wider else 'narrower'}: {bound} was {words(before)}, is now {words(after)}",
            flight=_wider(between, stage) if wider else NARROWER,
            cost=between.costs.window(stage) if wider else None,
            place=between.place_of_join(view_of(stage)),
        )
    return replace(was, before_us=now.before_us, after_us=now.after_us)


def _wider(between: Between, stage: JoinStage) -> str:
    exact_us = between.costs.exact_us(stage)
    if exact_us is None:
        return WIDER
    until = instant(-(-exact_us // 1_000_000) * 1_000_000)  # a whole second that it surely holds from
    return (
        f"{WIDER}; the log no longer has all right rows that it takes: exact for left rows from {until} on, "
        "earlier ones may lack partners in the part that is new"
    )
