"""Law: an estimate never goes back, and is a function of the sequence of sketches that it was shown.

Paper, section 5.3. A stream is cut into observations of some rows. A statistic of their event times (a low
percentile, or the mean) gives a value; values that ascend tell the time, the newest of them is the stream's.
Where they do not ascend, the window is too small for the stream's disorder: neighbours are merged, and the
values of windows of 2, 4, 8, ... observations are looked at.

    level 0   2   3   1   2   4   1   3   5   3   4   7   5   6   4   8   7     not ascending
    level 1    2.5     1.5     2.5      4      3.5      6      5     7.5        not ascending
    level 2        2             3.25            4.75           6.25            ascending: 6.25

All levels are kept at once, each as the sketch of its unfinished window and the values of the last finished
ones, so what is kept does not grow with the window.

Beyond the paper. A level is left for the next smaller one only when twice as many values ascend there, as a
few may do by chance; and where even the largest window does not ascend, the smallest of its values is taken.

The paper's value is taken from rows that have come, and says little of those to come: of a stream in order
nearly all are above it, and rows that are uploaded once an hour are not in the last windows. So it is
remembered, with a half-life, how far rows were ahead of the stream's front when they came (most are behind:
that is less than nothing), and as soon as the paper's value tells that there is a time, a percentile is held
as far from the front as that share of them was. Which share, is learned: it goes up a little with every
observation of which fewer rows than wanted were late, and down where it were more. So the share of late rows
is as wanted in the long run, whatever the stream does (adaptive conformal inference: Gibbs and Candes, 2021).

    front     the median of the newest observation; it does not go back
    time      front + quantile of how far rows were ahead of it, but not ahead of the newest row that came;
              the paper's value where nothing is remembered
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from dovetail.model import json_values
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.offset import NEVER
from dovetail.model.sketch import EMPTY, EventTimeSketch

FRONT = 0.5
LEARNING = 0.1
"""How much of the difference between wanted and seen an observation changes."""
LEAST, MOST = -1.0, 0.99
"""Bounds of the share that is learned. Below nothing it is a debt: many were late at once, and for a while
hardly any row is left behind."""
HARDLY_ANY = 1 / 64
"""Of the share that is wanted. Less would let a single row hold the time of a stream back."""


class Level(NamedTuple):
    """Windows of one size: the unfinished one, whether its first half is in it, and values, oldest first."""

    open: EventTimeSketch = EMPTY
    half: bool = False
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """`level` is the one in use: its windows are of `2 ** level` observations. `gathered` is on the way to
    the next observation. Of the `seen` rows, `on_time` were not behind the estimate that they met.
    `lateness` has rows by how far they were ahead of the front that they met, and was halved for ages when
    the front was at `aged_us`; `left_behind` is the share of them that is left behind (None: as wanted)."""

    time_us: int = NEVER
    level: int = 0
    gathered: EventTimeSketch = EMPTY
    levels: tuple[Level, ...] = ()
    seen: int = 0
    on_time: float = 0.0
    front_us: int = NEVER
    lateness: EventTimeSketch = EMPTY
    aged_us: int = NEVER
    left_behind: float | None = None

    @property
    def window(self) -> int:
        """Observations in a window."""
        return 1 << self.level

    @property
    def values(self) -> tuple[int, ...]:
        """What the windows in use have said, oldest first."""
        return self.levels[self.level].values if self.levels else ()

    @property
    def accuracy(self) -> float | None:
        """Share of rows at or above the estimate that they met."""
        return self.on_time / self.seen if self.seen else None

    def to_json(self) -> dict[str, Any]:
        return {
            "time_us": self.time_us,
            "level": self.level,
            "gathered": self.gathered.to_json(),
            "levels": [[open_.to_json(), half, list(values)] for open_, half, values in self.levels],
            "seen": self.seen,
            "on_time": self.on_time,
            "front_us": self.front_us,
            "lateness": self.lateness.to_json(),
            "aged_us": self.aged_us,
            "left_behind": self.left_behind,
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Estimate:
        """Raises ValueError, KeyError or TypeError for anything that `to_json` cannot have made."""
        left_behind = json_values.fields(said, cls.__dataclass_fields__)["left_behind"]
        levels = tuple(
            Level(
                EventTimeSketch.from_json(open_),
                json_values.flag(half),
                tuple(json_values.time_us(value) for value in json_values.items(values)),
            )
            for open_, half, values in json_values.items(said["levels"])
        )
        return cls(
            time_us=json_values.time_us(said["time_us"]),
            level=json_values.whole(said["level"], high=max(0, len(levels) - 1)),
            gathered=EventTimeSketch.from_json(said["gathered"]),
            levels=levels,
            seen=json_values.whole(said["seen"]),
            on_time=json_values.real(said["on_time"]),
            front_us=json_values.time_us(said["front_us"]),
            lateness=EventTimeSketch.from_json(said["lateness"]),
            aged_us=json_values.time_us(said["aged_us"]),
            left_behind=None if left_behind is None else json_values.real(left_behind, LEAST),
        )


def observe(estimate: Estimate, spec: EstimateSpec, sketch: EventTimeSketch) -> Estimate:
    """The estimate after some more rows of the stream."""
    if sketch.count == 0:
        return estimate
    gathered = estimate.gathered.merge(sketch)
    estimate = replace(
        estimate,
        gathered=gathered,
        seen=estimate.seen + sketch.count,
        on_time=estimate.on_time + sketch.rows_since(estimate.time_us),
    )
    front_us = max(estimate.front_us, _front(gathered))
    since_us = estimate.front_us if estimate.front_us != NEVER else gathered.min_us
    long_enough = front_us - since_us >= spec.sample_us
    if gathered.count < spec.sample_rows and not long_enough:
        return estimate
    levels = _carried(estimate.levels or (Level(),) * spec.levels, spec, gathered.focused(spec.share))
    level = _level(levels, estimate.level, spec)
    estimate = _remembered(_learned(estimate, spec), spec, gathered, front_us)
    value = _value(levels[level].values, spec)
    if value != NEVER and estimate.left_behind is not None:
        share = max(estimate.left_behind, HARDLY_ANY * spec.wanted_late)
        ahead_us = estimate.lateness.quantile(share)
        value = value if ahead_us is None else min(front_us + ahead_us, gathered.max_us)
    time_us = max(estimate.time_us, value)
    return replace(estimate, time_us=time_us, level=level, gathered=EMPTY, levels=levels)


def _learned(estimate: Estimate, spec: EstimateSpec) -> Estimate:
    """What the observation that is gathered says of the share of rows to leave behind."""
    if spec.statistic != "percentile":
        return estimate
    left_behind = spec.wanted_late if estimate.left_behind is None else estimate.left_behind
    if estimate.time_us != NEVER:
        observation = estimate.gathered
        late = 1 - observation.rows_since(estimate.time_us) / observation.count
        weight = LEARNING * min(1.0, observation.count / spec.sample_rows)
        left_behind = min(max(left_behind + weight * (spec.wanted_late - late), LEAST), MOST)
    return replace(estimate, left_behind=left_behind)


def _remembered(
    estimate: Estimate, spec: EstimateSpec, observation: EventTimeSketch, front_us: int
) -> Estimate:
    """How far the rows of an observation were ahead of the front before them, with what is remembered."""
    if estimate.front_us == NEVER or not spec.memory_us:
        return replace(estimate, front_us=front_us, aged_us=front_us)
    lateness, aged_us = estimate.lateness, estimate.aged_us
    while lateness.count and front_us - aged_us >= spec.memory_us:
        lateness, aged_us = lateness.halved(), aged_us + spec.memory_us
    lateness = lateness.merge(observation.shifted(-estimate.front_us)).focused(spec.share)
    aged_us = max(aged_us, front_us - spec.memory_us)
    return replace(estimate, front_us=front_us, lateness=lateness, aged_us=aged_us)


def _front(observation: EventTimeSketch) -> int:
    front_us = observation.quantile(FRONT)
    assert front_us is not None, "an observation has rows"
    return front_us


def _carried(
    levels: tuple[Level, ...], spec: EstimateSpec, observation: EventTimeSketch
) -> tuple[Level, ...]:
    """A new observation goes into every level, as a carry goes through the digits of a binary counter."""
    made = list(levels)
    for number, level in enumerate(levels):
        window = level.open.merge(observation)
        if number > 0 and not level.half:
            made[number] = Level(window.focused(spec.share), True, level.values)
            break
        values = (*level.values, _statistic(spec, window))[-2 * spec.ascending :]
        made[number] = Level(values=values)
        observation = window  # full: it goes into the next larger one
    return tuple(made)


def _level(levels: tuple[Level, ...], level: int, spec: EstimateSpec) -> int:
    """The level to use: up while the values in use do not ascend, down where more than enough of them do."""
    while level + 1 < len(levels) and not _ascend(levels[level].values[-spec.ascending :]):
        level += 1
    while level > 0:
        smaller = levels[level - 1].values
        if len(smaller) < 2 * spec.ascending or not _ascend(smaller):
            break
        level -= 1
    return level


def _value(values: tuple[int, ...], spec: EstimateSpec) -> int:
    """The newest of values that ascend, the smallest of others; nothing is said of too few."""
    last = values[-spec.ascending :]
    if len(last) < spec.ascending:
        return NEVER
    return last[-1] if _ascend(last) else min(last)


def _ascend(values: tuple[int, ...]) -> bool:
    return all(earlier <= later for earlier, later in pairwise(values))


def _statistic(spec: EstimateSpec, sketch: EventTimeSketch) -> int:
    value = sketch.mean() if spec.statistic == "mean" else sketch.quantile(spec.percentile / 100)
    assert value is not None, "an observation has rows"
    return value
