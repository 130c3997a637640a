"""Which changes of a join's kind keep its state, what they need of the log, and from when on they are exact.

A change is a step of its own: it takes no rows, and no time passes in it. It turns the state that the old
configuration has made into one of the new configuration, and puts out what the change itself yields. What
becomes of rows that are held then is in `joins/<kind>/change.py`, and for people in docs/concepts/changes.md.
"""

from __future__ import annotations

from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind, LastRows, Since
from dovetail.model.offset import ENDED, NEVER, JoinOffset

_LOWEST = -(2**62)
Range = tuple[int, int]
"""Distances of a right row from its left row, both ends included."""


def check_change(old: JoinKind, new: JoinKind) -> None:
    """Raises PlanError for a change that no step can make."""
    if type(old) is not type(new):
        raise _refused(f"{old.noun} and {new.noun} keep different state")
    if old.fixed != new.fixed:
        raise _refused(old.fixed.because)


def _refused(why: str) -> PlanError:
    return PlanError(
        f"the state of this join cannot become that of the other: {why}",
        expected="a join of the same kind, with the same windows",
        hint="create a view with the new query beside this one, and drop this one later",
    )


def turns_lazy(old: JoinKind, new: JoinKind) -> bool:
    """Pairs of windows that are open have come out already, and must not again when these are over."""
    if old.windows is None or new.windows is None:
        return False
    return (old.windows.emit, new.windows.emit) == ("eager", "lazy")


def added(old: IntervalSpec, new: IntervalSpec) -> list[Range]:
    """The parts of the new window that the old one does not have."""
    low, high = -new.before_us, new.after_us
    parts = (low, min(high, -old.before_us - 1)), (max(low, old.after_us + 1), high)
    return [part for part in parts if part[0] <= part[1]]


def meets_again(old: IntervalSpec, new: IntervalSpec) -> bool:
    """Rows that are held may find each other in the step of the change. Where a pick was put off, nothing has
    come out of a left row yet, so it may have to be made again."""
    return bool(added(old, new)) or old.defers_pick


def read_back(old: JoinKind, new: JoinKind, at: JoinOffset) -> Since | LastRows:
    """What the step of the change, or the state after it, may need from the log."""
    needed = new.needed(at)
    if at.ended or isinstance(needed, LastRows) or new.windows is not None:
        return needed
    forgot = old.reads_left and not new.reads_left
    if not (meets_again(old.spec, new.spec) or forgot):
        return needed
    after_us = max(old.spec.after_us, new.spec.after_us) if new.reads_left else old.spec.after_us
    before_us = max(old.spec.before_us, new.spec.before_us) if forgot else new.spec.before_us
    open_since = max(_LOWEST, at.right_time) - after_us
    return Since(needed.left_us, min(needed.right_us, open_since - before_us))


def exact_since(old: JoinKind, new: JoinKind, at: JoinOffset, reach_us: int | None) -> Since:
    """From which event times on left and right rows get exactly what the new query alone would give them, if
    the state at an offset is changed there. `reach_us`: no right row that the log has lost was newer; None:
    it has lost none that this needs.

    Where a window only grows, all rows that are held are as the new query would have them. Otherwise it is
    rows that come after the change: what was held has had some of its answers from the old query.
    """
    left_time, right_time = at.times
    if new.windows is not None:
        needed = new.needed(at)
        return Since(*needed) if not at.ended else Since(NEVER, NEVER)
    if NEVER in (left_time, right_time) and not at.ended:
        return Since(left_time, right_time)  # nothing was closed or evicted, or nothing can have met
    if at.ended or new.by_rows:
        return Since(left_time, right_time)
    spec, was = new.spec, old.spec
    left_us, right_us = left_time, right_time
    if _only_grows(old, new):
        left_us = min(left_time, right_time - was.after_us)
        if was.keeps_right or not spec.keeps_right:
            right_us = min(right_time, left_time - was.before_us)
    if reach_us is not None:
        left_us = max(left_us, reach_us + 1 + spec.before_us)
    # All left rows that a right row may meet must be exact for the right row to be.
    return Since(left_us, min(ENDED, max(right_us, left_us + spec.after_us)))


def _only_grows(old: JoinKind, new: JoinKind) -> bool:
    """Each pair of the old query is one of the new query, and both wait for the same things."""
    was, spec = old.spec, new.spec
    if (old.conditions, old.reads_left) != (new.conditions, new.reads_left):
        return False
    same = (was.match, was.pick, was.picked_by, was.left_cap, was.right_cap) == (
        spec.match,
        spec.pick,
        spec.picked_by,
        spec.left_cap,
        spec.right_cap,
    )
    waits = was.emits_pairs and spec.emits_pairs and (spec.match == "all" or spec.defers_pick)
    return same and waits and not added(spec, was)
