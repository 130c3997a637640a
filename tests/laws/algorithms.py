"""The registry: every algorithm that joins by key and interval, behind one face, so that laws try them all.

An algorithm is started on a window, a mode and a way of hashing, then called with one step after another; it
answers with the emitted rows as the oracle writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import numpy as np

from dovetail.joins.emitted import Counts, Emitted
from dovetail.joins.interval.step import step
from dovetail.joins.state import JoinState
from dovetail.joins.streams import ENDED, NEVER, Arrivals, Times
from dovetail.joins.tactics import Worth
from dovetail.model.interval import IntervalSpec
from dovetail.model.time_codes import NO_TIME, NULL_KEY
from oracle import in_order
from streams import Mode, Row, Step, Window

INT64 = np.iinfo(np.int64)


Caps = tuple[int | None, int | None]
NO_CAPS: Caps = (None, None)


class Hashing(NamedTuple):
    """From key to hash. An `exact` one tells keys apart by half its bits, so that no pair needs verifying."""

    name: str
    of: Callable[[int], int]
    exact: bool


EXTREMES = (0, -1, INT64.min, INT64.max, 1 << 32)
HASHINGS = (
    Hashing("spread", lambda key: ((key + 1) * 0x9E3779B97F4A7C15 + (1 << 63)) % (1 << 64) - (1 << 63), True),
    Hashing("extreme", EXTREMES.__getitem__, False),
    Hashing("high bits only", lambda key: key << 60, False),
    Hashing("low bits only", lambda key: key, False),
    Hashing("two values", lambda key: -(key % 2), False),
    Hashing("one value", lambda key: 42, False),
)


class Running(Protocol):
    """A join under way."""

    def step(self, step: Step) -> list[tuple[int | None, int | None]]: ...

    @property
    def waiting(self) -> tuple[int, int]: ...


class Algorithm(NamedTuple):
    name: str
    start: Callable[[Window, Mode, Hashing], Running]


class IntervalStep:
    """The Facebook operator over its in-memory state."""

    worth: Worth | None = None

    def __init__(self, window: Window, mode: Mode, hashing: Hashing, caps: Caps = NO_CAPS) -> None:
        self.state = JoinState.empty(IntervalSpec(*window, *mode, *caps))
        self.hashing = hashing
        self.keys: tuple[dict[int, int | None], dict[int, int | None]] = ({}, {})
        self.counts: Counts | None = None

    def step(self, new: Step) -> list[tuple[int | None, int | None]]:
        for keys, rows in zip(self.keys, (new.left, new.right), strict=True):
            keys.update((row.id, row.key) for row in rows)
        until = Times(*(int(max(INT64.min, min(INT64.max, time))) for time in new.until))
        real = (None, None) if self.hashing.exact else (self.same_key, self.key_labels)
        arrivals = self.arrivals(new.left), self.arrivals(new.right)
        out = step(self.state, *arrivals, until, *real, worth=self.worth)
        self.counts = out.counts
        return in_order(self.rows(out))

    def rows(self, out: Emitted) -> list[tuple[int | None, int | None]]:
        rows: list[tuple[int | None, int | None]] = list(
            zip(out.left.tolist(), out.right.tolist(), strict=True)
        )
        rows += [(row, None) for row in out.left_alone.tolist()]
        rows += [(None, row) for row in out.right_alone.tolist()]
        return rows

    @property
    def waiting(self) -> tuple[int, int]:
        return self.state.left_rows, self.state.right_rows

    def arrivals(self, rows: Iterable[Row]) -> Arrivals:
        columns = [
            (self.hashing.of(key or 0), NULL_KEY if key is None else NO_TIME if time is None else time, row)
            for key, time, row in rows
        ]
        return Arrivals(*np.array(columns, np.int64).reshape(-1, 3).T)

    def same_key(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Called on rows that have arrived, and that have a key: any other row number is a KeyError."""
        keys = zip((self.keys[0][row] for row in left), (self.keys[1][row] for row in right), strict=True)
        return np.array([a == b for a, b in keys], np.bool_)

    def key_labels(self, side: str, rows: np.ndarray) -> np.ndarray:
        keys = self.keys[("left", "right").index(side)]
        return np.array([keys[row] for row in rows], np.int64)


assert (INT64.max, INT64.min) == (ENDED, NEVER), "clipping turns the oracle's infinities into the product's"

ALGORITHMS = (Algorithm("interval", IntervalStep),)
