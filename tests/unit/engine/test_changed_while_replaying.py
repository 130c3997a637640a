"""A query is deployed, rolled back or scaled while the join replays: the host that had its index is gone, and
what comes next has to rebuild the state of the query before. Nothing comes out that would not have otherwise.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from dovetail.engine.copying import at_once, settle
from dovetail.engine.driver import JoinDriver
from dovetail.engine.live_index import unmap_all
from dovetail.engine.planner import HostClock
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from unit.engine.stepping import Driven

Out = list[tuple[object, ...]]
NARROW, WIDE = IntervalSpec(20, 5, "left"), IntervalSpec(60, 5, "left")
LIFE = ((NARROW, 1), (WIDE, 1), (WIDE, 3), (NARROW, 3), (NARROW, 1))
"""Deployed, changed, scaled up, rolled back, scaled down: the query and the number of tasks of each part."""


@pytest.fixture(autouse=True)
def nothing_copied_later() -> Iterator[None]:
    yield
    settle()


class Life:
    def __init__(self, folder: Path, loses: bool) -> None:
        self.folder, self.loses = folder, loses
        self.join = Driven.make(folder, NARROW)
        self.at, self.out, self.numbers = JoinOffset(), list[Out](), count(1)

    def part(self, spec: IntervalSpec, tasks: int, rows: random.Random) -> None:
        """Some steps of a query. They begin without anything that this host has kept."""
        before = self.join.config
        if before.join_kind != IntervalJoin(spec):
            self.join.config = replace(before, join_kind=IntervalJoin(spec), query=before.query + 1)
        if self.loses:
            settle()
            unmap_all()
            shutil.rmtree(self.folder / "index", ignore_errors=True)
        for _ in range(4):
            for side in ("left", "right"):
                first = 10 * next(self.numbers)
                times = [first + rows.randrange(-15, 15) for _ in range(8)]
                self.join.append(side, *((rows.choice("abc"), max(0, at)) for at in times))
            self.step(self.join.config, tasks)

    def step(self, config: JoinConfig, tasks: int, *, final: bool = False) -> None:
        driver = JoinDriver(config, HostClock(lambda: 0, lambda: 0))
        while (
            end := driver.plan(self.at, until=driver.there_now(), final=final, tasks=tasks)
        ) is not self.at:
            found = [tuple(row.values()) for each in driver.run(self.at, end) for row in each.to_pylist()]
            self.out.append(sorted(found, key=str))
            self.at = end


def test_nothing_is_lost_or_repeated(tmp_path: Path) -> None:
    lives = [Life(tmp_path / name, name == "losing") for name in ("steady", "losing")]
    with at_once():  # where a rebuild would begin depends on the copies that are there by now
        for life in lives:
            rows = random.Random(18)
            for spec, tasks in LIFE:
                life.part(spec, tasks, rows)
            life.step(life.join.config, 2, final=True)
    steady, losing = lives
    assert losing.at == steady.at
    assert losing.out == steady.out, "step by step"
    lefts = Counter(row[0] for step in steady.out for row in step if row[1] is None)
    assert sum(map(len, steady.out)) > 100
    assert max(lefts.values()) == 1, "a left row is alone at most once"
    assert losing.join.config.query == 3
