"""Which rows come out: the type of the join, how many partners a left row gets and which, and the caps."""

from __future__ import annotations

from dataclasses import replace

from dovetail.changes.between import Between, part_of, view_of
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind
from dovetail.model.theta_text import condition_text
from dovetail.plan.physical import JoinStage, Stage

_TIGHTER = {
    "left": "open left rows beyond the cap close in the step of the change, the oldest first",
    "right": "right rows beyond the cap go in the step of the change, the oldest first",
}
_LOOSER = {
    "left": "left rows that had to close stay closed",
    "right": "right rows that had to go are read from the log again, and meet left rows that come later",
}


def join_type(between: Between, old: Stage, new: Stage) -> Stage:
    if not isinstance(old, JoinStage) or not isinstance(new, JoinStage):
        return old
    was, now = old.join_kind, new.join_kind
    if type(was) is not type(now):
        return old
    if was.how != now.how:
        between.say(
            "join_type",
            part_of(new),
            "kept",
            f"{was.how} join, now {now.how} join",
            flight=type_flight(was.how, now.how),
            place=between.place_of_join(view_of(new)),
        )
    if was.emit != now.emit:
        between.say(
            "join_type",
            part_of(new),
            "kept",
            f"emit: {was.emit}, now {now.emit}",
            flight="pairs of open windows that have come out do not come out again",
            place=between.place_of_option(view_of(new), "emit"),
        )
    _matches(between, new, was, now)
    _caps(between, new, was.spec, now.spec)
    return replace(old, join_kind=was.letting_out(now))


def type_flight(was: str, now: str) -> str:
    """What becomes of rows that are held when the type of a join changes."""
    said = []
    if now in ("semi", "anti") and was not in ("semi", "anti"):
        said.append("left rows that have had a partner are done")
    if was == "semi":
        said.append("left rows that have come out do not come out again")
    if now in ("left", "full", "anti") and was not in ("left", "full", "anti"):
        said.append("open left rows that never had a partner come out alone when their window closes")
    if was in ("left", "full", "anti") and now not in ("left", "full", "anti"):
        said.append("left rows without a partner no longer come out")
    if now in ("right", "full") and was not in ("right", "full"):
        said.append("right rows that are there at the change come out only in pairs")
    if was in ("right", "full") and now not in ("right", "full"):
        said.append("right rows without a partner no longer come out")
    return "; ".join(said)


def _matches(between: Between, stage: JoinStage, old: JoinKind, new: JoinKind) -> None:
    was, now = old.spec, new.spec
    if (was.match, was.pick, was.picked_by) == (now.match, now.pick, now.picked_by):
        return
    between.say(
        "join_type",
        part_of(stage),
        "kept",
        f"{_match(was)}, now {_match(now)}",
        flight=match_flight(was, now) if new.windows is None else window_match_flight(now),
        place=between.place_of_option(view_of(stage), "match", "pick"),
    )


def match_flight(was: IntervalSpec, now: IntervalSpec) -> str:
    """What becomes of open left rows when their number of partners, or the choice among them, changes."""
    if was.defers_pick:
        if now.defers_pick:
            return "open left rows choose again among the right rows of their window"
        if now.match == "one":
            return "open left rows come out with the best partner so far, if they have one"
        return "open left rows come out with every partner that has come so far"
    if was.match == "one":
        return "left rows that have had their partner stay with it"
    if now.defers_pick:
        return "left rows that have had a partner are done; the others choose when their window closes"
    return "left rows that have had a partner are done"


def window_match_flight(now: IntervalSpec) -> str:
    """The same where rows wait for the end of a window that they share."""
    joined = "windows that are open are joined by the new query"
    if now.match == "one":
        return f"{joined}; a left row that has come out with a partner of one gets no other there"
    return joined


def _caps(between: Between, stage: JoinStage, was: IntervalSpec, now: IntervalSpec) -> None:
    for side in ("left", "right"):
        name = f"{side}_cap"
        before, after = getattr(was, name), getattr(now, name)
        if before == after:
            continue
        tighter = after is not None and (before is None or after < before)
        read = side == "right" and not tighter
        between.say(
            "join_type",
            part_of(stage),
            "replayed" if read else "kept",
            f"{name}: {before or 'none'}, now {after or 'none'}",
            flight=_TIGHTER[side] if tighter else _LOOSER[side],
            cost=between.costs.window(stage) if read else None,
            place=between.place_of_option(view_of(stage), name),
        )


def _match(spec: IntervalSpec) -> str:
    if spec.match == "all":
        return "every partner"
    if spec.picked_by is not None:
        return f"one partner, {spec.pick}({condition_text(spec.picked_by, {})})"
    return f"one partner, {spec.pick}"
