"""The order in which the commits of a step entered, from its record: for joins whose windows count rows.

Law: it is the coordinator's order (`time/coordinator.py`). While both streams have commits, the next one
comes from the stream of which fewer rows have entered, or from the left one if they are equal. Then the rest
follows. A row's number says how many rows of its own side entered before it, the turns how many of the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.theta.candidates import Beyond
from dovetail.joins.theta.step import Turn
from dovetail.log.category import Category
from dovetail.model.share import SIDES, Side
from dovetail.model.step_record import SideRecord, StepRecord
from dovetail.model.theta import CountWindow

Int64s = NDArray[np.int64]


def turns_of(records: Sequence[StepRecord], left: Category, right: Category) -> list[list[Turn]]:
    """For every step, as far as the log has its rows. What came before the first step on record is taken as
    having come with it."""
    return [
        _turns(_stretches(record.left, left, at == 0), _stretches(record.right, right, at == 0))
        for at, record in enumerate(records)
    ]


def _turns(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[Turn]:
    turns: list[Turn] = []
    while left or right:
        goes: Side = "left" if left and (not right or left[0][0] <= right[0][0]) else "right"
        first, stop = (left if goes == "left" else right).pop(0)
        if turns and turns[-1].side == goes:
            turns[-1] = turns[-1]._replace(stop=stop)
        else:
            turns.append(Turn(goes, first, stop))
    return turns


def _stretches(record: SideRecord, category: Category, first: bool) -> list[tuple[int, int]]:
    """First row and the one after the last, of every commit that was taken."""
    start = category.first_commit() if first else max(record.start, category.first_commit())
    commits = category.commits(start, record.stop) if start < record.stop else []
    return [(commit.first_row, commit.first_row + commit.rows) for commit in commits if commit.rows]


class Entered:
    """How many rows of the other side had entered when a row did."""

    def __init__(self, turns: Sequence[Sequence[Turn]]) -> None:
        """`turns`: of every step."""
        self._stop: dict[Side, int] = {"left": 0, "right": 0}
        first: dict[Side, list[int]] = {"left": [], "right": []}
        others: dict[Side, list[int]] = {"left": [], "right": []}
        for turn in (turn for of_step in turns for turn in of_step):
            other: Side = "right" if turn.side == "left" else "left"
            first[turn.side].append(turn.first)
            others[turn.side].append(self._stop[other])
            self._stop[turn.side] = turn.stop
        self._first = {side: np.array(first[side], np.int64) for side in SIDES}
        self._others = {side: np.array([0, *others[side]], np.int64) for side in SIDES}

    @property
    def left_rows(self) -> int:
        """How many have entered."""
        return self._stop["left"]

    def before(self, side: Side, rows: Int64s) -> Int64s:
        """How many rows of the other side had entered when each row did; of those that have not: so far."""
        other: Side = "right" if side == "left" else "left"
        counts = self._others[side][np.searchsorted(self._first[side], rows, side="right")]
        found: Int64s = np.where(rows < self._stop[side], counts, self._stop[other])
        return found

    def beyond(self, left_row: int, window: CountWindow) -> Beyond:
        """How many rows right rows lie outside the window of a left row: negative if they entered too early
        for it, positive if too late."""
        seen = int(self.before("left", np.array([left_row]))[0])

        def beyond(rows: Int64s, _: Int64s) -> Int64s:
            early = np.minimum(0, rows - (seen - window.right_rows))
            late = np.maximum(0, self.before("right", rows) - left_row - window.left_rows)
            found: Int64s = np.where(rows < seen, early, late)
            return found

        return beyond
