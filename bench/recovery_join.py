"""A join that runs on over a home without Spark: `python -m bench.recovery_join HOME INDEX`.

Offsets are planned by the product's coordinator and written down before a step runs and when it is done, as
Spark does it; its tasks are two processes. It may be killed at any time: started again, it goes on.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from bench.recovery_tasks import StepOutcome, side_by_side, step_task, warm_worker
from bench.recovery_window import AFTER_US, SPAN_US, WindowSize, join_config
from dovetail.engine.planner import JoinPlanner
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

TASKS = 2
SPEC = IntervalSpec(SPAN_US, AFTER_US, "left")
STEP_ROWS = 400_000


def config(home: Path, index: Path) -> JoinConfig:
    made = join_config(home, index, SPEC)
    return replace(made, settings=replace(made.settings, max_step_rows=STEP_ROWS))


def take_window(home: Path, index: Path, size: WindowSize) -> None:
    """The first step: all rows of the window, none of which has left it."""
    start = JoinOffset()
    end = start.moved(
        step=1, right=size.commits, left_time=SPAN_US, right_time=SPAN_US, tasks=TASKS, base=start.bare()
    )
    side_by_side(step_task, config(home, index), TASKS, start, end)
    _write(home, "planned", end)
    _write(home, "done", end)


def done(home: Path) -> JoinOffset:
    """Where the last finished step ended."""
    return JoinOffset.from_json(json.loads((home / "steps/done.json").read_bytes()))


def rebuild_s(home: Path) -> float | None:
    """How long the last rebuild took, if there was one since this was last written."""
    path = home / "steps/rebuild.json"
    return float(json.loads(path.read_bytes())) if path.exists() else None


def run(home: Path, index: Path) -> None:
    join = config(home, index)
    planner = JoinPlanner(join)
    start = done(home)
    with ProcessPoolExecutor(TASKS, get_context("spawn"), initializer=warm_worker) as pool:
        while True:
            end = planned(home, start) or planner.plan(start, tasks=TASKS)
            if end is start:
                time.sleep(0.05)
                continue
            _write(home, "planned", end)
            tasks = [pool.submit(step_task, join, task, start, end) for task in range(TASKS)]
            _told(home, [task.result() for task in tasks])
            _write(home, "done", end)
            planner.retain(end)
            start = end


def planned(home: Path, start: JoinOffset) -> JoinOffset | None:
    """A step that was planned and not finished is run as it was planned."""
    planned = JoinOffset.from_json(json.loads((home / "steps/planned.json").read_bytes()))
    return planned if planned.step > start.step else None


def _told(home: Path, outcomes: list[StepOutcome]) -> None:
    if any(one.rebuilt for one in outcomes):
        slowest = max(one.resume.wall_s for one in outcomes)
        open_store(str(home)).replace("steps/rebuild.json", json.dumps(slowest).encode())


def _write(home: Path, name: str, offset: JoinOffset) -> None:
    store = open_store(str(home))
    store.make_folder("steps")
    store.replace(f"steps/{name}.json", json.dumps(offset.to_json()).encode())


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
