"""A join that begins afresh: because the new query cannot use its state, or should make all rows itself
(`--reslice`).

    left input    ──── taken by the old join ────┤├──── taken by the new one ────
    right input   ──── taken by the old join ────┤├──── taken by the new one ────
                  └─ sliced once more, as far as its log or folder reaches ─► fills the new one, in silence

Law: both joins take each row, and what comes out is divided between them at the change. How depends on what
may have come out of a row that is in flight:

    whole    nothing, before its window is over (anti joins, picks that wait, windows): then all of it comes
             out by the new join, as if that had always been there
    pairs    pairs: two rows from before the change are the old join's, every other pair is the new one's.
             What has no partner by the change comes out alone in it, by the old join
    open     an answer, maybe: then left rows that have had one are done, and those that wait for one come to
             the new join, after the right rows from before, as if that had always been there
    closed   the same, but windows end at other times or lone right rows come out: then left rows from before
             the change are the old join's, which answers them in it, and the new join begins with the left
             rows after it

So no pair comes out twice, and in the first three cases no answer is missing, as far back as the inputs
reach."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Literal

from dovetail.changes.between import Between, part_of, view_of, writer_of
from dovetail.changes.flat import flat
from dovetail.changes.names import with_categories
from dovetail.changes.positions import instant
from dovetail.changes.rules.sources import same_inputs, swapped
from dovetail.changes.verdict import Change, total
from dovetail.model.share import SIDES
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, SlicerStage, Stage
from dovetail.plan.shared import joins_of

RULE = "afresh"
HandOver = Literal["whole", "pairs", "open", "closed"]
_FLIGHT: dict[HandOver, str] = {
    "whole": "nothing of them has come out, and they are answered by the new query alone",
    "pairs": "two rows from before the change meet by the old query, all others by the new one",
    "open": "left rows that have had an answer are done, the others are answered by the new query alone",
    "closed": "left rows that are open come out in the change, with the partners that they have by then; "
    "left rows that come after it meet right rows from before it",
}
_ALONE = "rows that have no partner by then come out alone in the change"
RESLICE = "start it with --reslice, which leaves no gap: the join begins afresh, filled from its inputs"
_SIDES = ("side_columns", "side_filters")


def begin_afresh(between: Between) -> None:
    """Let joins begin afresh where that allows what would be refused, or is asked for."""
    before = {join.name: join for join in between.old.joins}
    for join in between.new.joins:
        known = before.get(join.name)
        if known is not None:
            _begin(between, known, join)


def begun_afresh(changes: Iterable[Change]) -> set[str]:
    """The joins that do so."""
    return {change.part.removeprefix("join ") for change in changes if change.rule == RULE}


def gaps(changes: Iterable[Change]) -> list[Change]:
    """Those that leave rows in flight as the old query made them."""
    return [change for change in changes if change.rule in _SIDES and change.flight and not change.instead]


def joins_with(part: str, joins: Set[str]) -> bool:
    """Whether a side is one of these joins."""
    return any(part == f"{side} side of {join}" for side in SIDES for join in joins)


def with_new_places(old: Plan, new: Plan, joins: Set[str]) -> Plan:
    """The new plan, in which these joins have categories, progress and state of their own."""
    before = {stage.name: stage for stage in old.stages}
    places: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for join in new.joins:
        known = before.get(join.name)
        if join.name in joins and isinstance(known, JoinStage):
            numbers[join.name] = known.begun + 1
            for side in (join.left, join.right):
                base = side.removesuffix(f".{known.begun}") if known.begun > 1 else side
                places[side] = f"{base}.{known.begun + 1}"

    def again(stage: Stage) -> Stage:
        known = before.get(stage.name)
        if isinstance(stage, JoinStage) and stage.name in numbers:
            return replace(stage, begun=numbers[stage.name], query=1, filled=(), whole=False)
        if isinstance(stage, SlicerStage) and _category(stage) in places:
            reading = known.reading if isinstance(known, SlicerStage) else 1
            return replace(stage, reading=reading + 1)
        return stage

    return with_categories(replace(new, stages=tuple(again(stage) for stage in new.stages)), places)


def _begin(between: Between, known: JoinStage, join: JoinStage) -> None:
    parts = {part_of(join), f"left side of {join.name}", f"right side of {join.name}"}
    mine = [change for change in between.found if change.part in parts]
    refused = [change for change in mine if change.verdict == "refused"]
    sides = [change for change in mine if change.rule in _SIDES and change.part != part_of(join)]
    if not refused and not (between.reslice and sides):
        return
    if any(change not in between.curable for change in refused):
        return  # it would be refused anyway
    obstacle = _obstacle(between, known, join)
    if obstacle is not None:
        between.found = [_hindered(c, obstacle) if c in refused else c for c in between.found]
        if not refused:
            between.say(
                RULE,
                part_of(join),
                "refused",
                f"{join.name} cannot begin afresh: {obstacle}",
                instead="leave --reslice out: rows in flight stay as they are",
                place=between.place_of(view_of(join)),
            )
        return
    between.found = [_cured(change) if change in mine else change for change in between.found]
    others = [change for change in mine if change.rule != "sharing"]
    if others:  # then whether it shares a side with another join is of no concern
        between.found = [c for c in between.found if c.part not in parts or c.rule != "sharing"]
    writers = [writer_of(between.new, side) for side in (join.left, join.right)]
    tables = [writer.inputs[0] for writer in writers if isinstance(writer, SlicerStage)]
    how = hand_over(between.old, between.new, known, join)
    read = tables[1:] if how == "closed" else tables
    since = [since_us for table in read if (since_us := between.costs.since_us(table.source)) is not None]
    flight = _FLIGHT[how]
    if how == "pairs" and (known.spec.keeps_left or known.spec.keeps_right):
        flight = f"{flight}; {_ALONE}"
    if since:
        flight = f"{flight}; exact for windows that lie in what was written since {instant(max(since))}"
    between.say(
        RULE,
        part_of(join),
        "afresh",
        f"{join.name} begins afresh, filled from its inputs",
        flight=flight,
        cost=total(between.costs.source(table.source, None, join.name) for table in read),
        place=between.place_of(view_of(join)),
    )


def hand_over(old: Plan, new: Plan, known: JoinStage, join: JoinStage) -> HandOver:
    """What becomes of rows in flight."""
    was, now = known.join_kind, join.join_kind
    as_long = keeps_times(old, new, known, join) and was.closing == now.closing
    if as_long and was.answers_late and now.answers_late:
        return "whole"
    if was.lets_pairs_out and now.lets_pairs_out:
        return "pairs"
    return "open" if as_long and was.answers_left_rows and now.answers_left_rows else "closed"


def keeps_times(old: Plan, new: Plan, known: JoinStage, join: JoinStage) -> bool:
    """Event times of both sides are what they were, and so stream times are."""
    for was, now in ((known.left, join.left), (known.right, join.right)):
        before, after = writer_of(old, was), writer_of(new, now)
        if not isinstance(before, SlicerStage) or not isinstance(after, SlicerStage):
            return False
        one, other = (getattr(stage.output, "time", None) for stage in (before, after))
        time = flat(before).columns.get(str(one))
        if time is None or time != flat(after).columns.get(str(other)):
            return False
    return True


def _hindered(change: Change, obstacle: str) -> Change:
    why = f"the join cannot begin afresh: {obstacle}"
    return replace(change, flight=f"{change.flight}; {why}" if change.flight else why)


def _cured(change: Change) -> Change:
    """For a join that begins afresh: what becomes of rows in flight is said once."""
    verdict = "afresh" if change.verdict == "refused" else change.verdict
    return replace(change, verdict=verdict, flight=None, cost=None, instead=None)


def _obstacle(between: Between, known: JoinStage, join: JoinStage) -> str | None:
    """Why a join cannot begin afresh; None if it can."""
    if join.left == join.right or any(
        len(joins_of(between.new, side)) > 1 for side in (join.left, join.right)
    ):
        return "it shares a side with another join"
    for was, now in ((known.left, join.left), (known.right, join.right)):
        old, new = writer_of(between.old, was), writer_of(between.new, now)
        if not isinstance(old, SlicerStage) or not isinstance(new, SlicerStage):
            return "a side of it comes out of another join"
        if len(old.inputs) != 1 or len(new.inputs) != 1:
            return "a side of it has several inputs, or is a DataFrame"
        if any(swapped(between.new.application, *pair) for pair in same_inputs(old, new)):
            return "a side of it has another input than before; change that first"
    return None


def _category(stage: Stage) -> str | None:
    return stage.output.category if isinstance(stage.output, CategoryOutput) else None
