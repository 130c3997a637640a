"""The joins that cases are of: six kinds, and for each what may be asked of it."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from dovetail.model.interval import JoinType, Pick

Kind = Literal["interval", "theta", "theta by rows", "tumbling", "hopping", "session"]
"""interval: equal keys, times within bounds. theta: a condition on two letters in place of equal keys; by
rows: and among the last so many in place of the bounds. The others: equal keys within a window."""
KINDS: dict[Kind, int] = {
    "interval": 4,
    "theta": 2,
    "theta by rows": 2,
    "tumbling": 2,
    "hopping": 2,
    "session": 2,
}
"""How often each is drawn, of fourteen times."""
Condition = Literal["near", "next"]
"""near: the same letter, the one before or the one after. next: one of the two before or after, not the
same."""


class Mode(NamedTuple):
    how: JoinType
    pick: Pick | None = None  # None: all partners
    kind: Kind = "interval"
    condition: Condition = "near"  # of theta joins
    eager: bool = False  # of joins within windows

    @property
    def theta(self) -> bool:
        return self.kind in ("theta", "theta by rows")

    @property
    def windowed(self) -> bool:
        return self.kind in ("tumbling", "hopping", "session")

    @property
    def emits_pairs(self) -> bool:
        return self.how not in ("semi", "anti")

    def __str__(self) -> str:
        words = [
            "" if self.kind == "interval" else self.kind,
            self.how,
            self.pick or "",
            self.condition if self.theta else "",
            "eager" if self.eager else "",
        ]
        return ", ".join(word for word in words if word)


_THETA_JOINS: tuple[JoinType, ...] = ("inner", "left", "semi", "anti")
_CONDITIONS: tuple[Condition, ...] = get_args(Condition)
_PICKS: tuple[Pick, ...] = ("nearest", "earliest", "latest")
MODES: dict[Kind, tuple[Mode, ...]] = {
    "interval": (
        *(Mode(how) for how in get_args(JoinType)),
        *(Mode(how, pick) for how in ("left", "full") for pick in _PICKS),
    ),
    "theta": tuple(
        Mode(how, pick, "theta", condition)
        for condition in _CONDITIONS
        for how, pick in (*((how, None) for how in _THETA_JOINS), *(("left", pick) for pick in _PICKS))
    ),
    "theta by rows": tuple(
        Mode(how, None, "theta by rows", condition) for condition in _CONDITIONS for how in _THETA_JOINS
    ),
    "tumbling": (
        *(Mode(how, None, "tumbling") for how in get_args(JoinType)),
        Mode("inner", None, "tumbling", eager=True),
    ),
    "hopping": (
        *(Mode(how, None, "hopping") for how in get_args(JoinType)),
        Mode("inner", None, "hopping", eager=True),
    ),
    "session": tuple(Mode(how, None, "session") for how in get_args(JoinType)),
}
