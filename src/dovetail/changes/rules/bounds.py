"""A window that becomes narrower or wider (paper, section 6.5: what the advice is about)."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.changes.positions import instant
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
    if type(was) is not type(now) or was.sizes.keys() != now.sizes.keys():
        return old
    for size, before in was.sizes.items():
        after = now.sizes[size]
        if after != before:
            _say(between, new, size, before, after)
    return replace(old, join_kind=was.resized(now.sizes))


def _say(between: Between, stage: JoinStage, size: str, before: int, after: int) -> None:
    wider = after > before
    if stage.join_kind.by_rows:
        what, place = f"{size}: {before}, now {after}", between.place_of_option(view_of(stage), size)
    else:
        bound, which = size.removesuffix("_us"), "wider" if wider else "narrower"
        what = f"window {which}: {bound} was {words(before)}, is now {words(after)}"
        place = between.place_of_join(view_of(stage))
    between.say(
        "bounds",
        part_of(stage),
        "replayed" if wider else "kept",
        what,
        flight=_wider(between, stage) if wider else NARROWER,
        cost=between.costs.window(stage) if wider else None,
        place=place,
    )


def _wider(between: Between, stage: JoinStage) -> str:
    exact_us = between.costs.exact_us(stage)
    if exact_us is None:
        return WIDER
    until = instant(-(-exact_us // 1_000_000) * 1_000_000)  # a whole second that it surely holds from
    return (
        f"{WIDER}; the log no longer has all right rows that it takes: exact for left rows from {until} on, "
        "earlier ones may lack partners in the part that is new"
    )
