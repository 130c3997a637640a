"""A seeded join: its kind, and the rows of both streams. Times are plain numbers, of any unit.

No row is behind its stream's time when it comes (the disorder is below `MAX_DELAY`), so that the result is
the batch join, however the streams are cut.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple, get_args

from dovetail.model.interval import JoinType, Pick
from dovetail.service.torture import oracle
from dovetail.service.torture.oracle import Result, Row

BEFORE, AFTER, MAX_DELAY = 120, 90, 60
_PACE = 10
_NULLS = 0.03


class Mode(NamedTuple):
    how: JoinType
    pick: Pick | None = None  # None: all partners
    theta: bool = False  # keys match that are the same letter, or the one before or after

    def __str__(self) -> str:
        words = f"{self.how}, {self.pick}" if self.pick else str(self.how)
        return f"theta, {words}" if self.theta else words


_THETA: tuple[JoinType, ...] = ("inner", "left", "semi", "anti")
_PICKS: tuple[Pick, ...] = ("nearest", "earliest", "latest")
MODES = (
    *(Mode(how) for how in get_args(JoinType)),
    *(Mode("left", pick) for pick in _PICKS),
    *(Mode("full", pick) for pick in _PICKS),
)
THETA_MODES = (
    *(Mode(how, None, True) for how in _THETA),
    *(Mode("left", pick, True) for pick in _PICKS),
)


@dataclass(frozen=True)
class Workload:
    mode: Mode
    left: list[Row]
    right: list[Row]

    @classmethod
    def of(cls, seed: int | str, rows: int, modes: tuple[Mode, ...] = MODES) -> Workload:
        rng = random.Random(seed)
        return cls(rng.choice(modes), random_rows(rng, rows, MAX_DELAY), random_rows(rng, rows, MAX_DELAY))

    def expected(self) -> Counter[Result]:
        return oracle.expected(self.left, self.right, BEFORE, AFTER, *self.mode)


def random_rows(rng: random.Random, count: int, max_delay: int) -> list[Row]:
    """Keys of a few letters, times that advance with disorder below `max_delay`, some nulls. No two rows of a
    key have the same time: which of two a join picks would depend on the order in which tasks wrote them."""
    rows: list[Row] = []
    seen = set()
    for number in range(count):
        key = None if rng.random() < _NULLS else rng.choice("abcdefgh")
        time = None if rng.random() < _NULLS else number * _PACE + rng.randrange(max_delay)
        while time is not None and (key, time) in seen:
            time = number * _PACE + rng.randrange(max_delay)
        seen.add((key, time))
        rows.append((key, time, number))
    return rows


def cut(rows: list[Row], part: int, parts: int) -> list[Row]:
    """One of so many parts, in the order of arrival."""
    return rows[part * len(rows) // parts : (part + 1) * len(rows) // parts]
