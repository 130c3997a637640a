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
    """Bounds, join type and match mode of one interval join; it cannot be built with an empty window."""

    before_us: int
    after_us: int
    how: JoinType
    match: Match = "all"
    pick: Pick = "first"

    def __post_init__(self) -> None:
        for field, allowed in (("how", JoinType), ("match", Match), ("pick", Pick)):
            if getattr(self, field) not in get_args(allowed):
                raise PlanError(
                    f"unknown {field} {getattr(self, field)!r} of an interval join",
                    expected=" | ".join(get_args(allowed)),
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

    def to_json(self) -> dict[str, int | str]:
        return asdict(self)
