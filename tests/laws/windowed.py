"""A window join over its in-memory state, behind the face that the laws use."""

from __future__ import annotations

import numpy as np

import windows_oracle as oracle
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.joins.windowed.step import Means, step
from dovetail.model.interval import IntervalSpec, Pick
from dovetail.model.window_join import NEVER, Emit, WindowJoin, hopping, session, tumbling
from laws.algorithms import INT64, Hashing, IntervalStep
from streams import Mode, Step, Window

HOWS = ("inner", "left", "right", "full", "semi", "anti")
PICKS: tuple[tuple[str, Pick], ...] = (
    ("inner", "first"),
    ("left", "nearest"),
    ("full", "nearest"),
    ("right", "earliest"),
    ("full", "latest"),
)
WINDOWS = (
    ("tumbling", 1),
    ("tumbling", 5),
    ("hopping", 6, 2),
    ("hopping", 7, 3),
    ("hopping", 4, 4),
    ("session", 2, 9),
    ("session", 3, 1000),
    ("session", 4, 4),
)
"""As the oracle writes them."""


def asked(window: tuple, emit: Emit = "lazy") -> WindowJoin:
    kind, length, *more = window
    if kind == "session":
        return session(length, *more)
    return hopping(length, *more, emit) if more else tumbling(length, emit)


def spec_of(window: WindowJoin, how: str) -> IntervalSpec:
    return IntervalSpec(window.length_us, window.length_us, how)


def written(out) -> list[tuple]:
    """What a step put out, as the oracle writes it."""
    none = [None] * (len(out.left_alone) + len(out.right_alone))
    left = out.left.tolist() + out.left_alone.tolist() + none[: len(out.right_alone)]
    right = out.right.tolist() + none[: len(out.left_alone)] + out.right_alone.tolist()
    bounds = [[None if time == NEVER else time for time in ends.tolist()] for ends in out.bounds]
    return oracle.in_order(zip(left, right, *bounds, strict=True))


class WindowStep(IntervalStep):
    def __init__(
        self,
        window: tuple,
        how: str,
        hashing: Hashing,
        emit: Emit = "lazy",
        threads: int = 1,
        pick: Pick | None = None,
    ) -> None:
        super().__init__(Window(0, 0), Mode("inner", "all", "first"), hashing)
        self.window = asked(window, emit)
        self.state = JoinState.empty(spec_of(self.window, how))
        self.threads, self.pick = threads, pick

    def step(self, new: Step) -> list[tuple]:
        for keys, rows in zip(self.keys, (new.left, new.right), strict=True):
            keys.update((row.id, row.key) for row in rows)
        until = Times(*(int(max(INT64.min, min(INT64.max, time))) for time in new.until))
        task = Means(self.window, threads=self.threads, pick=self.pick)
        if not self.hashing.exact:
            task = task._replace(same_key=self.same_key, key_numbers=self._key_numbers)
        outcome = step(self.state, self.arrivals(new.left), self.arrivals(new.right), until, task)
        self.counts, self.peak_rows = outcome.emitted.counts, outcome.emitted.peak_rows
        assert all(isinstance(column, np.ndarray) for column in outcome.emitted[:4])
        return written(outcome.emitted)

    def _key_numbers(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.concatenate([self.key_labels("left", left), self.key_labels("right", right)])
