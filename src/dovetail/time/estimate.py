"""Law: an estimate never goes back, and depends only on the sequence of sketches it has seen and on when they
were written.

Paper, section 5.3. A stream is cut into observations of some rows. A statistic of their event times (a low
percentile, or the mean) gives a value. While the values ascend, the newest is the stream's time. Where they
do not, the window is too small for the stream's disorder, and values of windows of 2, 4, 8, ... observations
are tried.

    level 0   2   3   1   2   4   1   3   5   3   4   7   5   6   4   8   7     not ascending
    level 1    2.5     1.5     2.5      4      3.5      6      5     7.5        not ascending
    level 2        2             3.25            4.75           6.25            ascending: 6.25

All levels are kept at once. Each has the sketch of its unfinished window and the values of the last finished
ones, so memory does not grow with the window.

Beyond the paper. The estimate moves to a smaller level only when twice as many values ascend there, because a
few may ascend by chance. If even the largest window does not ascend, the smallest of its values is taken.

The paper's value comes from rows that have arrived and says little about rows to come: in an ordered stream
nearly all later rows are above it, and rows that are uploaded once an hour are not in the last windows. So
the estimate also keeps a history, with a half-life, of how far rows were from the stream's front when they
arrived. Once the paper's value exists, the time is the front plus a low quantile of that history. Which
quantile is learned: it goes up a little with every observation that has fewer late rows than wanted, and down
with every one that has more. In the long run the share of late rows is therefore the wanted one, whatever
the stream does (adaptive conformal inference: Gibbs and Candes, 2021).

The history does not fade in two cases. While more rows have been late than wanted (the learned share is a
debt), what made them late may come back: a partition that stalls for an hour in four is forgotten eight times
over before it stalls again. And a history in which not one row may be late is not halved: of a sparse stream,
which has few rows in a half-life, one gap would leave none, and time would be at the front.

A backlog of hours in one commit is one observation of perhaps millions of rows. The order in which they came
is not known, so it says nothing about lateness: an observation that leaps ahead is not remembered, and its
front is its low end. If the rest of the backlog comes in commits that cover the same hours, it is on time.
When live rows come, the next observation moves time to them.

    front     the median of the newest observation, or its low quantile if it leaps; it never goes back
    time      front + quantile of the history, but at most the newest row that has arrived;
              the paper's value if there is no history
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
"""How much of the difference between the wanted and the seen share one observation corrects."""
FEWEST_ROWS = 7
"""The least rows of an observation that event time completes. Three of them may be dated ahead of all others:
the front is the median."""
AHEAD_ROWS, AHEAD_US = 64, 60_000_000
"""An observation of few rows waits for this many if its front is this far ahead of its commit's clock. A
producer whose clock is wrong sends several rows in a row, and they may be all that a sparse stream has. With
the rows that follow, the median is right again. A stream that is ahead as a whole has larger observations."""
USUAL, LEAP = 0.9, 8
"""An observation leaps if it goes this many times as far as nearly all rows went before."""
LEAST, MOST = -1.0, 0.99
"""Bounds of the learned share. A negative share is a debt: many rows were late at once, so for a while hardly
any row is left behind."""
HARDLY_ANY = 1 / 64
"""The least share, as a fraction of the wanted one. With less, a single late row could hold back the time."""


class Level(NamedTuple):
    """Windows of one size: the unfinished one, whether its first half is in it, and values, oldest first."""

    open: EventTimeSketch = EMPTY
    half: bool = False
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """`level` is the one in use; its windows have `2 ** level` observations. `gathered` becomes the next
    observation. Of the `seen` rows, `on_time` were not behind the estimate when they arrived. `lateness` is
    the history: rows by how far they were ahead of the front (mostly negative). It was last halved when the
    front was at `aged_us`. `left_behind` is the learned share (None: the wanted one)."""

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
        """The values of the windows in use, oldest first."""
        return self.levels[self.level].values if self.levels else ()

    @property
    def accuracy(self) -> float | None:
        """The share of rows that were at or above the estimate when they arrived."""
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


def observe(
    estimate: Estimate, spec: EstimateSpec, sketch: EventTimeSketch, written_us: int | None = None
) -> Estimate:
    """The estimate after more rows of the stream. `written_us`: when they were written; None: not known."""
    if sketch.count == 0:
        return estimate
    gathered = estimate.gathered.merge(sketch)
    estimate = replace(
        estimate,
        gathered=gathered,
        seen=estimate.seen + sketch.count,
        on_time=estimate.on_time + sketch.rows_since(estimate.time_us),
    )
    # The front moves with every sketch that is gathered, but is only stored with the whole observation: how
    # an observation is cut into sketches must not matter.
    front_us = max(estimate.front_us, _front(gathered))
    since_us = estimate.front_us if estimate.front_us != NEVER else gathered.min_us
    long_enough = front_us - since_us >= spec.sample_us
    # Of a sparse stream every row covers much event time. One row alone, perhaps dated days ahead, must not
    # become the front.
    ahead = written_us is not None and _front(gathered) > written_us + AHEAD_US
    fewest_rows = AHEAD_ROWS if ahead else FEWEST_ROWS
    if gathered.count < spec.sample_rows and not (long_enough and gathered.count >= fewest_rows):
        return estimate
    levels = _carried(estimate.levels or (Level(),) * spec.levels, spec, gathered.focused(spec.share))
    level = _level(levels, estimate.level, spec)
    # Learn before remembering: the share is judged by the estimate that these rows met, and the history must
    # not yet contain them.
    estimate = _learned(estimate, spec)
    if _leaps(estimate, spec, front_us):
        # At its low end, as in the paper: the rest of the backlog may be as old.
        low_us = gathered.quantile(spec.share)
        assert low_us is not None, "an observation has rows"
        leap_us = max(low_us, estimate.front_us) - estimate.front_us
        front_us = estimate.front_us + leap_us
        estimate = replace(estimate, front_us=front_us, aged_us=estimate.aged_us + leap_us)
    else:
        estimate = _remembered(estimate, spec, gathered, front_us)
    value = _value(levels[level].values, spec)
    if value != NEVER and estimate.left_behind is not None:
        share = max(estimate.left_behind, HARDLY_ANY * spec.wanted_late)
        ahead_us = estimate.lateness.quantile(share)
        # A history of rows far ahead of the front could put the time beyond every row seen, and then nothing
        # that comes would be on time.
        value = value if ahead_us is None else min(front_us + ahead_us, gathered.max_us)
    time_us = max(estimate.time_us, value)
    return replace(estimate, time_us=time_us, level=level, gathered=EMPTY, levels=levels)


def _learned(estimate: Estimate, spec: EstimateSpec) -> Estimate:
    """Adjusts the share of rows to leave behind by how many rows of the observation were late."""
    if spec.statistic != "percentile":
        return estimate
    left_behind = spec.wanted_late if estimate.left_behind is None else estimate.left_behind
    if estimate.time_us != NEVER:
        observation = estimate.gathered
        late = 1 - observation.rows_since(estimate.time_us) / observation.count
        # An observation that time has closed early has few rows, and teaches less.
        weight = LEARNING * min(1.0, observation.count / spec.sample_rows)
        left_behind = min(max(left_behind + weight * (spec.wanted_late - late), LEAST), MOST)
    return replace(estimate, left_behind=left_behind)


def _leaps(estimate: Estimate, spec: EstimateSpec, front_us: int) -> bool:
    """Whether an observation goes much further than usual: hours of backlog in one commit, or a gap."""
    usual_us = estimate.lateness.quantile(USUAL)
    if estimate.front_us == NEVER or usual_us is None:
        return False
    return front_us - estimate.front_us > LEAP * max(usual_us, spec.sample_us)


def _remembered(
    estimate: Estimate, spec: EstimateSpec, observation: EventTimeSketch, front_us: int
) -> Estimate:
    """Adds to the history how far the rows of an observation were ahead of the front before them."""
    if estimate.front_us == NEVER or not spec.memory_us:
        return replace(estimate, front_us=front_us, aged_us=front_us)
    lateness, aged_us = _faded(estimate, spec, front_us)
    lateness = lateness.merge(observation.shifted(-estimate.front_us)).focused(spec.share)
    return replace(estimate, front_us=front_us, lateness=lateness, aged_us=aged_us)


def _faded(estimate: Estimate, spec: EstimateSpec, front_us: int) -> tuple[EventTimeSketch, int]:
    """The history, halved for every half-life that the front has gone, and up to where it is halved."""
    lateness, aged_us = estimate.lateness, estimate.aged_us
    fades = estimate.left_behind is None or estimate.left_behind >= 0
    while fades and lateness.count >= spec.rows_for_one_late and front_us - aged_us >= spec.memory_us:
        lateness, aged_us = lateness.halved(), aged_us + spec.memory_us
    # Half-lives in which nothing was forgotten are over. Otherwise all of them would count at once later.
    return lateness, max(aged_us, front_us - spec.memory_us)


def _front(observation: EventTimeSketch) -> int:
    front_us = observation.quantile(FRONT)
    assert front_us is not None, "an observation has rows"
    return front_us


def _carried(
    levels: tuple[Level, ...], spec: EstimateSpec, observation: EventTimeSketch
) -> tuple[Level, ...]:
    """Adds an observation to every level, as a carry runs through the digits of a binary counter."""
    made = list(levels)
    for number, level in enumerate(levels):
        window = level.open.merge(observation)
        if number > 0 and not level.half:
            made[number] = Level(window.focused(spec.share), True, level.values)
            break
        values = (*level.values, _statistic(spec, window))[-2 * spec.ascending :]
        made[number] = Level(values=values)
        observation = window  # it is full, and goes into the next larger one
    return tuple(made)


def _level(levels: tuple[Level, ...], level: int, spec: EstimateSpec) -> int:
    """The level to use: up while its values do not ascend, down while twice as many as needed do."""
    while level + 1 < len(levels) and not _ascend(levels[level].values[-spec.ascending :]):
        level += 1
    while level > 0:
        smaller = levels[level - 1].values
        if len(smaller) < 2 * spec.ascending or not _ascend(smaller):
            break
        level -= 1
    return level


def _value(values: tuple[int, ...], spec: EstimateSpec) -> int:
    """The newest value if the last ones ascend, else the smallest of them; NEVER if there are too few."""
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
