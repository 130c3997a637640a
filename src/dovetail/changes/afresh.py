"""A join that begins afresh: where what it has seen is nothing to the new query, or is wanted as the new
query makes it (`--reslice`).

    left input    ─── taken by the old join ───┤├─── taken by the new one ───
    right input   ├──────────── read again ────┴─── by the new one ──────────
                  as far as its log, or its folder, reaches

Law: each left row comes out by one query. Those that came before the change are answered by the old join:
when the new one takes over, the old one closes every window that is open, with the partners that had come by
then. Those that come after it are answered by the new join, which reads the right rows of its window once
more. So the new join is exact for every left row that comes after the change, as far back as the right input
reaches. Pairs of a left row from before the change with a right row from after it do not come out.

A join that lets lone right rows out cannot begin so: those that are read again have had their answer."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.changes.names import with_categories
from dovetail.changes.positions import instant
from dovetail.changes.rules.sources import same_inputs, swapped
from dovetail.changes.verdict import Change
from dovetail.plan.physical import (
    CategoryOutput,
    JoinStage,
    KafkaSource,
    LakeSource,
    Plan,
    SlicerStage,
    Stage,
)
from dovetail.plan.shared import joins_of
from dovetail.plan.stage_promises import promised_columns

RULE = "afresh"
_FLIGHT = (
    "left rows that are open come out in the change, with the partners that they have by then; left rows "
    "that come after it meet right rows as far back as the right input reaches"
)
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
            return replace(stage, begun=numbers[stage.name], query=1)
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
        return  # it would be refused all the same
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
    right = _writer(between.new, join.right)
    assert isinstance(right, SlicerStage)
    source = right.inputs[0].source
    since_us = between.costs.since_us(source)
    between.say(
        RULE,
        part_of(join),
        "afresh",
        f"{join.name} begins afresh, filled from its inputs",
        flight=_FLIGHT if since_us is None else f"{_FLIGHT}, to what was written since {instant(since_us)}",
        cost=between.costs.source(source, None),
        place=between.place_of(view_of(join)),
    )


def _hindered(change: Change, obstacle: str) -> Change:
    why = f"the join cannot begin afresh: {obstacle}"
    return replace(change, flight=f"{change.flight}; {why}" if change.flight else why)


def _cured(change: Change) -> Change:
    """Of a join that begins afresh: what becomes of rows in flight is said once."""
    verdict = "afresh" if change.verdict == "refused" else change.verdict
    return replace(change, verdict=verdict, flight=None, cost=None, instead=None)


def _obstacle(between: Between, known: JoinStage, join: JoinStage) -> str | None:
    """Why a join cannot begin afresh; None if it can."""
    if join.spec.keeps_right:
        return "right rows that were let out alone would be so again"
    if promised_columns(known) or promised_columns(join):
        return "aggregates and joins that read it take their time from it, and it would end"
    if join.left == join.right or any(
        len(joins_of(between.new, side)) > 1 for side in (join.left, join.right)
    ):
        return "it shares a side with another join"
    for was, now in ((known.left, join.left), (known.right, join.right)):
        old, new = _writer(between.old, was), _writer(between.new, now)
        if not isinstance(old, SlicerStage) or not isinstance(new, SlicerStage):
            return "a side of it comes out of another join"
        if len(old.inputs) != 1 or len(new.inputs) != 1:
            return "a side of it has several inputs, or is a DataFrame"
        same = [table.name.lower() for table in (*old.inputs, *new.inputs)]
        if same[0] != same[1] or any(
            swapped(between.new.application, *pair) for pair in same_inputs(old, new)
        ):
            return "a side of it has another input than before; change that first"
        if isinstance(new.inputs[0].source, KafkaSource | LakeSource):
            return "a side of it comes from Kafka, which is not read a second time"
    return None


def _writer(plan: Plan, category: str) -> Stage | None:
    return next((stage for stage in plan.stages if _category(stage) == category), None)


def _category(stage: Stage) -> str | None:
    return stage.output.category if isinstance(stage.output, CategoryOutput) else None
