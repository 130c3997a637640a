"""Arrival processes that were tried after stream time was made: at percentile 1 a join finds at least 98 of
100 pairs of the batch join. A few of them run always, all of them with the thorough tests."""

from __future__ import annotations

import numpy as np
import pytest
from bench.arrivals import HOUR_S, SECOND, Keyed, Log, logged
from bench.simulation import Run, partners, simulate

from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.interval import IntervalSpec
from dovetail.time.coordinator import Pace
from laws.effort import THOROUGH
from simulation.unseen import CHEAP, UNSEEN, Unseen, stalls
from simulation.unseen_clients import UNSEEN_CLIENTS

ALL = UNSEEN | UNSEEN_CLIENTS
CHEAP_CLIENTS = (
    "twenty rows each half hour, some days ahead",
    "a row a minute, the first ones years ahead",
    "a row every ten minutes, a wild one now and then",
)


@pytest.mark.parametrize("name", ALL if THOROUGH else (*CHEAP, *CHEAP_CLIENTS))
def test_a_join_finds_what_the_batch_join_finds(name: str) -> None:
    """The seed is one with which five or eight rows in a row that were days ahead cost a quarter of the
    pairs, and a producer that was an hour ahead one in fourteen."""
    run, spec = _run(ALL[name])
    expected = int(partners(run.left.log, run.right.log, spec).sum())
    assert expected > 300, "where hardly anything matches, nothing is proved"
    assert run.pairs >= 0.98 * expected


@pytest.mark.parametrize("hours", [8, 16, 24] if THOROUGH else [12])
def test_of_the_stalls_of_a_partition_only_the_first_costs_pairs(hours: int) -> None:
    """One of eight partitions stalls for an hour in four. Nothing announces the first stall. An hour's pairs
    of a row that waits with one that does not are 2 * 1/8 * 7/8 of that hour's: 2.7 % of 8 hours, 1.8 % of 12
    and 1.4 % of 16. All other pairs are found, but for rows that are late as they may be."""
    run, spec = _run(Unseen(stalls(8, 4 * HOUR_S, HOUR_S, hours, 1), keys=120))
    left, right = run.left.log, run.right.log
    expected = int(partners(left, right, spec).sum())
    foreseen = int(partners(_foreseen(left), _foreseen(right), spec).sum())
    assert 1 - foreseen / expected < 0.25 / hours
    assert run.pairs >= 0.995 * foreseen
    assert hours < 12 or run.pairs >= 0.98 * expected


def _run(process: Unseen) -> tuple[Run, IntervalSpec]:
    rng = np.random.default_rng((31, 0))
    left, right = (
        logged(rng, process.rows(rng), process.keys, process.commit_s, by_producer=True) for _ in range(2)
    )
    window_us = int(process.window_s) * SECOND
    spec = IntervalSpec(window_us, window_us, "left")
    pace = Pace(0, 0, 2000, 1, EstimateSpec(percentile=1), None, window_us)
    return simulate(left, right, spec, pace), spec


def _foreseen(log: Log) -> Keyed:
    """All rows but those of the first stall that came more than a minute late."""
    waited = (log.arrival - log.time > 60 * SECOND) & (log.time < 5 * HOUR_S * SECOND)
    return log.some(~waited)
