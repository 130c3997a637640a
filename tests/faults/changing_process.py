"""A join that is changed, in a process that can be killed: see `test_change_crash_points.py`."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from dovetail.engine.copying import settle
from dovetail.engine.driver import JoinDriver
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin
from dovetail.service.torture.quick_join import Steps
from dovetail.service.torture.workload import random_rows
from unit.engine.workload import config, write_commits

OLD = IntervalSpec(30, 20, "full", "one", "nearest")
NEW = IntervalSpec(60, 5, "left", "all", "first")
TASKS, STEPS = 2, 4
BUCKETS, MAX_DELAY, ROWS = 4, 10, 200


def prepare(home: Path, seed: int) -> None:
    """Some steps of the old query, and rows for more."""
    rng = random.Random(seed)
    for name in ("left", "right"):
        write_commits(home, name, random_rows(rng, ROWS, MAX_DELAY), rng, BUCKETS)
    driver = JoinDriver(_config(home, OLD, 1))
    steps = Steps(driver, open_store(str(home)))
    while steps.last()[0].step < STEPS:
        _next(driver, steps, final=False)
    settle()


def run(home: Path) -> None:
    """The change, and all that is left."""
    driver = JoinDriver(_config(home, NEW, 2))
    steps = Steps(driver, open_store(str(home)))
    while _next(driver, steps, final=True):
        pass
    settle()


def _next(driver: JoinDriver, steps: Steps, *, final: bool) -> bool:
    start, end = steps.last()
    if end is None:
        end = driver.plan(start, until=driver.there_now(), final=final, tasks=TASKS)
        if end is start:
            return False
        steps.log(end)
    steps.run(start, end)
    return True


def _config(home: Path, spec: IntervalSpec, query: int) -> JoinConfig:
    join = config(home, home.parent / "index", spec, BUCKETS, MAX_DELAY)
    settings = replace(join.settings, max_step_rows=20)
    return replace(join, join_kind=IntervalJoin(spec), query=query, settings=settings)
