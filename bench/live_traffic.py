"""Live traffic: which rows are in which small file, and when each file appears.

Law: everything follows from the `Traffic`, so the pairs that a join must find are known before anything runs.
A side writes one file every `every_s`. Keys come in blocks of `BLOCK_S`: within a block the two sides share
as many keys as the slower one has rows (less the share that stays alone), each key once a side, shuffled. So
a pair is a key, and its rows are up to a block apart. The first file of each side is a block of its own: it
makes the first result, and traffic by the clock begins after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bench.workload import SIDES, Side

BLOCK_S = 10.0
_ALONE = {"left": 1 << 40, "right": 1 << 41}
"""Keys from here on are on one side only."""

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class Traffic:
    """`lone_share` of the slower side's rows find no partner. For `idle_s` from `idle_from_s` on nothing
    appears; the first file after it carries the rows of `burst_s` seconds more."""

    left_per_s: int
    right_per_s: int
    seconds: float
    every_s: float = 0.25
    window_s: float = 60.0
    lone_share: float = 0.0
    idle_from_s: float = 0.0
    idle_s: float = 0.0
    burst_s: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.left_per_s, self.right_per_s) * self.every_s < 1:
            raise ValueError(f"{self.every_s:g} s of rows do not fill a file: give at least one row a file")
        if not 0 <= self.lone_share < 1:
            raise ValueError("the share of rows without a partner is from 0 to below 1")
        if self.window_s < BLOCK_S:
            raise ValueError(f"a window must be at least {BLOCK_S:g} s wide: pairs are up to that far apart")

    @property
    def max_delay_s(self) -> int:
        """Rows are in order. A delay of some seconds is what anybody would allow."""
        return 2

    def per_s(self, side: Side) -> int:
        return self.left_per_s if side == "left" else self.right_per_s

    @cached_property
    def appear_s(self) -> list[float]:
        """When each file appears, in seconds after the traffic begins; the first is there before."""
        ticks = np.arange(1, round(self.seconds / self.every_s) + 1) * self.every_s
        busy = (ticks <= self.idle_from_s) | (ticks > self.idle_from_s + self.idle_s)
        return [0.0, *ticks[busy].tolist()]

    @cached_property
    def burst_file(self) -> int | None:
        """The first file after the silence."""
        if not self.idle_s:
            return None
        return next((n for n, at in enumerate(self.appear_s) if at > self.idle_from_s + self.idle_s), None)

    @property
    def files(self) -> int:
        return len(self.appear_s)

    def rows(self, side: Side, file: int) -> int:
        extra = self.burst_s if file == self.burst_file else 0.0
        return round(self.per_s(side) * (self.every_s + extra))

    def times_us(self, side: Side, file: int) -> NDArray[np.int64]:
        """Event times of a file's rows, from the beginning of the traffic: evenly over the time before it
        appears. The rows of a burst happened within one file's time, as a burst does."""
        rows = self.rows(side, file)
        begin_us = round((self.appear_s[file] - self.every_s) * 1e6)
        return begin_us + (np.arange(rows) * (self.every_s * 1e6) / rows).astype(np.int64)

    @cached_property
    def _blocks(self) -> list[range]:
        """Ranges of files. The first file is a block, and so is what appears within `BLOCK_S`."""
        found, begin = [range(1)], 1
        for file in range(2, self.files + 1):
            if file == self.files or self.appear_s[file] > self.appear_s[begin] + BLOCK_S - self.every_s:
                found.append(range(begin, file))
                begin = file
        return found

    @cached_property
    def keys(self) -> dict[Side, list[Keys]]:
        """The keys of each file. Those below `pairs` are on both sides, all others on one."""
        made: dict[Side, list[Keys]] = {"left": [], "right": []}
        next_key = 0
        for number, block in enumerate(self._blocks):
            sizes = {side: [self.rows(side, file) for file in block] for side in SIDES}
            shared = round(min(sum(sizes[side]) for side in SIDES) * (1 - self.lone_share))
            for side in SIDES:
                total = sum(sizes[side])
                alone = _ALONE[side] + sum(map(len, made[side])) + np.arange(total - shared)
                keys = np.concatenate([next_key + np.arange(shared), alone])
                random = np.random.default_rng((self.seed, number, SIDES.index(side)))
                random.shuffle(keys)
                made[side] += np.split(keys, np.cumsum(sizes[side])[:-1])
            next_key += shared
        return made

    @cached_property
    def pairs(self) -> int:
        """Keys 0 to `pairs` are those of all pairs."""
        return sum(int((~is_alone(keys)).sum()) for keys in self.keys["left"])

    @cached_property
    def lone_left(self) -> Keys:
        """Keys of the left rows that come out alone of a left join."""
        keys = np.concatenate(self.keys["left"])
        return keys[is_alone(keys)]


def is_alone(keys: Keys) -> NDArray[np.bool_]:
    """Which keys are on one side only."""
    return keys >= _ALONE["left"]
