"""Streams with the shapes of the paper's sections 7.1 and 7.4: what clients and servers log of searches.

A server logs a search within seconds. A client logs what is done with the answer, by a clock that is some
seconds off, and uploads it after seconds to hours: most soon, a long tail late, and later at night, when
fewer searches happen. One search in sixteen has no server row. Of the actions one in forty follows its search
by hours, so that a window of hours misses it, and the end of a day may lie between the two.

The shares were set so that the batch joins of these rows come near those of the paper: how the joins relate
to each other in streaming is a finding, their rates are an input.
"""

from __future__ import annotations

import numpy as np

from bench.arrivals import (
    DAY_S,
    HOUR_S,
    Delay,
    Floats,
    Log,
    Process,
    Random,
    Rows,
    cyclic,
    exponential,
    lognormal,
    scaled,
)

UNLOGGED, HOURS_LATER = 0.0593, 0.026
ACTIONS = 1.3  # a search, on average

server_delay: Delay = exponential(1.5)


def night(at: Floats) -> Floats:
    """1 by day, 1.65 at three in the morning."""
    from_three = (at - 3 * HOUR_S + DAY_S / 2) % DAY_S - DAY_S / 2
    return 1 + 0.65 * np.exp(-0.5 * (from_three / (2.5 * HOUR_S)) ** 2)


client_delay: Delay = scaled(lognormal(75, 1.5), night)


def think(rng: Random, count: int) -> Floats:
    """Seconds from search to action."""
    later = rng.random(count) < HOURS_LATER
    hours = 24 ** rng.random(count)
    return np.where(later, hours * HOUR_S, rng.lognormal(3.2, 0.8, count))


def searches(seed: int, days: float, per_s: float, commit_s: float = 60.0) -> tuple[Log, Log]:
    """Client and server rows of some days."""
    rng = np.random.default_rng(seed)
    searched = Process(cyclic(per_s, 0.4), server_delay).rows(rng, days * DAY_S)
    logged = rng.random(len(searched.event_s)) >= UNLOGGED
    identity = np.arange(len(logged), dtype=np.int64)
    of = np.repeat(identity, 1 + (rng.random(len(identity)) < ACTIONS - 1))
    acted = searched.event_s[of] + think(rng, len(of))
    client = Rows(
        acted + rng.normal(0, 3, len(of)), acted + client_delay(rng, acted), np.zeros(len(of), np.int64)
    )
    seen = acted < days * DAY_S
    return Log(client.where(seen), of[seen], commit_s), Log(
        searched.where(logged), identity[logged], commit_s
    )
