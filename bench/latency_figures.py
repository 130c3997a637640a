"""From stamped files and stamped batches to latencies: how long after its later row appeared a pair was out.

A pair that was not out when the run ended counts with the time it had waited by then, so a system that falls
behind looks no better than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from bench.latency_systems import SEEN, Batch, Phases
from bench.live_files import Stamps
from bench.live_traffic import Traffic, is_alone
from bench.slope import slope_of
from bench.workload import SIDES, Side

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}
HELD = 0.95
"""A rate is held if at least this share of it comes out while it comes in."""

Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class Check:
    """Pairs that were expected, and what was wrong with those that came out."""

    expected: int
    missing: int
    twice: int
    foreign: int

    @property
    def equal(self) -> bool:
        return not (self.missing or self.twice or self.foreign)


@dataclass(frozen=True)
class Latencies:
    """For the rows that became due in the measured time. `line`: due second, median and largest latency."""

    rows: int
    p50: float
    p90: float
    p99: float
    max: float
    share_held: float
    line: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def held(self) -> bool:
        return self.share_held >= HELD

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


def pairs_due(traffic: Traffic, stamps: Stamps) -> Seconds:
    """By key: when the later of a pair's two rows appeared."""
    due = np.zeros(traffic.pairs)
    for side in SIDES:
        for keys, at in zip(traffic.keys[side], stamps[side], strict=True):
            shared = keys[~is_alone(keys)]
            due[shared] = np.maximum(due[shared], at)
    return due


def pairs_out(
    traffic: Traffic, batches: Sequence[Batch], wanted: NDArray[np.bool_] | None = None
) -> tuple[Seconds, Check]:
    """By key: when a pair came out, infinite if it did not. `wanted`: the keys to check, by default all."""
    out, times, foreign = np.full(traffic.pairs, np.inf), np.zeros(traffic.pairs, np.int64), 0
    left_files, right_files = (_files_by_key(traffic, side) for side in SIDES)
    for at, rows in batches:
        paired = rows.filter(pc.is_valid(rows.column("right_file")))
        key, left, right = (paired.column(name).to_numpy() for name in SEEN)
        true = (key >= 0) & (key < traffic.pairs)
        known = key[true]
        true[true] = (left_files[known] == left[true]) & (right_files[known] == right[true])
        foreign += int((~true).sum())
        out[key[true]] = np.minimum(out[key[true]], at)
        np.add.at(times, key[true], 1)
    seen = times if wanted is None else times[wanted]
    return out, Check(len(seen), int((seen == 0).sum()), int((seen > 1).sum()), foreign)


def _files_by_key(traffic: Traffic, side: Side) -> NDArray[np.int64]:
    found = np.zeros(traffic.pairs, np.int64)
    for file, keys in enumerate(traffic.keys[side]):
        found[keys[~is_alone(keys)]] = file
    return found


def lone_due(traffic: Traffic, stamps: Stamps) -> Seconds:
    """For each row of `lone_left`: when its window closed. That is when both sides have shown a row later
    than the end of the window by the allowed delay; infinite where the traffic ends before."""
    newest_us = [min(traffic.times_us(side, file)[-1] for side in SIDES) for file in range(traffic.files)]
    shown = np.append(np.maximum(*(np.asarray(stamps[side]) for side in SIDES)), np.inf)
    closes_us = np.concatenate([traffic.times_us("left", file) for file in range(traffic.files)])
    closes_us += round((traffic.window_s + traffic.max_delay_s) * 1e6)
    alone = is_alone(np.concatenate(traffic.keys["left"]))
    due: Seconds = shown[np.searchsorted(newest_us, closes_us[alone], side="right")]
    return due


def lone_out(traffic: Traffic, batches: Sequence[Batch], due: Seconds) -> tuple[Seconds, Check]:
    """For each row of `lone_left`: when it came out, infinite if it did not."""
    place = np.argsort(traffic.lone_left)
    lone = traffic.lone_left[place]
    out, times, foreign = np.full(len(lone), np.inf), np.zeros(len(lone), np.int64), 0
    for at, rows in batches:
        alone = rows.filter(pc.is_null(rows.column("right_file")))
        key = alone.column("key").to_numpy()
        true = np.isin(key, lone)
        foreign += int((~true).sum())
        where = place[np.searchsorted(lone, key[true])]
        out[where] = np.minimum(out[where], at)
        np.add.at(times, where, 1)
    seen = times[np.isfinite(due)]
    return out, Check(len(seen), int((seen == 0).sum()), int((times > 1).sum()), foreign)


def latencies(due: Seconds, out: Seconds, begin: float, end: float, ended: float) -> Latencies:
    """For rows due from `begin` to before `end`; `ended` is when the run was over."""
    chosen = (due >= begin) & (due < end)
    at, took = due[chosen], np.minimum(out[chosen], ended) - due[chosen]
    if not len(took):
        return Latencies(0, *([float("nan")] * len(PERCENTILES)), share_held=float("nan"))
    second = np.floor(at - begin).astype(int)
    line = [
        (float(one), float(np.median(took[second == one])), float(took[second == one].max()))
        for one in np.unique(second)
    ]
    return Latencies(
        len(took),
        *(float(np.percentile(took, share)) for share in PERCENTILES.values()),
        share_held=_share_held(line),
        line=line,
    )


def _share_held(line: list[tuple[float, float, float]]) -> float:
    """If latency grows by s seconds per second, rows come out 1 + s times as slowly as they come in. A growth
    within twice its error is none: micro-batches alone make latency rise and fall."""
    growth = slope_of([second for second, *_ in line], [middle for _, middle, _ in line])
    if growth is None or growth.per_x <= 2 * growth.error:
        return 1.0
    return 1 / (1 + growth.per_x)


def phase_medians(found: Sequence[Phases], begin: float, end: float) -> dict[str, dict[str, float]]:
    """By query: the median milliseconds of each phase of the micro-batches that did something, their rows,
    how many there were, and the time from one to the next. Spark does not know the rows of a slicer that
    reads files itself."""
    chosen: dict[str, list[Phases]] = {}
    for one in found:
        if begin <= one.at < end and "addBatch" in one.ms:
            chosen.setdefault(one.query, []).append(one)
    made = {}
    for query, batches in sorted(chosen.items()):
        names = sorted({name for batch in batches for name in batch.ms})
        made[query] = {name: median(batch.ms.get(name, 0) for batch in batches) for name in names}
        gaps = [after.at - before.at for before, after in pairwise(batches)]
        made[query] |= {
            "rows": median(batch.rows for batch in batches),
            "batches": len(batches),
            "between": 1000 * median(gaps) if gaps else float("nan"),
        }
    return made
