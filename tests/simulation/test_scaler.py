"""The scaler over days of simulated load: steps, daily waves, bursts, a side that lags, a hot key.

The backlog stays bounded wherever all tasks together can take the load; there is at most one change in five
minutes, and at most six a day under a daily wave. A usual run tries ten loads,
`HYPOTHESIS_PROFILE=thorough` a thousand.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from dovetail.service.scaler.decide import CHANGES_A_DAY, DAY_S, QUIET_S
from dovetail.service.scaler.simulate import simulate
from laws.effort import THOROUGH
from simulation.load_shapes import shape

FAILED = (16, 138, 653, 656)
"""Loads under which an earlier scaler broke a law."""


def require_laws(seed: int) -> None:
    one = shape(seed)
    found = simulate(one.load, one.system, one.limits, one.seconds, seed)
    times = [change.at_s for change in found.changes]
    for before, after in pairwise(times):
        assert after - before >= QUIET_S, f"{seed}: flaps"
    for at_s in times:
        lately = [other for other in times if at_s - DAY_S < other <= at_s]
        assert len(lately) <= CHANGES_A_DAY or one.kind != "daily wave", (
            f"{seed}: {len(lately)} changes in a day"
        )
    if one.kind == "lagging side":
        wide = replace(one.limits, most=4 * one.limits.most)
        paced = simulate(one.load, one.system, wide, one.seconds, seed, tasks=one.limits.most)
        assert all(change.after < change.before for change in paced.changes), f"{seed}: scales for pacing"
    if one.kind == "hot key":
        assert max((c.after for c in found.changes), default=1) <= max(1, 1 / one.system.hot_share)
        if one.peak > one.system.capacity(64):
            assert any("the key k" in verdict.reason for verdict in found.verdicts), f"{seed}: not named"
        return
    assert found.most_behind_s < 1_200, f"{seed}: {one.kind}, {found.most_behind_s:.0f} s behind"


@pytest.mark.parametrize("seed", range(1_000) if THOROUGH else [*range(10), *FAILED])
def test_laws_hold_under_a_load(seed: int) -> None:
    require_laws(seed)
