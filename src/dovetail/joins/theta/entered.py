"""How many rows of the other side had entered when a row did: for windows that count rows.

A row's number says how many rows of its own side entered before it. The turns say how many of the other side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.theta.candidates import Beyond
from dovetail.joins.theta.step import Turn
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import CountWindow

Int64s = NDArray[np.int64]


class Entered:
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
