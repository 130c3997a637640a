"""What changes in a buffer during a step, noted as it happens: see `changes.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels import ring as rings

if TYPE_CHECKING:
    from dovetail.joins.buffer import Buffer, Held

Int64s = NDArray[np.int64]


class BufferJournal:
    """What has changed in a buffer since the journal was begun: `came` newest slots, the numbers of rows that
    are gone or were marked, and tags and numbers of those that chose a partner. Rows are noted by number,
    since slots change when a ring grows."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self.came = 0
        self.gone: list[Int64s] = []
        self.marked: list[Int64s] = []
        self.chose: list[tuple[NDArray[np.uint32], Int64s]] = []

    def new(self) -> Held:
        """The rows that came and are still there, oldest arrival first."""
        return self._buffer.held_at(rings.newest_slots(self._buffer.ring, self.came))

    @property
    def staying(self) -> int:
        """How many rows came and are still there."""
        return len(rings.newest_slots(self._buffer.ring, self.came))

    def gone_rows(self) -> Int64s:
        return _laid_out(self.gone)

    def marked_rows(self) -> Int64s:
        return _laid_out(self.marked)

    def picks(self) -> tuple[Int64s, Int64s, Int64s]:
        """Rows that chose, and still are there; the time and the number of the partner each has now."""
        if not self.chose:
            return _laid_out([]), _laid_out([]), _laid_out([])
        tags, rows = (np.concatenate(column) for column in zip(*self.chose, strict=True))
        slots = self._buffer.find(tags, rows)
        there = slots >= 0
        ring, slots = self._buffer.ring, slots[there]
        return rows[there], ring.best_time[slots], ring.best_row[slots]


def _laid_out(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
