"""Streams worth trying: one entry for every way in which rows were thought to come.

They last some hours; `per_s` is how many rows happen in a second. All but the new one are met in full flow:
they began long before, and what had come by then is not seen. A new stream whose rows are hours late looks
prompt for hours, and nothing that has come can tell.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.arrivals import (
    DAY_S,
    HOUR_S,
    Delay,
    Hindrance,
    Process,
    Random,
    Rate,
    Rows,
    changing,
    cyclic,
    exponential,
    growing,
    lognormal,
    merged,
    mixed,
    none,
    outage,
    pareto,
    scaled,
    shifted,
    skewed_clocks,
    steady,
    swell,
    uniform,
    uploads,
    wild,
)

Stream = Callable[[Random, float, float], Rows]
"""`(random, seconds, rows per second)`."""


def flowing(rate: Rate, delay: Delay, *hindrances: Hindrance) -> Callable[[Random, float], Rows]:
    """From 0 on, of a stream that began `BEFORE_S` earlier."""
    process = Process(rate, delay, hindrances, from_s=-BEFORE_S)

    def rows(rng: Random, seconds: float) -> Rows:
        all_rows = process.rows(rng, BEFORE_S + seconds)
        return all_rows.where(all_rows.arrival_s >= 0)

    return rows


def _of(delay: Delay, *hindrances: Hindrance) -> Stream:
    return lambda rng, seconds, per_s: flowing(steady(per_s), delay, *hindrances)(rng, seconds)


def _new(delay: Delay, *hindrances: Hindrance) -> Stream:
    return lambda rng, seconds, per_s: Process(steady(per_s), delay, hindrances).rows(rng, seconds)


def _wild(*at_share: float) -> Stream:
    """Rows dated days ahead, among those that are met."""
    spoil = wild(2 * DAY_S, *at_share)
    return lambda rng, seconds, per_s: spoil(rng, flowing(steady(per_s), SERVER)(rng, seconds))


def _cyclic(swing: float, period_s: float, delay: Delay) -> Stream:
    return lambda rng, seconds, per_s: flowing(cyclic(per_s, swing, period_s), delay)(rng, seconds)


def _producers(*lags_s: float) -> Stream:
    def rows(rng: Random, seconds: float, per_s: float) -> Rows:
        each = steady(per_s / len(lags_s))
        return merged(*(flowing(each, shifted(lag, exponential(2)))(rng, seconds) for lag in lags_s))

    return rows


BEFORE_S = 3 * HOUR_S
SERVER, CLIENT = exponential(2), shifted(60, lognormal(120, 1))

PROCESSES: dict[str, Stream] = {
    "in order": _of(none()),
    "new": _new(exponential(10)),
    "seconds": _of(SERVER),
    "minutes": _of(exponential(300)),
    "clients": _of(CLIENT),
    "long tail": _of(lognormal(20, 2)),
    "Pareto, no mean": _of(pareto(1, 0.9)),
    "Pareto, no variance": _of(pareto(10, 1.5)),
    "bimodal": _of(mixed((0.5, exponential(2)), (0.5, shifted(600, exponential(30))))),
    "one in ten hours late": _of(mixed((0.9, exponential(3)), (0.1, uniform(HOUR_S, 2 * HOUR_S)))),
    "one in fifty hours late": _of(mixed((0.98, exponential(3)), (0.02, uniform(HOUR_S, 2 * HOUR_S)))),
    "uploads every five minutes": _of(exponential(5), uploads(300)),
    "ten minutes' outage": _of(SERVER, outage(HOUR_S, HOUR_S + 600)),
    "outage, slow to catch up": _of(SERVER, outage(HOUR_S, HOUR_S + 600, catch_up=3)),
    "growing lag": _of(growing(exponential(5), 0.3)),
    "swinging": _of(
        scaled(shifted(1, exponential(0.2)), lambda at: 100 + 100 * np.sin(2 * np.pi * at / 1800))
    ),
    "disorder comes and goes": _of(scaled(exponential(1), swell(HOUR_S, 2 * HOUR_S, 1200, 120))),
    "disorder comes at once": _of(changing((0, SERVER), (HOUR_S, exponential(120)), (2 * HOUR_S, SERVER))),
    "clocks behind": _of(SERVER, skewed_clocks(0.1, -600)),
    "clocks ahead": _of(SERVER, skewed_clocks(0.1, 600)),
    "few clocks ahead": _of(SERVER, skewed_clocks(0.005, 7200)),
    "producers with lags": _producers(600, 120, 30, 0),
    "many producers": _producers(*range(0, 640, 10)),
    "waves": _cyclic(0.95, 1800, exponential(20)),
    "days": _cyclic(0.6, DAY_S, CLIENT),
    "one row days ahead": _wild(0.5),
    "few rows days ahead": _wild(0.3, 0.5, 0.7),
    "first rows days ahead": _new(SERVER, wild(2 * DAY_S, 0, 0.0002, 0.0004)),
    "one clock in a hundred days ahead": _of(SERVER, skewed_clocks(0.01, 2 * DAY_S)),
}
