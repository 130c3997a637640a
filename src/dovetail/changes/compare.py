"""Two plans of one application -> what changes, each with its verdict; the strictest decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail.changes.afresh import RESLICE, begin_afresh, begun_afresh, gaps, joins_with
from dovetail.changes.between import Begins, Between, part_of, view_of
from dovetail.changes.costs import ChangeCosts, Unknown
from dovetail.changes.names import with_old_categories, with_old_names
from dovetail.changes.rules import RULES
from dovetail.changes.rules.application import application
from dovetail.changes.rules.functions import functions
from dovetail.changes.rules.tables import tables
from dovetail.changes.stored_views import goes_on
from dovetail.changes.verdict import ORDER, Change, Verdict, strictest
from dovetail.plan.application_file import difference, stable
from dovetail.plan.physical import JoinStage, Plan, SlicerStage, Stage, WindowStage
from dovetail.plan.statements import Program


def compare(
    old: Plan,
    new: Plan,
    old_text: Program | None = None,
    new_text: Program | None = None,
    begins: Begins = lambda stage, source: None,
    costs: ChangeCosts | None = None,
    reslice: bool = False,
) -> list[Change]:
    """What differs between two versions, in the order of the stages. Nothing, if they mean the same.
    `begins`, `costs`, `reslice`: see `Between`."""
    between = Between(old, new, old_text, new_text, begins, costs or Unknown(), reslice)
    application(between)
    if old.application != new.application:
        return between.found  # nothing of the one is anything to the other
    functions(between)
    tables(between)
    before = {stage.name: stage for stage in old.stages}
    for stage in new.stages:
        known = before.get(stage.name)
        if known is not None and type(known) is type(stage):
            _compare_stages(between, known, stage)
        elif known is not None:
            _unknown(between, stage, f"it is {_kind(stage)}, it was {_kind(known)}")
    begin_afresh(between)
    return between.found


def closest(
    old: Plan,
    plans: Sequence[Plan],
    old_text: Program | None = None,
    new_text: Program | None = None,
    begins: Begins = lambda stage, source: None,
    costs: ChangeCosts | None = None,
    reslice: bool = False,
) -> tuple[Plan, list[Change]]:
    """The plan that changes least, out of several for one query: a release that plans otherwise, or a view
    that could be shared now, is no reason to give up state."""
    named = [with_old_names(old, with_old_categories(old, plan)) for plan in plans]
    plan, changes = _least(old, named, old_text, new_text, begins, costs, reslice)
    if gaps(changes) and not reslice:
        changes = _offered(changes, _least(old, named, old_text, new_text, begins, None, True)[1])
    return plan, changes


def _least(
    old: Plan,
    plans: Sequence[Plan],
    old_text: Program | None,
    new_text: Program | None,
    begins: Begins,
    costs: ChangeCosts | None,
    reslice: bool,
) -> tuple[Plan, list[Change]]:
    compared = [(plan, compare(old, plan, old_text, new_text, begins, costs, reslice)) for plan in plans]
    return min(compared, key=lambda one: (ORDER.index(_decides(one[1])), len(one[1])))


def _decides(changes: Sequence[Change]) -> Verdict:
    """Joins that are removed are so in every plan for a query."""
    return strictest(change for change in changes if change.verdict != "let go") or ORDER[0]


def _offered(changes: list[Change], resliced: list[Change]) -> list[Change]:
    """The changes, with the word that closes their gaps, where that would be taken."""
    afresh = begun_afresh(resliced) if strictest(resliced) != "refused" else set()
    closed = [change for change in gaps(changes) if joins_with(change.part, afresh)]
    return [replace(change, instead=RESLICE) if change in closed else change for change in changes]


def _compare_stages(between: Between, old: Stage, new: Stage) -> None:
    at, new = old, goes_on(between.new, old, new)
    for rule in RULES:
        at = rule(between, at, new)
    was, now = (stable(Plan("", (stage,))) for stage in (at, new))
    if was != now:
        _unknown(between, new, difference(was, now))


def _unknown(between: Between, stage: Stage, what: str) -> None:
    between.say(
        "unknown",
        part_of(stage),
        "refused",
        what,
        instead="give the changed view or table a new name, and a table another place if it has one, or "
        "start the application under another name",
        place=between.place_of(view_of(stage)),
    )


def _kind(stage: Stage) -> str:
    """What people take a stage for."""
    match stage:
        case JoinStage():
            return "a join"
        case WindowStage():
            return "an aggregate"
        case SlicerStage():
            return "a lookup join" if stage.lookup is not None else "a plain selection"
