"""Seeded streams of about 100,000 rows a side, cut at random, as columns.

Large enough that buffers grow, wrap around, are rebuilt and shrink, which the small examples of the laws
never see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.streams import ENDED, NEVER
from dovetail.model.time_codes import NO_TIME

Int64s = NDArray[np.int64]
SECOND = 1_000_000


@dataclass(frozen=True)
class Workload:
    """How two streams look. Event times are the arrival clock less an exponential delay."""

    name: str
    rows: int
    keys: int
    before_us: int
    after_us: int
    zipf: float = 0.0  # exponent of the keys' popularity; 0 = uniform
    max_delay_us: int = 120 * SECOND
    late: bool = False  # longer delays, a few rows dated in the future, stream times that ignore both
    hashes: int = 1 << 40  # with fewer hashes than keys, keys collide
    steps: int = 60
    seed: int = 20180827


class Side(NamedTuple):
    """One stream, in the order in which it arrives; row numbers are positions."""

    key: Int64s
    time: Int64s  # NO_TIME: null
    null_key: NDArray[np.bool_]
    step: Int64s  # in which each row comes
    until: Int64s  # the stream time after each step

    @property
    def usable(self) -> NDArray[np.bool_]:
        return (self.time != NO_TIME) & ~self.null_key

    @property
    def stream_time(self) -> Int64s:
        """Just before each row came."""
        return np.concatenate([[NEVER], self.until])[self.step]

    def leaves(self, until: Int64s, margin_us: int) -> Int64s:
        """The step in which each row leaves: the first, from its own, with `until > time + margin`; at once
        without key or time."""
        passed = np.searchsorted(until, self.time + margin_us, side="right")
        return np.where(self.usable, np.maximum(self.step, passed), self.step)


def make(work: Workload) -> tuple[Side, Side]:
    rng = np.random.default_rng(work.seed)
    return _side(work, rng, lag_us=0), _side(work, rng, lag_us=40 * SECOND)


def hash_of(work: Workload, key: Int64s) -> Int64s:
    """Multiplicative hashing."""
    mixed = (key.astype(np.uint64) % np.uint64(work.hashes) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))).view(np.int64)


def _side(work: Workload, rng: np.random.Generator, lag_us: int) -> Side:
    rows = work.rows
    popularity = np.arange(1, work.keys + 1) ** -work.zipf
    key = rng.choice(work.keys, rows, p=popularity / popularity.sum())
    clock = np.cumsum(rng.exponential(3600 * SECOND / rows, rows)).astype(np.int64) - 1800 * SECOND
    clock = clock // SECOND * SECOND  # whole seconds: ties, and rows exactly on a bound
    delay = rng.exponential(30 * SECOND, rows).astype(np.int64) // SECOND * SECOND
    delay = np.minimum(delay, work.max_delay_us)
    if work.late:
        delay[rng.random(rows) < 0.05] *= 20
        delay[rng.random(rows) < 0.001] = -1800 * SECOND
    time = clock - delay
    time[rng.random(rows) < 0.01] = NO_TIME

    # Cuts at random, so that some steps are empty and some are bursts; the last step only ends the streams.
    cuts = np.sort(rng.integers(0, rows + 1, work.steps - 2))
    cuts[rng.random(len(cuts)) < 0.1] = 0
    cuts.sort()
    step = np.searchsorted(cuts, np.arange(rows), side="right")
    clock_after = np.where(cuts > 0, clock[cuts - 1] if work.late else _maximum(time)[cuts - 1], 0)
    until = np.where(cuts > 0, clock_after - work.max_delay_us - lag_us * work.late, NEVER)
    return Side(key, time, rng.random(rows) < 0.01, step, np.concatenate([until, [ENDED, ENDED]]))


def _maximum(time: Int64s) -> Int64s:
    return np.maximum.accumulate(np.where(time == NO_TIME, -(1 << 60), time))
