"""What the operator of a join without Spark is told, by mode: what the planner would make of a query."""

from __future__ import annotations

from dovetail.model.interval import IntervalSpec
from dovetail.model.theta import Band, Bound, Constant, CountWindow, Operand, Operation, Term, Theta
from dovetail.model.window_join import Emit, WindowJoin, hopping, session, tumbling
from dovetail.service.torture.modes import Mode
from dovetail.service.torture.workload import (
    AFTER,
    BEFORE,
    EVERY,
    GAP,
    LEFT_ROWS,
    LENGTH,
    LONGEST,
    RIGHT_ROWS,
)

_LEFT, _RIGHT = Operand("left", "_on_0"), Operand("right", "_on_0")
_APART = Operation("abs", (Operation("-", (_LEFT, _RIGHT)),))
_OTHER = Operation("<>", (_LEFT, _RIGHT))


def spec_of(mode: Mode) -> IntervalSpec:
    if mode.windowed:
        length = window_of(mode).length_us
        return IntervalSpec(length, length, mode.how)
    if mode.kind == "theta by rows":
        return IntervalSpec(0, 0, mode.how)
    if mode.pick is not None:
        return IntervalSpec(BEFORE, AFTER, mode.how, "one", mode.pick)
    return IntervalSpec(BEFORE, AFTER, mode.how)


def window_of(mode: Mode) -> WindowJoin:
    emit: Emit = "eager" if mode.eager else "lazy"
    match mode.kind:
        case "tumbling":
            return tumbling(LENGTH, emit)
        case "hopping":
            return hopping(LENGTH, EVERY, emit)
    return session(GAP, LONGEST)


def theta_of(mode: Mode) -> Theta:
    rows = CountWindow(LEFT_ROWS, RIGHT_ROWS) if mode.kind == "theta by rows" else None
    if mode.condition == "near":
        return Theta((_band(1),), (), rows)
    return Theta((_band(2),), (_OTHER,), rows)


def _band(most: int) -> Band:
    """Letters at most so far apart."""
    return Band(
        (Term(1, "_on_0"),),
        (Term(1, "_on_0"),),
        Bound(str(-most), False, str(most)),
        Bound(str(most), False, str(most)),
        (Operation("<=", (_APART, Constant("int", str(most)))),),
    )
