"""What a join step gives back: the rows that come out, by number, and what it counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Held

Int64s = NDArray[np.int64]
NONE: Int64s = np.empty(0, np.int64)
SameKey = Callable[[Int64s, Int64s], NDArray[np.bool_]]
"""`same_key(left_rows, right_rows)` says, pair by pair, whether the real keys are equal: hashes may
collide."""


class Counts(NamedTuple):
    """What a step saw, for people."""

    left_in: int = 0
    right_in: int = 0
    pairs: int = 0
    left_alone: int = 0
    right_alone: int = 0
    left_matched: int = 0  # left rows that waited no longer after this step, and had a partner
    left_split: int = 0  # left rows that waited no longer, of which no single task knows whether they had one
    left_late: int = 0  # behind their own stream's time when they came
    right_late: int = 0
    left_void: int = 0  # null key
    right_void: int = 0
    left_invalid: int = 0  # no time, or one that is not believed
    right_invalid: int = 0
    left_capped: int = 0  # closed early, because too many rows of their key were open
    right_capped: int = 0
    collisions: int = 0  # equal tags, different keys


AreCopies = Callable[[Held], NDArray[np.bool_]]


class Copies(NamedTuple):
    """Which rows of each side are copies of rows that other tasks count; None: none of them."""

    left: AreCopies | None
    right: AreCopies | None
    split: AreCopies | None = None
    """Left rows whose partners are spread over the tasks: no single task knows whether they have one."""


NO_COPIES = Copies(None, None)


class WindowBounds(NamedTuple):
    """Where the windows of rows that come out begin and end, in microseconds; NEVER: a row is in none."""

    start: Int64s
    end: Int64s

    def ordered(self, order: Int64s) -> WindowBounds:
        return WindowBounds(self.start[order], self.end[order])


class Emitted(NamedTuple):
    """Row numbers: the pairs, and the rows that come out alone (for semi joins: the left rows that
    matched)."""

    left: Int64s
    right: Int64s
    left_alone: Int64s
    right_alone: Int64s
    counts: Counts
    peak_rows: int  # buffered on both sides when most were
    capped: tuple[Int64s, Int64s]  # rows of each side that had to make room for others of their key
    bounds: WindowBounds | None = (
        None  # of a window join: of the pairs, then of lone left rows, then of lone right
    )


def counted(held: Held, copies: AreCopies | None) -> Held:
    """Without the rows that another task counts."""
    return held if copies is None else held.where(~copies(held))
