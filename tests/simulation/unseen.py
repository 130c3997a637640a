"""Arrival processes that stream time was not made with.

Three of them found less than 98 % when they were first tried, and stream time was mended for those: five and
eight rows in a row that are days ahead, and one producer of three whose clock is an hour ahead. Unlike those
of the benchmarks they mix rates, and begin with the stream: a row a minute, hours of silence, producers that
disagree about the time.

Nobody can foresee the first stall of a partition, nor the first upload of a client that sends once a day: its
rows are late. So these run for a day and for four: what is asked of stream time is that it expects the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from bench.arrivals import (
    DAY_S,
    HOUR_S,
    Delay,
    Floats,
    Hindrance,
    Process,
    Random,
    Rows,
    cyclic,
    exponential,
    lognormal,
    lost,
    merged,
    mixed,
    outage,
    scaled,
    skewed_clocks,
    steady,
    uniform,
    uploads,
    wild,
)

YEARS_S = 5 * 365 * DAY_S


@dataclass(frozen=True)
class Unseen:
    """`rows`: of one stream. `keys`: how many there are. `window_s`: how far the times of two rows that match
    may differ, at most."""

    rows: Callable[[Random], Rows]
    keys: int = 1200
    window_s: float = 60
    commit_s: float = 20


def one(process: Process, hours: float) -> Callable[[Random], Rows]:
    """A stream of one producer."""
    return lambda rng: process.rows(rng, hours * HOUR_S)


def several(hours: float, *processes: Process) -> Callable[[Random], Rows]:
    """A stream of several producers."""
    return lambda rng: merged(*(process.rows(rng, hours * HOUR_S) for process in processes))


def _bursts(rng: Random) -> Rows:
    """Every twenty minutes or so nothing comes for up to five, and then all at once."""
    rows = Process(steady(10), exponential(2)).rows(rng, 4 * HOUR_S)
    came, at_s = rows.arrival_s.copy(), HOUR_S / 4
    while at_s < 4 * HOUR_S:
        stop_s = at_s + float(rng.uniform(30, 300))
        came = np.where((came >= at_s) & (came < stop_s), stop_s, came)
        at_s = stop_s + float(rng.exponential(1200))
    return rows._replace(arrival_s=came)


def _drifting(per_s: float) -> Hindrance:
    """A clock that gains, or loses."""
    return lambda rng, rows: rows._replace(event_s=rows.event_s * (1 + per_s))


def _twice(rng: Random) -> Rows:
    """Each row is sent over two ways, of which one is slow."""
    rows = Process(steady(5), exponential(1)).rows(rng, 4 * HOUR_S)
    slow = rows._replace(arrival_s=rows.event_s + 30 + rng.exponential(20, len(rows.event_s)))
    return merged(rows, slow)


def stalls(
    producers: int, every_s: float, stall_s: float, hours: float, per_s: float, in_turn: int = 1
) -> Callable[[Random], Rows]:
    """The first of several partitions, or the first few in turn, stand still now and then, and then flood.
    The first stall begins after `every_s`."""

    def rows(rng: Random) -> Rows:
        parts = [
            Process(steady(per_s / producers), exponential(3)).rows(rng, hours * HOUR_S)
            for _ in range(producers)
        ]
        for number, at_s in enumerate(np.arange(every_s, hours * HOUR_S, every_s)):
            stalled = number % in_turn
            came = parts[stalled].arrival_s
            waits = (came >= at_s) & (came < at_s + stall_s)
            parts[stalled] = parts[stalled]._replace(arrival_s=np.where(waits, at_s + stall_s, came))
        return merged(*parts)

    return rows


def _in_a_row(count: int, by_s: float) -> Hindrance:
    """One after another, in the middle, rows have another time."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        event, came = rows.event_s.copy(), np.argsort(rows.arrival_s, kind="stable")
        event[came[len(came) // 2 :][:count]] += by_s
        return rows._replace(event_s=event)

    return hinder


def _retries() -> Delay:
    """One row in twenty is tried again after 10, 20, 40, ... seconds, half of them each time."""

    def draw(rng: Random, at: Floats) -> Floats:
        tries = np.minimum(rng.geometric(0.5, len(at)), 6)
        waited = 10 * (2.0**tries - 1)
        return rng.exponential(1, len(at)) + np.where(rng.random(len(at)) < 0.05, waited, 0)

    return draw


def _counted(rng: Random) -> Rows:
    """Buffers of 500 rows are sent when they are full, at a rate that swings."""
    rows = Process(cyclic(10, 0.8, 2 * HOUR_S), exponential(1)).rows(rng, 6 * HOUR_S)
    order = np.argsort(rows.arrival_s)
    came = rows.arrival_s.copy()
    for at in range(0, len(order), 500):
        came[order[at : at + 500]] = came[order[at : at + 500]].max()
    return rows._replace(arrival_s=came)


def _collapse(at: Floats) -> Floats:
    return np.where((at > HOUR_S) & (at < 3 * HOUR_S), 0.1, 10.0)


def _minutes(at: Floats) -> Floats:
    """A minute of rows in each hour."""
    return np.where(at % HOUR_S < 60, 2.0, 0.0)


MINUTE = Process(steady(1 / 60), exponential(20))
"""One row a minute."""
UNSEEN: dict[str, Unseen] = {
    "outages of minutes": Unseen(_bursts),
    "a clock that gains and one that is behind": Unseen(
        several(
            3,
            Process(steady(6), exponential(2)),
            Process(steady(2), exponential(2), (_drifting(0.01),)),
            Process(steady(2), exponential(5), (skewed_clocks(1.0, -40),)),
        )
    ),
    "each row twice, once late": Unseen(_twice),
    "days and nights": Unseen(
        one(
            Process(
                cyclic(0.5, 0.98, DAY_S),
                scaled(lognormal(10, 1), lambda at: 1.5 - np.cos(2 * np.pi * at / DAY_S)),
            ),
            48,
        ),
        keys=100,
        commit_s=60,
    ),
    "one row a minute": Unseen(one(MINUTE, 24), keys=10, window_s=300),
    "one row a minute, some years old, some days ahead": Unseen(
        one(
            replace(
                MINUTE,
                hindrances=(wild(3 * DAY_S, 0.1, 0.4, 0.41, 0.9), wild(-YEARS_S, 0.05, 0.5, 0.7)),
            ),
            24,
        ),
        keys=10,
        window_s=300,
    ),
    "five rows in a row days ahead": Unseen(
        one(replace(MINUTE, hindrances=(_in_a_row(5, 3 * DAY_S),)), 12), keys=10, window_s=300
    ),
    "eight rows in a row days ahead": Unseen(
        one(replace(MINUTE, hindrances=(_in_a_row(8, 3 * DAY_S),)), 12), keys=10, window_s=300
    ),
    "one of three sparse producers an hour ahead": Unseen(
        several(6, MINUTE, MINUTE, replace(MINUTE, hindrances=(skewed_clocks(1.0, HOUR_S),))),
        keys=30,
        window_s=300,
    ),
    "one of three producers a day behind": Unseen(
        several(
            4,
            *(Process(steady(2), exponential(5), (skewed_clocks(1.0, by_s),)) for by_s in (0.0, 0.0, -DAY_S)),
        ),
        keys=600,
    ),
    "a partition stalls an hour": Unseen(stalls(20, 4 * HOUR_S, HOUR_S, 8, 5), keys=600),
    "one of eight partitions stalls an hour in four": Unseen(stalls(8, 4 * HOUR_S, HOUR_S, 24, 1), keys=120),
    "two of eight partitions stall in turn": Unseen(
        stalls(8, 2 * HOUR_S, HOUR_S, 24, 1, in_turn=2), keys=120
    ),
    "one of eight partitions ends": Unseen(
        several(
            8,
            *[Process(steady(0.25), exponential(3))] * 7,
            Process(steady(0.25), exponential(3), (lost(4 * HOUR_S),)),
        ),
        keys=240,
    ),
    "one client in fifty sends once a day": Unseen(
        one(Process(steady(0.25), exponential(5), (uploads(DAY_S, 0.02),)), 96), keys=30
    ),
    "a partition stalls every half hour": Unseen(stalls(10, 1800, 600, 8, 5), keys=600),
    "one row in five hundred days ahead, one years behind": Unseen(
        one(
            Process(
                steady(10),
                exponential(5),
                (skewed_clocks(0.002, 3 * DAY_S), skewed_clocks(0.002, -YEARS_S)),
            ),
            2,
        )
    ),
    "one row in fifty an hour ahead": Unseen(
        one(Process(steady(10), exponential(5), (skewed_clocks(0.02, HOUR_S),)), 3)
    ),
    "retries": Unseen(one(Process(steady(10), _retries()), 3)),
    "phones that upload when they wake": Unseen(
        one(Process(steady(5), mixed((0.8, exponential(2)), (0.2, exponential(1200)))), 10), keys=600
    ),
    "a hundredth of the rate for two hours": Unseen(one(Process(_collapse, exponential(5)), 4)),
    "a minute of rows each hour": Unseen(one(Process(_minutes, exponential(10)), 24), keys=200, commit_s=5),
    "buffers sent when full": Unseen(_counted),
    "uploads each hour of a sparse stream": Unseen(
        one(Process(steady(1 / 30), uniform(0, 10), (uploads(HOUR_S),)), 48), keys=20, window_s=300
    ),
    "a lag that was hours and is gone": Unseen(
        one(Process(steady(5), exponential(5), (outage(HOUR_S, 4 * HOUR_S, catch_up=5),)), 8), keys=600
    ),
}
CHEAP = (
    "one row a minute, some years old, some days ahead",
    "five rows in a row days ahead",
    "eight rows in a row days ahead",
    "one of three sparse producers an hour ahead",
    "one row in five hundred days ahead, one years behind",
    "retries",
    "a minute of rows each hour",
    "uploads each hour of a sparse stream",
)
"""Those that take about a second each."""
