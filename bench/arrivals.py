"""Arrival processes: when rows happened, and when they come.

Law: a stream is a function of its process, its length and its seed.

    rate ──► event times ──delay──► arrivals ──hindrances──► arrivals in order, cut into commits

A rate says how many rows happen, a delay how long each is on its way, a hindrance what befalls them there: an
outage, an upload every minute, a clock that is wrong, an end. Several producers merged are a stream again.
All seconds count from 0; a log has them in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.streams import Arrivals
from dovetail.model.sketch import EventTimeSketch
from dovetail.time.clock import CommitSummary

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Random = np.random.Generator

SECOND, HOUR_S, DAY_S = 1_000_000, 3600.0, 86_400.0


class Rows(NamedTuple):
    """Rows on their way, in any order."""

    event_s: Floats
    arrival_s: Floats
    producer: Ints

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        return Rows(*(column[chosen] for column in self))


Rate = Callable[[Floats], Floats]
"""Rows per second at some event times."""
Delay = Callable[[Random, Floats], Floats]
"""Seconds from event to arrival, for some event times."""
Hindrance = Callable[[Random, Rows], Rows]


@dataclass(frozen=True)
class Process:
    rate: Rate
    delay: Delay
    hindrances: tuple[Hindrance, ...] = ()
    from_s: float = 0.0

    def rows(self, rng: Random, seconds: float) -> Rows:
        """What happens from `from_s` on for `seconds`."""
        line = self.from_s + np.linspace(0, seconds, 2001)
        most = float(self.rate(line).max(initial=0))
        event = self.from_s + np.sort(rng.random(rng.poisson(most * seconds))) * seconds
        event = event[rng.random(len(event)) * most < self.rate(event)]
        rows = Rows(event, event + self.delay(rng, event), np.zeros(len(event), np.int64))
        for hinder in self.hindrances:
            rows = hinder(rng, rows)
        return rows


def merged(*producers: Rows) -> Rows:
    """One stream of several producers."""
    numbered = [rows._replace(producer=rows.producer + n) for n, rows in enumerate(producers)]
    return Rows(*(np.concatenate(columns) for columns in zip(*numbered, strict=True)))


# --- rates ---


def steady(per_s: float) -> Rate:
    return lambda at: np.full(len(at), per_s)


def cyclic(per_s: float, swing: float, period_s: float = DAY_S) -> Rate:
    """Least at 0, most half a period later."""
    return lambda at: per_s * (1 - swing * np.cos(2 * np.pi * at / period_s))


# --- delays ---


def none() -> Delay:
    return lambda rng, at: np.zeros(len(at))


def uniform(low_s: float, high_s: float) -> Delay:
    return lambda rng, at: rng.uniform(low_s, high_s, len(at))


def exponential(mean_s: float) -> Delay:
    return lambda rng, at: rng.exponential(mean_s, len(at))


def lognormal(median_s: float, sigma: float) -> Delay:
    return lambda rng, at: median_s * rng.lognormal(0, sigma, len(at))


def pareto(least_s: float, alpha: float) -> Delay:
    """A heavy tail: below `alpha` 2 without a variance, below 1 without a mean."""
    return lambda rng, at: least_s * (1 + rng.pareto(alpha, len(at)))


def shifted(lag_s: float, delay: Delay) -> Delay:
    return lambda rng, at: lag_s + delay(rng, at)


def mixed(*parts: tuple[float, Delay]) -> Delay:
    """Populations: each row's delay is of one of them, by their shares."""

    def draw(rng: Random, at: Floats) -> Floats:
        shares = np.array([share for share, _ in parts])
        kind = rng.choice(len(parts), len(at), p=shares / shares.sum())
        return np.choose(kind, [delay(rng, at) for _, delay in parts])

    return draw


def changing(*parts: tuple[float, Delay]) -> Delay:
    """`(since_s, delay)`: each holds from its event time on."""

    def draw(rng: Random, at: Floats) -> Floats:
        kind = np.searchsorted([since for since, _ in parts[1:]], at, side="right")
        return np.choose(kind, [delay(rng, at) for _, delay in parts])

    return draw


def scaled(delay: Delay, factor: Callable[[Floats], Floats]) -> Delay:
    """A delay that grows and shrinks with event time."""
    return lambda rng, at: delay(rng, at) * factor(at)


def swell(start_s: float, stop_s: float, ramp_s: float, times: float) -> Callable[[Floats], Floats]:
    """The factor 1, rising over `ramp_s` to `times` at `start_s`, and falling back from `stop_s` on."""
    knots = [start_s - ramp_s, start_s, stop_s, stop_s + ramp_s]
    return lambda at: np.interp(at, knots, [1, times, times, 1])


def growing(delay: Delay, per_s: float) -> Delay:
    """A lag that grows steadily, as of a producer that does not keep up."""
    return lambda rng, at: delay(rng, at) + per_s * (at - at[0] if len(at) else at)


# --- hindrances ---


def outage(start_s: float, stop_s: float, catch_up: float = np.inf) -> Hindrance:
    """Nothing arrives in between; then what waited does, at once or `catch_up` times as fast as it would
    have."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        waits = rows.arrival_s >= start_s
        late = stop_s + (rows.arrival_s - start_s) / catch_up
        return rows._replace(arrival_s=np.where(waits, np.maximum(rows.arrival_s, late), rows.arrival_s))

    return hinder


def uploads(period_s: float, share: float = 1.0) -> Hindrance:
    """A share of the rows comes together, once a period."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        together = rng.random(len(rows.event_s)) < share
        held = np.ceil(rows.arrival_s / period_s) * period_s
        return rows._replace(arrival_s=np.where(together, held, rows.arrival_s))

    return hinder


def lost(start_s: float, stop_s: float = np.inf) -> Hindrance:
    """Nothing happens in between: a pause, or the end."""
    return lambda rng, rows: rows.where((rows.event_s < start_s) | (rows.event_s >= stop_s))


def skewed_clocks(share: float, by_s: float) -> Hindrance:
    """Some producers' clocks are wrong: their rows say another time than the true one."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        wrong = rng.random(len(rows.event_s)) < share
        return rows._replace(event_s=rows.event_s + np.where(wrong, by_s, 0.0))

    return hinder


def wild(by_s: float, *at_share: float) -> Hindrance:
    """Single rows are dated ahead: those that come when these shares of all rows have come."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        event, came = rows.event_s.copy(), np.argsort(rows.arrival_s, kind="stable")
        for share in at_share if len(came) else ():
            event[came[int(share * (len(came) - 1))]] += by_s
        return rows._replace(event_s=event)

    return hinder


# --- the log ---


class Keyed(NamedTuple):
    """Event times and keys of some rows."""

    time: Ints
    key: Ints


class Log:
    """A stream as a log has it: rows numbered in order of arrival, a commit for every `commit_s` in which
    some came. `by_producer`: a commit has a segment, and so a sketch, for each producer, as tasks write
    them."""

    def __init__(self, rows: Rows, keys: Ints, commit_s: float, *, by_producer: bool = False) -> None:
        commit = np.floor(rows.arrival_s / commit_s).astype(np.int64)
        order = np.lexsort((rows.arrival_s, rows.producer, commit) if by_producer else (rows.arrival_s,))
        self.time = (rows.event_s[order] * SECOND).astype(np.int64)
        self.arrival = (rows.arrival_s[order] * SECOND).astype(np.int64)
        self.key = keys[order]
        self.hash = (self.key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
        numbers, first = np.unique(commit[order], return_index=True)
        self.edges = np.append(first, len(order))
        self.written_us = ((numbers + 1) * commit_s * SECOND).astype(np.int64)
        producer = rows.producer[order] if by_producer else None
        self.commits = [
            self._summary(producer, a, b, written)
            for a, b, written in zip(first, self.edges[1:], self.written_us.tolist(), strict=True)
        ]

    def _summary(self, producer: Ints | None, start: int, stop: int, written_us: int) -> CommitSummary:
        times = self.time[start:stop]
        cuts = [] if producer is None else 1 + np.flatnonzero(np.diff(producer[start:stop]))
        runs = np.split(times, cuts) if len(cuts) else [times]
        sketches = tuple(map(EventTimeSketch.of, runs))
        return CommitSummary(int(stop - start), int(times.max()), sketches, written_us)

    def __len__(self) -> int:
        return len(self.time)

    def some(self, chosen: NDArray[Any]) -> Keyed:
        return Keyed(self.time[chosen], self.key[chosen])

    def known(self, now_us: int) -> int:
        """Commits written by then."""
        return int(np.searchsorted(self.written_us, now_us, side="right"))

    def arrivals(self, start: int, stop: int) -> Arrivals:
        """Rows of the commits `start..stop-1`."""
        rows = slice(self.edges[start], self.edges[stop])
        return Arrivals(self.hash[rows], self.time[rows], np.arange(rows.start, rows.stop))


def logged(rng: Random, rows: Rows, keys: int, commit_s: float, *, by_producer: bool = False) -> Log:
    """A log of rows whose keys are drawn at random, so that they repeat."""
    return Log(rows, rng.integers(0, max(1, keys), len(rows.event_s)), commit_s, by_producer=by_producer)
