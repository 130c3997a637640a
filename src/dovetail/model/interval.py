"""What an interval join is asked to do.

Left row `l` matches right row `r` if their keys are equal and
`l.time - before <= r.time <= l.time + after`, both ends included, as SQL's BETWEEN.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from dovetail.errors import PlanError
from dovetail.model.theta import Expression, expression_from_json, expression_to_json

JoinType = Literal["inner", "left", "right", "full", "semi", "anti"]
"""Which rows come out: pairs (inner), also lone left or right rows (left, right, full), or only left rows
that have (semi) or lack (anti) a partner."""

Match = Literal["all", "one"]
"""`all`: every partner of a left row (1-to-n). `one`: at most one (1-to-1), chosen by the pick rule."""

TimePick = Literal["first", "nearest", "earliest", "latest"]
"""`first`: as soon as one is found. The others choose by event time when the left row's window closes."""

ValuePick = Literal["max", "min"]
"""The partner with the largest or smallest value of an expression over both rows, when the window closes.
Null loses against any value, NaN is larger than any other number. Of equal ones the right row with the
smallest event time is chosen, then the one with the smallest number in the log."""

Pick = Literal[TimePick, ValuePick]


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
    picked_by: Expression | None = None  # what `max` and `min` compare

    def __post_init__(self) -> None:
        for field, allowed in (("how", JoinType), ("match", Match), ("pick", Pick)):
            if getattr(self, field) not in get_args(allowed):
                raise PlanError(
                    f"unknown {field} {getattr(self, field)!r} of an interval join",
                    expected=" | ".join(get_args(allowed)),
                )
        self._check_pick()
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

    def _check_pick(self) -> None:
        by_value = self.pick in get_args(ValuePick)
        if by_value != (self.picked_by is not None):
            what = "does not say what it compares" if by_value else "compares no values"
            raise PlanError(
                f"pick = {self.pick!r} {what}",
                expected="an expression with max and min, and with no other pick",
            )
        if by_value and not self.defers_pick:
            without = 'match = "all"' if self.emits_pairs else f"a {self.how} join, which returns no partners"
            raise PlanError(
                f"pick = {self.pick!r} has no effect with {without}",
                expected='match = "one" in an inner, left, right or full join',
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

    def to_json(self) -> dict[str, Any]:
        said = {name: value for name, value in asdict(self).items() if name != "picked_by"}
        return said if self.picked_by is None else {**said, "picked_by": expression_to_json(self.picked_by)}

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> IntervalSpec:
        by = said.get("picked_by")
        return cls(**{**said, "picked_by": None if by is None else expression_from_json(by)})
