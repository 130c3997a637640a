"""Any condition, within bounds of event time or among the last rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.kinds.kind import OUT, Apart, Fixed, Kind, LastRows, Since, needed_since
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import CountWindow, Theta, dealt_sides

MOST_TASKS = 64
"""That can be asked for while a join runs; also of a join without keys, which has no buckets to share out."""


@dataclass(frozen=True)
class ThetaJoin(Kind):
    """`spec` has bounds of event time unless `theta` counts rows."""

    spec: IntervalSpec
    theta: Theta

    tag = "theta"
    noun = "a join without an equality"
    means = "a condition without an equality"

    def __post_init__(self) -> None:
        spec = self.spec
        if self.theta.rows is not None and (spec.before_us or spec.after_us):
            raise PlanError(
                "a window that counts rows has no bounds of event time",
                expected="left_rows and right_rows, or event times within bounds, not both",
            )
        if spec.left_cap is not None or spec.right_cap is not None:
            raise PlanError("a join without an equality has no caps", expected="no left_cap and no right_cap")

    @property
    def how(self) -> JoinType:
        return self.spec.how

    @property
    def condition(self) -> Theta | None:
        return self.theta

    @property
    def reads_left(self) -> bool:
        return self.dealt == SIDES

    @property
    def fixed(self) -> Fixed:
        return Fixed((self.by_rows,), "a window of event time and one that counts rows hold different rows")

    @property
    def dealt(self) -> tuple[Side, ...] | None:
        return dealt_sides(self.spec.how, self.spec.match)

    @property
    def splits_keys(self) -> bool:
        return False  # there are none

    @property
    def keeps_turns(self) -> bool:
        return True

    @property
    def counted(self) -> CountWindow | None:
        return self.theta.rows

    @property
    def in_order(self) -> bool:
        return self.theta.order != "none"

    @property
    def own_window(self) -> Apart | None:
        return None if self.by_rows else Apart(self.spec.before_us, self.spec.after_us)

    @property
    def sizes(self) -> Mapping[str, int]:
        rows = self.theta.rows
        return super().sizes if rows is None else asdict(rows)

    @property
    def answers_late(self) -> bool:
        return not self.by_rows and super().answers_late

    @property
    def answers_left_rows(self) -> bool:
        """An inner join that gives every pair has no answer on record: its left rows come from the log."""
        return (
            super().answers_left_rows and not self.by_rows and (self.how, self.spec.match) != ("inner", "all")
        )

    def most_tasks(self, buckets: int) -> int:
        """Where lone rows of both sides come out, all left rows must be seen where a right row is, and all
        right rows where a left row is."""
        return 1 if self.theta.order == "step" or self.spec.keeps_right else MOST_TASKS

    def needed(self, at: JoinOffset) -> Since | LastRows:
        rows = self.theta.rows
        if rows is None:
            return needed_since(self.spec, at)
        return LastRows(0, 0) if at.ended else LastRows(rows.left_rows, rows.right_rows)

    def resized(self, sizes: Mapping[str, int]) -> Self:
        own: Any = {name: size for name, size in sizes.items() if name in self.sizes}
        if self.theta.rows is not None:
            return replace(self, theta=replace(self.theta, rows=replace(self.theta.rows, **own)))
        return replace(self, spec=replace(self.spec, **own))

    def letting_out(self, other: Kind) -> Self:
        spec = replace(self.spec, **{name: getattr(other.spec, name) for name in OUT})
        return replace(self, spec=spec)

    def judging_as(self, other: Kind) -> Self:
        assert isinstance(other, ThetaJoin)
        theirs = other.theta
        theta = replace(self.theta, bands=theirs.bands, rest=theirs.rest, order=theirs.order)
        return replace(self, theta=theta)

    def said(self) -> dict[str, Any]:
        return {"spec": self.spec.to_json(), "theta": self.theta.to_json()}

    @classmethod
    def read(cls, said: dict[str, Any]) -> Self:
        return cls(IntervalSpec.from_json(said["spec"]), Theta.from_json(said["theta"]))
