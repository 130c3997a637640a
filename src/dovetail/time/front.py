"""How far a stream has come, by rows that confirm each other.

Law: as long as fewer than `confirmed_by` recent rows are dated ahead of all others, and ahead of the log's
clock, the front is not ahead of the others. It never goes back, and is never ahead of the newest row.

One row dated two days ahead would otherwise take a stream's time there, and all rows of two days would be
late. So the front is the newest event time that `confirmed_by` recent rows have reached, or a 16th of them
where that is more: a fleet in which one clock in a hundred is wrong goes wrong again and again.

    12:01  12:02  12:02  12:04  12:03  12:05  Thursday        confirmed_by = 4: the front is 12:03
                         ------------------------------

Recent are the rows of two generations: the one that is being filled, and the one before it. A generation has
at least `GENERATION` rows; a commit belongs to one as a whole. Of each only the newest times are kept.

A dense stream loses a few rows by this, or about a tenth of a large commit: its sketch has the newest times
in groups, and a group counts as no newer than the group below it, because one wild row spoils a group's mean.

A sparse stream would lose hours: four rows are four hours if one comes every hour. There the log's clock can
confirm a row as well, if it says that the stream is live. A row counts at once if it is not ahead of the
clock of its commit, and if the time that it gives leaves room for the slowest recent row: rows that lag the
clock by no more than `max_delay`, or than a recent row did, stay on time. Old rows that are read again do not
pass this test: they lag by days, and the slowest more than the newest by all that is read in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dovetail.model import json_values
from dovetail.model.offset import NEVER
from dovetail.model.sketch import EventTimeSketch

KIND, VERSION = "confirmed", 1
GENERATION, FILLED = 256, 8
"""How many rows fill a generation, and how many times `confirmed_by` if that is more."""
PART = 16
"""At least one in this many recent rows must confirm the front."""
KEPT = 32
"""About how many times a generation keeps."""

Points = tuple[tuple[int, int], ...]
"""Times and how many rows have them, newest first. A time may be too low, never too high."""


class Generation(NamedTuple):
    """Some rows in the order in which they came. `lag_us`: how far the slowest was behind the clock of its
    commit (None: not known)."""

    rows: int = 0
    lag_us: int | None = None
    points: Points = ()


EMPTY = Generation()


class SeenCommit(NamedTuple):
    """A commit as the front sees it. `written_us` None: its clock is not known."""

    sketches: Sequence[EventTimeSketch]
    written_us: int | None = None


@dataclass(frozen=True)
class Front:
    """`reached_us` is the newest row that is not ahead of the clock of its commit, confirmed or not."""

    time_us: int = NEVER
    reached_us: int = NEVER
    filling: Generation = EMPTY
    before: Generation = EMPTY

    @property
    def recent_rows(self) -> int:
        return self.filling.rows + self.before.rows

    def after(self, seen: SeenCommit, confirmed_by: int, max_delay_us: int) -> Front:
        """The front after a commit."""
        timed = [sketch for sketch in seen.sketches if sketch.count]
        if not timed:
            return self
        if confirmed_by <= 1:
            return replace(self, time_us=max(self.time_us, *(sketch.max_us for sketch in timed)))
        filling = _filled(self.filling, timed, seen.written_us, confirmed_by)
        # A generation that is full speaks for itself. With the rows before it, those of a backlog of hours
        # would have to be outnumbered first.
        full = filling.rows >= max(GENERATION, FILLED * confirmed_by)
        front_us = _confirmed((filling,) if full else (filling, self.before), confirmed_by)
        reached_us = self.reached_us
        if seen.written_us is not None:
            reached_us = max(reached_us, _newest_until(filling, seen.written_us))
            lags_us = [part.lag_us for part in (filling, self.before) if part.lag_us is not None]
            room_us = max(0, max(lags_us) - max_delay_us)
            # While there are fewer rows than must confirm a time, none of them may be right, nor its lag.
            if filling.rows + self.before.rows >= confirmed_by:
                front_us = max(front_us, _newest_until(filling, seen.written_us - room_us))
        return Front(
            max(self.time_us, front_us),
            reached_us,
            EMPTY if full else filling,
            filling if full else self.before,
        )

    def rows_beyond(self, time_us: int) -> int:
        """About how many recent rows are after a time."""
        if time_us == NEVER:
            return self.recent_rows
        both = (*self.filling.points, *self.before.points)
        return sum(weight for at_us, weight in both if at_us > time_us)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "version": VERSION,
            "time_us": self.time_us,
            "reached_us": self.reached_us,
            "generations": [
                [part.rows, part.lag_us, [list(point) for point in part.points]]
                for part in (self.filling, self.before)
            ],
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Front:
        """Raises ValueError, KeyError or TypeError for anything that `to_json` cannot have made."""
        names = ("kind", "version", "time_us", "reached_us", "generations")
        if json_values.fields(said, names)["version"] != VERSION:
            raise ValueError(f"version {said['version']!r} is not {VERSION}")
        filling, before = (
            Generation(
                json_values.whole(rows),
                None if lag_us is None else json_values.whole(lag_us, -(2**64), 2**64),
                tuple(
                    (json_values.time_us(time_us), json_values.whole(weight, 1))
                    for time_us, weight in json_values.items(points)
                ),
            )
            for rows, lag_us, points in json_values.items(said["generations"])
        )
        return cls(
            json_values.time_us(said["time_us"]), json_values.time_us(said["reached_us"]), filling, before
        )


def is_front(saved: Mapping[str, Any]) -> bool:
    """Whether an offset has saved a front, and not an estimate."""
    return saved.get("kind") == KIND


def _filled(
    part: Generation, sketches: Sequence[EventTimeSketch], written_us: int | None, confirmed_by: int
) -> Generation:
    rows = part.rows + sum(sketch.count for sketch in sketches)
    lag_us = part.lag_us
    if written_us is not None:
        oldest_lag_us = written_us - min(sketch.min_us for sketch in sketches)
        lag_us = oldest_lag_us if lag_us is None else max(lag_us, oldest_lag_us)
    times = [time_us for time_us, _ in part.points]
    weights = [weight for _, weight in part.points]
    for sketch in sketches:
        times += _at_least(sketch)
        weights += sketch.weights
        if sketch.weights[-1] > 1:  # of the last group the newest row is known
            times.append(sketch.max_us)
            weights[-1:] = [weights[-1] - 1, 1]
    # Twice what this generation needs to confirm a time, as the other one may be as large.
    return Generation(
        rows, lag_us, _newest(times, weights, 2 * max(confirmed_by, KEPT // 2, -(-rows // PART)))
    )


def _at_least(sketch: EventTimeSketch) -> list[int]:
    """A time for each group that none of its rows is before. A row alone is known; groups follow each other,
    so no row of a group is before the mean of the group below."""
    low_us, means, top = sketch.min_us, sketch.means, sketch.max_us - sketch.min_us
    return [
        low_us + (mean if weight == 1 or mean == top else below)
        for below, mean, weight in zip((0, *means), means, sketch.weights, strict=False)
    ]


def _newest(times: list[int], weights: list[int], wanted: int) -> Points:
    """The newest `wanted` rows, in about `KEPT` points: neighbours share the lower of their times."""
    line, counts = np.array(times, np.int64), np.array(weights, np.int64)
    order = np.argsort(line, kind="stable")[::-1]
    line, reached = line[order], np.cumsum(counts[order])
    stop = min(int(np.searchsorted(reached, wanted)) + 1, len(line))
    line, reached = line[:stop], reached[:stop]
    # The last row of every step of `step` rows, and the last of all.
    step = -(-wanted // KEPT)
    last = np.flatnonzero(np.append(np.diff(reached // step) > 0, True))
    last = last[np.append(np.diff(line[last]) != 0, True)]
    return tuple(zip(line[last].tolist(), np.diff(reached[last], prepend=0).tolist(), strict=True))


def _newest_until(part: Generation, limit_us: int) -> int:
    return max((time_us for time_us, _ in part.points if time_us <= limit_us), default=NEVER)


def _confirmed(parts: Sequence[Generation], confirmed_by: int) -> int:
    """The newest time that enough of the rows have reached; NEVER if there are not enough."""
    wanted = max(confirmed_by, -(-sum(part.rows for part in parts) // PART))
    for time_us, weight in sorted((point for part in parts for point in part.points), reverse=True):
        wanted -= weight
        if wanted <= 0:
            return time_us
    return NEVER
