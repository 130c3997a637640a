"""Equal keys, both rows in one tumbling, hopping or session window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from dovetail.errors import PlanError
from dovetail.model.interval import IntervalSpec, JoinType, Match, Pick
from dovetail.model.kinds.kind import Apart, Fixed, Kind, LastRows, Since
from dovetail.model.offset import ENDED, JoinOffset
from dovetail.model.theta import Expression, expression_from_json, expression_to_json
from dovetail.model.window_join import WindowJoin


@dataclass(frozen=True)
class WindowedJoin(Kind):
    """With match one, a left row has at most one partner in each of its windows, picked when that is over."""

    how: JoinType
    window: WindowJoin
    match: Match = "all"
    pick: Pick = "first"
    picked_by: Expression | None = None

    tag = "windowed"
    means = "equal keys within windows"

    def __post_init__(self) -> None:
        if self.match == "one" and self.window.emit == "eager":
            raise PlanError(
                'a partner is picked when the window is over: match = "one" cannot be eager', expected="lazy"
            )

    @property
    def noun(self) -> str:
        return f"a join in {self.window.shape} windows"

    @property
    def windows(self) -> WindowJoin | None:
        return self.window

    @property
    def fixed(self) -> Fixed:
        window = self.window
        part = window.shape, window.length_us, window.every_us, window.longest_us
        return Fixed(part, "windows of another shape or size hold other rows together")

    @property
    def spec(self) -> IntervalSpec:
        """Rows that share a window are less than its length apart."""
        length_us = self.window.length_us
        return IntervalSpec(length_us, length_us, self.how, self.match, self.pick, picked_by=self.picked_by)

    @property
    def state_spec(self) -> IntervalSpec:
        """Nothing is picked before a window is over, so no picks are kept."""
        return IntervalSpec(self.window.length_us, self.window.length_us, self.how)

    @property
    def splits_keys(self) -> bool:
        """A session consists of all rows of its key: they stay together."""
        return not self.window.is_session

    @property
    def paced_after_us(self) -> int:
        """Both sides see the same window end."""
        return 0

    @property
    def apart(self) -> Apart | None:
        """Rows of a tumbling or hopping window; a session may last longer than its gap."""
        length_us = self.window.length_us
        return None if self.window.is_session else Apart(length_us, length_us)

    @property
    def held_us(self) -> int | None:
        return None if self.window.is_session else self.window.length_us

    @property
    def lets_pairs_out(self) -> bool:
        return self.how == "inner" and self.match == "all" and not self.window.is_session

    @property
    def answers_late(self) -> bool:
        return self.window.emit != "eager"

    @property
    def answers_left_rows(self) -> bool:
        return False

    @property
    def closing(self) -> tuple[object, ...]:
        return (self.window,)

    def needed(self, at: JoinOffset) -> Since | LastRows:
        since = ENDED if at.ended else self.window.needed_since(at.left_time, at.right_time)
        return Since(since, since)

    def resized(self, sizes: Mapping[str, int]) -> Self:
        return self

    def letting_out(self, other: Kind) -> Self:
        assert isinstance(other, WindowedJoin)
        out = {name: getattr(other, name) for name in ("how", "match", "pick", "picked_by")}
        return replace(self, window=replace(self.window, emit=other.window.emit), **out)

    def said(self) -> dict[str, Any]:
        said = {"how": self.how, "window": asdict(self.window)}
        by = None if self.picked_by is None else expression_to_json(self.picked_by)
        return said if self.match == "all" else {**said, "one": [self.pick, by]}

    @classmethod
    def read(cls, said: dict[str, Any]) -> Self:
        window = WindowJoin(**said["window"])
        if "one" not in said:
            return cls(said["how"], window)
        pick, by = said["one"]
        return cls(said["how"], window, "one", pick, None if by is None else expression_from_json(by))
