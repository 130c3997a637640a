"""What the scaler looks at and what it says: plain values, so that a decision can be repeated from a
record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Direction = Literal["up", "down", "hold"]
Mode = Literal["act", "advise", "off"]
"""act: change tasks. advise: only record what would be done. off: do nothing."""


@dataclass(frozen=True)
class LoadSample:
    """One join at one moment. Rates are rows per second that come in, backlogs rows that the join has not
    taken. `row_us`: microseconds of a step per row, at this number of tasks (None: not known).
    `hot_key`: the most frequent key, if the join cannot split it, and `hot_share` its share of the rows.
    `unsliced_rows`: what the slicers have not read yet."""

    at_s: float
    tasks: int
    left_rate: float
    right_rate: float
    left_backlog: int
    right_backlog: int
    row_us: float | None = None
    replaying: bool = False
    hot_key: str | None = None
    hot_share: float = 0.0
    unsliced_rows: int = 0
    memory_bytes: int = 0

    @property
    def rate(self) -> float:
        return self.left_rate + self.right_rate

    @property
    def backlog(self) -> int:
        """What both sides are behind, by their own rates. What one of them is behind alone is pacing: the
        other waits for it, and no number of tasks changes that."""
        left, right = self.left_backlog, self.right_backlog
        if not left or not right:
            return 0
        behind_s = [
            rows / rate for rows, rate in ((left, self.left_rate), (right, self.right_rate)) if rate > 0
        ]
        return min(left + right, round(min(behind_s) * self.rate)) if behind_s else left + right

    @property
    def capacity(self) -> float | None:
        """Rows per second of one task."""
        return None if not self.row_us else 1e6 / self.row_us / self.tasks

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> LoadSample:
        return cls(**{name: said[name] for name in cls.__dataclass_fields__ if name in said})


@dataclass(frozen=True)
class TaskLimits:
    """`most`: the smallest of buckets, cores and the owner's quota; `bound_by` names it."""

    least: int = 1
    most: int = 64
    bound_by: str = "buckets"


@dataclass(frozen=True)
class TaskChange:
    """A change that was made: when, from how many tasks to how many, and rows per second of all tasks
    before."""

    at_s: float
    before: int
    after: int
    capacity_before: float | None = None


@dataclass(frozen=True)
class Verdict:
    """`tasks`: how many the join should have. `stuck`: it needs more, and cannot or should not have them."""

    direction: Direction
    tasks: int
    reason: str
    stuck: bool = False
    memory_bytes: int = 0
