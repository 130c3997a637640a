"""A join that runs on over a home without Spark: `python -m bench.recovery_join HOME INDEX`.

Offsets are planned by the product's coordinator and written down before a step runs and when it is done, as
Spark does it; its tasks are two processes. It may be killed at any time: started again, it goes on.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bench.recovery_tasks import StepOutcome, side_by_side, step_task, warm_worker
from bench.recovery_window import AFTER_US, SPAN_US, WindowSize, join_config
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, needed_since, plan_step

TASKS = 2
SPEC = IntervalSpec(SPAN_US, AFTER_US, "left")
PACE = Pace(0, 0, 400_000, TASKS)


def config(home: Path, index: Path) -> JoinConfig:
    return join_config(home, index, SPEC)


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
    left, right = (Category.open(join.home, name) for name in (join.left, join.right))
    files = SnapshotFiles(join)
    start = done(home)
    with ProcessPoolExecutor(TASKS, get_context("spawn"), initializer=warm_worker) as pool:
        while True:
            end = _planned(home, start) or _plan(start, left, right)
            if end is start:
                time.sleep(0.05)
                continue
            end = files.remembering(start, _floors(end, left, right))
            _write(home, "planned", end)
            tasks = [pool.submit(step_task, join, task, start, end) for task in range(TASKS)]
            _told(home, [task.result() for task in tasks])
            _write(home, "done", end)
            files.drop(before=end.way[0].step)
            start = end


def _planned(home: Path, start: JoinOffset) -> JoinOffset | None:
    """A step that was planned and not finished is run as it was planned."""
    planned = JoinOffset.from_json(json.loads((home / "steps/planned.json").read_bytes()))
    return planned if planned.step > start.step else None


def _plan(start: JoinOffset, left: Category, right: Category) -> JoinOffset:
    new = [
        [
            CommitSummary(commit.rows, commit.sketch.max_us if commit.sketch.count else None)
            for commit in category.commits(at, category.next_commit(at))
        ]
        for category, at in ((left, start.left), (right, start.right))
    ]
    return plan_step(start, new[0], new[1], PACE, final=False, waits=True)


def _floors(end: JoinOffset, left: Category, right: Category) -> JoinOffset:
    """The first commits with a row that may still be needed."""
    left_since, right_since = needed_since(SPEC, end)
    return end.moved(
        left_floor=_floor(left, end.left_floor, end.left, left_since),
        right_floor=_floor(right, end.right_floor, end.right, right_since),
    )


def _floor(category: Category, floor: int, stop: int, since_us: int) -> int:
    while floor < stop and category.commit(floor).sketch.max_us < since_us:
        floor += 1
    return floor


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
