"""A left row dated two days ahead, through the whole driver: every row finds its partner."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine.driver import JoinDriver
from dovetail.engine.measure import measure
from dovetail.model.interval import IntervalSpec
from dovetail.plan.joins.options import resolve
from unit.engine.stepping import Driven

SECOND, MINUTE, DAY = 1_000_000, 60_000_000, 86_400_000_000


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("confirmed_by", [1, None])
def test_one_row_two_days_ahead_costs_no_match(tmp_path: Path, rows: int, confirmed_by: int | None) -> None:
    """With the options of a query that says nothing of time: a row each second, in commits of one and of
    twenty. Where one row is enough to move time, about half of the matches are lost."""
    join = Driven.make(tmp_path, IntervalSpec(30 * SECOND, 30 * SECOND, "left"))
    settings = resolve([]).settings
    if confirmed_by is not None:
        settings = replace(settings, confirmed_by=confirmed_by)
    join.config = replace(join.config, settings=settings)
    rng = random.Random(5)
    start = 1_000_000 * MINUTE
    for first in range(0, 200, rows):
        at = [(f"k{n}", start + n * SECOND) for n in range(first, first + rows)]
        join.append("right", *((key, time + rng.randrange(20 * SECOND)) for key, time in at))
        join.step()
        join.append("left", *((key, time + (2 * DAY if key == "k100" else 0)) for key, time in at))
    join.step()
    found = {left for left, _ in join.pairs}
    left = measure(join.config, 0).left
    if confirmed_by == 1:
        assert len(found) < 150
    else:
        assert found == set(range(200)) - {100}
        assert left.held_back == 1, "and status shows it"
    driver = JoinDriver(join.config)
    assert driver.plan(join.offset, until=driver.there_now(), final=True, tasks=1).ended
