"""What an interval join is asked to do.

Left row `l` matches right row `r` if their keys are equal and
`l.time - before <= r.time <= l.time + after`, both ends included, as SQL's BETWEEN.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from dovetail.errors import PlanError

JoinType = Literal["inner", "left", "right", "full", "semi", "anti"]
"""Which rows come out: pairs (inner), also lone left or right rows (left, right, full), or only left rows
that have (semi) or lack (anti) a partner."""

Match = Literal["all", "one"]
"""`all`: every partner of a left row (1-to-n). `one`: at most one (1-to-1), chosen by the pick rule."""

Pick = Literal["first", "nearest", "earliest", "latest"]
"""`first`: as soon as one is found. The others choose by event time when the left row's window closes."""


@dataclass(frozen=True)
class IntervalSpec:
    """Bounds, join type, match mode and caps of one interval join; an empty window is refused."""

    before_us: int
    after_us: int
    how: JoinType
    match: Match = "all"
    pick: Pick = "first"
    left_cap: int | None = None  # rows of one key held at most; None: any number
    right_cap: int | None = None

    def __post_init__(self) -> None:
        for field, allowed in (("how", JoinType), ("match", Match), ("pick", Pick)):
            if getattr(self, field) not in get_args(allowed):
                raise PlanError(
                    f"unknown {field} {getattr(self, field)!r} of an interval join",
                    expected=" | ".join(get_args(allowed)),
                )
        for side, cap in (("left", self.left_cap), ("right", self.right_cap)):
            if cap is not None and cap < 1:
                raise PlanError(
                    f"{side}_cap cannot be {cap}", expected="a whole number from 1 on, or none at all"
                )
        if self.right_cap is not None and self.keeps_right and self.defers_pick:
            raise PlanError(
                f"right_cap has no meaning in a {self.how} join with pick = {self.pick!r}",
                expected="right_cap with inner, left, semi and anti joins, or with other match modes",
                hint="a right row must stay until every left row that may pick it has closed: leave it out",
            )
        if self.before_us + self.after_us < 0:
            raise PlanError(
                f"the join window is empty: it ends {-(self.before_us + self.after_us)} µs before it starts",
                expected="a lower bound that is not after the upper bound",
                hint="in `r BETWEEN l - INTERVAL a AND l + INTERVAL b`, a + b must not be negative",
            )

    @property
    def keeps_left(self) -> bool:
        """A left row that never matched comes out, alone."""
        return self.how in ("left", "full", "anti")

    @property
    def keeps_right(self) -> bool:
        """A right row that never matched comes out, alone."""
        return self.how in ("right", "full")

    @property
    def emits_pairs(self) -> bool:
        return self.how not in ("semi", "anti")

    @property
    def defers_pick(self) -> bool:
        """The partner is chosen when the window closes, not when it is found."""
        return self.emits_pairs and self.match == "one" and self.pick != "first"

    def to_json(self) -> dict[str, int | str | None]:
        return asdict(self)
