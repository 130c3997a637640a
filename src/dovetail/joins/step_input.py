"""What one step of one task works with: the state it keeps, and the rows between two offsets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.emitted import Copies, Int64s
from dovetail.joins.rows.arrivals import arrivals, copied_rows, split_rows
from dovetail.joins.rows.gather import Rows, same_keys
from dovetail.joins.sample import Sample
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times
from dovetail.joins.theta.runs import SortedRun
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share, Side

Totals = dict[str, int]
"""Running counts by name, from the first step on."""


class LiveState(NamedTuple):
    """All that a task keeps between steps: the join's state, the sample beside it, running totals, and the
    runs by which a theta join finds rows."""

    state: JoinState
    sample: Sample
    totals: Totals
    runs: dict[Side, list[SortedRun]]


class StepInput(NamedTuple):
    """One task's part of one step: the rows between two offsets, and all that they may meet."""

    config: JoinConfig
    share: Share
    start: JoinOffset
    end: JoinOffset
    left: Rows
    right: Rows
    was: JoinConfig | None = None  # the configuration that made the state at `start`, if that is another one

    @classmethod
    def between(cls, config: JoinConfig, share: Share, start: JoinOffset, end: JoinOffset) -> StepInput:
        left, right = (Category.open(config.home, name) for name in (config.left, config.right))
        # Of a step that changes the join, the end may have the lower floors: it reads older rows again.
        floors = min(start.left_floor, end.left_floor), min(start.right_floor, end.right_floor)
        rows = Rows(left, floors[0], end.left), Rows(right, floors[1], end.right)
        return cls(config, share, start, end, *rows)

    @property
    def until(self) -> Times:
        return Times(self.end.left_time, self.end.right_time)

    @property
    def copies(self) -> Copies:
        """Rows of hot keys that another task counts."""
        left, right = self.left.buckets, self.right.buckets
        return Copies(
            copied_rows(self.share, "left", left),
            copied_rows(self.share, "right", right),
            split_rows(self.share, left),
        )

    def new(self, side: Side, share: Share | None = None) -> Arrivals:
        """The new rows of a side that are a task's."""
        category = (self.left if side == "left" else self.right).category
        first, stop = (getattr(offset, side) for offset in (self.start, self.end))
        return arrivals(category, category.commits(first, stop), share or self.share, side)

    def same_keys(self, left: Int64s, right: Int64s) -> NDArray[np.bool_]:
        """Whether the real keys are equal, pair by pair."""
        return same_keys(self.left, self.right, self.config.keys, left, right)
