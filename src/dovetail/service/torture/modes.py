"""The joins under torture: six kinds, and the modes of each."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from dovetail.model.interval import JoinType, Pick, ValuePick

Kind = Literal["interval", "theta", "theta by rows", "tumbling", "hopping", "session"]
"""interval: equal keys, times within bounds. theta: a condition on two letters instead of equal keys. theta
by rows: the same among the last N rows, instead of time bounds. The others: equal keys within a window."""
KINDS: dict[Kind, int] = {
    "interval": 4,
    "theta": 2,
    "theta by rows": 2,
    "tumbling": 2,
    "hopping": 2,
    "session": 2,
}
"""Without Spark: how often each is drawn, out of fourteen."""
Condition = Literal["near", "next"]
"""near: the same letter, the one before or the one after. next: one of the two before or after, not the
same."""


class Mode(NamedTuple):
    how: JoinType
    pick: Pick | None = None  # None: all partners
    kind: Kind = "interval"
    condition: Condition = "near"  # of theta joins
    eager: bool = False  # of joins within windows
    dataframes: bool = False  # a program calls dovetail.join; otherwise a query says it

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
            "DataFrames" if self.dataframes else "",
        ]
        return ", ".join(word for word in words if word)


_THETA_JOINS: tuple[JoinType, ...] = ("inner", "left", "semi", "anti")
_CONDITIONS: tuple[Condition, ...] = get_args(Condition)
_PICKS: tuple[Pick, ...] = ("nearest", "earliest", "latest")
_VALUE_PICKS: tuple[Pick, ...] = get_args(ValuePick)
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
BY_VALUE = "pick by value"
VALUE_MODES = (
    *(Mode(how, pick) for how in ("inner", "left", "right", "full") for pick in _VALUE_PICKS),
    *(
        Mode(how, pick, "theta", condition)
        for condition in _CONDITIONS
        for how in ("inner", "left")
        for pick in _VALUE_PICKS
    ),
)
"""max: the partner with the largest number. min: the one whose number is next to the left row's; of two, the
one with the smaller time."""
_RIGHT_THETA = tuple(Mode("right", None, "theta", condition) for condition in _CONDITIONS)
SPARK_TURNS: dict[str, tuple[Mode, ...]] = {
    "interval": MODES["interval"],
    "theta": MODES["theta"],
    "tumbling": MODES["tumbling"],
    "DataFrames": tuple(
        mode._replace(dataframes=True)
        for kind in ("interval", "tumbling", "hopping", "session")
        for mode in MODES[kind]
    ),
    "theta by rows": MODES["theta by rows"],
    "hopping": MODES["hopping"],
    "RIGHT theta": _RIGHT_THETA,
    "session": MODES["session"],
    "RIGHT theta by rows": tuple(mode._replace(kind="theta by rows") for mode in _RIGHT_THETA),
    BY_VALUE: VALUE_MODES,
}
"""Cases on Spark are few, so their kinds take turns. Two of these need Spark: the planner turns a RIGHT theta
join into a LEFT one with its sides exchanged, and `dovetail.join` joins DataFrames."""
CHAIN = "chain"
"""Two or three joins, one over the other (`chain.py`)."""
AGGREGATE, CHAIN_AGGREGATE = "aggregate", "aggregate of a chain"
"""Time windows over one join, or over a chain (`aggregate.py`)."""
TURNS = (
    *(turn for turn in SPARK_TURNS if turn != BY_VALUE),
    CHAIN,
    AGGREGATE,
    BY_VALUE,
    CHAIN_AGGREGATE,
)
"""The order on Spark."""
