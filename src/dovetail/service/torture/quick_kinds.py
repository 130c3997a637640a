"""The configuration of a join without Spark, by mode: what the planner would make of a query."""

from __future__ import annotations

from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin, JoinKind, ThetaJoin, WindowedJoin
from dovetail.model.theta import (
    Band,
    Bound,
    Constant,
    CountWindow,
    Expression,
    Operand,
    Operation,
    Term,
    Theta,
)
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
_NUMBER = Operand("right", "id")
_VALUES: dict[str, Expression] = {
    "max": _NUMBER,
    "min": Operation("abs", (Operation("-", (_NUMBER, Operand("left", "id"))),)),
}


def kind_of(mode: Mode) -> JoinKind:
    if mode.windowed:
        return WindowedJoin(mode.how, window_of(mode))
    if mode.kind == "theta by rows":
        return ThetaJoin(IntervalSpec(0, 0, mode.how), theta_of(mode))
    spec = IntervalSpec(BEFORE, AFTER, mode.how)
    if mode.pick is not None:
        spec = IntervalSpec(BEFORE, AFTER, mode.how, "one", mode.pick, picked_by=_VALUES.get(mode.pick))
    return ThetaJoin(spec, theta_of(mode)) if mode.theta else IntervalJoin(spec)


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
