"""More arrival processes that stream time was not made with: clients and partitions of many kinds, and sparse
streams.

Two of them found less than 98 % when they were first tried: half of the clients send once a day, each at an
hour of its own (96.4 %: a sparse stream forgot all lateness within one gap), and partitions that stall at
random (97.6 %: the next stall came when the last one was forgotten).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from bench.arrivals import (
    DAY_S,
    HOUR_S,
    Floats,
    Hindrance,
    Process,
    Random,
    Rows,
    changing,
    exponential,
    lognormal,
    merged,
    mixed,
    outage,
    pareto,
    scaled,
    shifted,
    skewed_clocks,
    steady,
    wild,
)

from simulation.unseen import MINUTE, YEARS_S, Unseen, one, several


def _out_of_reach(
    clients: int, per_s: float, hours: float, reached_h: float, away_h: float
) -> Callable[[Random], Rows]:
    """Each client is now and then out of reach, and sends what it has when it is back."""

    def rows(rng: Random) -> Rows:
        parts = []
        for _ in range(clients):
            part = Process(steady(per_s / clients), exponential(2)).rows(rng, hours * HOUR_S)
            came, at_s = part.arrival_s.copy(), float(rng.exponential(reached_h)) * HOUR_S
            while at_s < hours * HOUR_S:
                back_s = at_s + float(rng.exponential(away_h)) * HOUR_S
                came = np.where((came >= at_s) & (came < back_s), back_s, came)
                at_s = back_s + float(rng.exponential(reached_h)) * HOUR_S
            parts.append(part._replace(arrival_s=came))
        return _by_one_task(merged(*parts))

    return rows


def _full_or_old(rng: Random) -> Rows:
    """Sixty clients of very different rates. Each sends fifty rows at once, or what it has after five
    minutes."""
    parts = []
    for _ in range(60):
        part = Process(steady(0.1 * rng.pareto(1.5)), exponential(1)).rows(rng, 6 * HOUR_S)
        order = np.argsort(part.arrival_s)
        came, sent, at = part.arrival_s[order], part.arrival_s.copy(), 0
        while at < len(came):
            old_s = came[at] + 300
            stop = min(at + 50, int(np.searchsorted(came, old_s)))
            sent[order[at:stop]] = came[stop - 1] if stop == at + 50 else old_s
            at = stop
        parts.append(part._replace(arrival_s=sent))
    return _by_one_task(merged(*parts))


def _by_one_task(rows: Rows) -> Rows:
    return rows._replace(producer=np.zeros_like(rows.producer))


def _at_its_own_hour(share: float) -> Hindrance:
    """Some clients send once a day, each at an hour of its own."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        hour_s = rng.random(len(rows.event_s)).round(2) * DAY_S
        held = np.ceil((rows.arrival_s - hour_s) / DAY_S) * DAY_S + hour_s
        once_a_day = rng.random(len(rows.event_s)) < share
        return rows._replace(arrival_s=np.where(once_a_day, held, rows.arrival_s))

    return hinder


def _set_back(by_s: float, every_s: float) -> Hindrance:
    """A clock that gains, and is set right now and then."""
    return lambda rng, rows: rows._replace(
        event_s=rows.event_s + by_s * (rows.event_s % every_s) / every_s,
    )


def _set_ahead(by_s: float, at_s: float) -> Hindrance:
    return lambda rng, rows: rows._replace(event_s=rows.event_s + by_s * (rows.event_s > at_s))


def _sent_again(every_s: float, last_s: float) -> Hindrance:
    """Once a period the last rows are sent a second time."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        end_s = (np.floor(rows.arrival_s / every_s) + 1) * every_s
        last = end_s - rows.arrival_s < last_s
        again = rows.where(last)._replace(arrival_s=end_s[last])
        return Rows(*(np.concatenate(columns) for columns in zip(rows, again, strict=True)))

    return hinder


def _first_rows(count: int, by_s: float) -> Hindrance:
    """The first rows have another time."""

    def hinder(rng: Random, rows: Rows) -> Rows:
        event = rows.event_s.copy()
        event[np.argsort(rows.arrival_s)[:count]] += by_s
        return rows._replace(event_s=event)

    return hinder


def _ten_minutes_of_rows(at: Floats) -> Floats:
    """Many rows for ten minutes of each hour, hardly any otherwise."""
    return np.where(at % HOUR_S < 600, 10.0, 0.02)


def _silent_nights(at: Floats) -> Floats:
    return np.where(at % DAY_S < 8 * HOUR_S, 0.0, 0.1)


TEN_MINUTES = Process(steady(1 / 600), exponential(300))
"""A row every ten minutes."""
UNSEEN_CLIENTS: dict[str, Unseen] = {
    "a row every ten minutes": Unseen(one(TEN_MINUTES, 240), keys=3, window_s=1800, commit_s=60),
    "a row every ten minutes, a wild one now and then": Unseen(
        one(
            replace(TEN_MINUTES, hindrances=(wild(400 * DAY_S, 0.2, 0.5, 0.8), wild(-YEARS_S, 0.3, 0.6))), 240
        ),
        keys=3,
        window_s=1800,
        commit_s=60,
    ),
    "twenty rows each half hour, some days ahead": Unseen(
        one(
            Process(
                lambda at: np.where(at % 1800 < 20, 1.0, 0.0),
                exponential(5),
                (wild(3 * DAY_S, 0.2, 0.4, 0.6, 0.8),),
            ),
            72,
        ),
        keys=5,
        window_s=120,
    ),
    "a row a minute, the first ones years ahead": Unseen(
        one(replace(MINUTE, hindrances=(_first_rows(4, YEARS_S), wild(YEARS_S, 0.5))), 24),
        keys=10,
        window_s=300,
    ),
    "three clients in a hundred have another time zone": Unseen(
        one(
            Process(
                steady(0.5),
                exponential(5),
                (skewed_clocks(0.015, 2 * HOUR_S), skewed_clocks(0.015, -5 * HOUR_S)),
            ),
            24,
        ),
        keys=60,
    ),
    "all clocks are set an hour ahead": Unseen(
        one(Process(steady(2), exponential(5), (_set_ahead(HOUR_S, 6 * HOUR_S),)), 12), keys=240
    ),
    "clocks that gain and are set right each hour": Unseen(
        one(Process(steady(5), exponential(2), (_set_back(30, HOUR_S),)), 6), keys=600
    ),
    "half of the clients send once a day, each at its own hour": Unseen(
        one(Process(steady(0.05), exponential(60), (_at_its_own_hour(0.5),)), 192),
        keys=10,
        window_s=120,
        commit_s=60,
    ),
    "clients out of reach for an hour": Unseen(_out_of_reach(40, 1, 24, 24, 1), keys=120),
    "partitions that stall at random": Unseen(_out_of_reach(8, 2, 24, 6, 0.5), keys=240),
    "buffers sent when full or old": Unseen(_full_or_old, keys=900),
    "uneven partitions, each with its own lag": Unseen(
        several(6, *(Process(steady(2 / (n + 1)), shifted(30 * n, exponential(3 + n))) for n in range(16))),
        keys=600,
    ),
    "rates that alternate, with a long tail": Unseen(
        one(Process(_ten_minutes_of_rows, lognormal(20, 1.5)), 12), keys=600
    ),
    "a step in lateness": Unseen(
        one(
            Process(steady(2), changing((0, exponential(2)), (2 * HOUR_S, shifted(600, exponential(900))))),
            24,
        ),
        keys=240,
    ),
    "lateness up and down each hour": Unseen(
        one(
            Process(steady(5), scaled(exponential(5), lambda at: np.where(at // HOUR_S % 2 == 0, 1.0, 30.0))),
            12,
        ),
        keys=600,
    ),
    "silent nights, and rows of the evening in the morning": Unseen(
        one(Process(_silent_nights, mixed((0.95, exponential(10)), (0.05, exponential(4 * HOUR_S)))), 168),
        keys=15,
        commit_s=60,
    ),
    "the last minutes sent again each hour": Unseen(
        one(Process(steady(3), exponential(2), (_sent_again(HOUR_S, 300),)), 12), keys=360
    ),
    "delays without a mean in a sparse stream": Unseen(
        one(Process(steady(1 / 30), pareto(1, 0.8)), 72), keys=6, window_s=120
    ),
    "an outage each hour": Unseen(
        one(
            Process(
                steady(3),
                exponential(3),
                tuple(outage((hour + 0.5) * HOUR_S, (hour + 0.6) * HOUR_S, 3) for hour in range(8)),
            ),
            9,
        ),
        keys=360,
    ),
}
