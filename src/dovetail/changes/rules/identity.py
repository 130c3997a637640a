"""What identifies a join: its keys, its event times, its buckets, its kind. The state of one join means
nothing to another, so they cannot change (paper, section 4.2). The paper's solution is a view of another
name, and to delete the old one. Where it can, the join begins afresh instead: `changes/afresh.py`."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.changes.flat import flat
from dovetail.changes.own_terms import was_and_now
from dovetail.changes.window_words import windows_words
from dovetail.model.join_kind import JoinKind
from dovetail.plan.physical import CategoryOutput, JoinStage, SlicerStage, Stage, WindowStage

BESIDE = (
    "give the changed view a new name, and the join that it reads, if there is one, another, and let the "
    "tables read the new view, under new names if there are several: it is filled from the inputs' log, as "
    "far as that reaches, while the old one is removed"
)


def identity(between: Between, old: Stage, new: Stage) -> Stage:
    if isinstance(old, WindowStage) or isinstance(new, WindowStage):
        return old
    was, now = old.output, new.output
    if not isinstance(was, CategoryOutput) or not isinstance(now, CategoryOutput):
        return _kinds(between, old, new)
    if was.time is not None and now.time is not None:
        before, after = flat(old), flat(new)
        if before.whole != after.whole:  # then it is not known whether keys and times are what they were
            what = "the query of the side, from which its key and its event time come"
            _refuse(between, new, what, curable=not isinstance(new, JoinStage))
        compared = dict.fromkeys([*was.keys, *now.keys, was.time])
        if not old.select and was.time not in before.columns:  # an earlier release did not write down what of
            compared = {}  # a DataFrame these are
            if len(was.keys) != len(now.keys):
                _refuse_side(between, new, "the number of keys", str(len(was.keys)), str(len(now.keys)))
        for column in compared:
            one, other = before.columns.get(column), after.columns.get(column)
            if one != other:
                _refuse_side(between, new, _name(column), *was_and_now(between, new, one, other))
        if was.buckets != now.buckets:
            _refuse_side(between, new, "the number of buckets", str(was.buckets), str(now.buckets))
    return _kinds(between, replace(old, output=replace(was, keys=now.keys, buckets=now.buckets)), new)


def _kinds(between: Between, old: SlicerStage | JoinStage, new: SlicerStage | JoinStage) -> Stage:
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    for side, one, other in (("left", old.left, new.left), ("right", old.right, new.right)):
        if one != other:
            between.say(
                "sharing",
                part_of(new),
                "refused",
                f"{new.name} no longer has its {side} side in common with another join",
                flight=f"what it holds is in category {one}",
                instead=BESIDE,
                place=between.place_of(view_of(new)),
                curable=True,
            )
    old = replace(old, left=new.left, right=new.right)
    was, now = old.join_kind, new.join_kind
    if type(was) is not type(now):
        _refuse(between, new, f"the kind of join: {was.means}, now {now.means}")
        return replace(old, join_kind=now)
    if was.fixed != now.fixed:
        _refuse(between, new, _windows(was, now))
        return replace(old, join_kind=now)
    return old


def _refuse_side(between: Between, stage: Stage, what: str, was: str, now: str) -> None:
    """The join that holds the side is another one than the stage. If a join makes its rows, it does not help
    that this one begins afresh."""
    _refuse(between, stage, f"{what}: {was}, now {now}", curable=not isinstance(stage, JoinStage))


def _refuse(between: Between, stage: Stage, what: str, *, curable: bool = True) -> None:
    between.say(
        "identity",
        part_of(stage),
        "refused",
        what,
        flight="what the join has seen is stored by the old one",
        instead=BESIDE,
        place=between.place_of_join(view_of(stage)),
        curable=curable,
    )


def _name(column: str) -> str:
    return "the event time" if column == "_time" else "the key"


def _windows(was: JoinKind, now: JoinKind) -> str:
    if was.windows is not None and now.windows is not None:
        return f"the windows of the join: {windows_words(was.windows, now.windows)}"
    return f"the window of the join: {_measured(was)}, now {_measured(now)}"


def _measured(kind: JoinKind) -> str:
    return "rows" if kind.by_rows else "event time"
