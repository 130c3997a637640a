"""What a snapshot costs: steps at the end of which one in twenty of their left rows is still open.

All else of a step is real: reading, probing, inserting, gathering payload. The copy to the home is made by a
thread meanwhile; what it takes of the CPU is in the step's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.recovery_tasks import lose_index, side_by_side, step_task
from bench.recovery_window import BUCKETS, SCHEMA, append, join_config
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import NEVER, JoinOffset

STEP_US = 60_000_000
OPEN_SHARE = 0.05
TASKS = 2


@dataclass(frozen=True)
class Snapshots:
    """For all tasks and steps together; `shares` of each step, by the clock."""

    rows_a_side: int
    steps: int
    open_rows: int
    snapshot_s: float
    step_s: float
    shares: list[float]

    @property
    def share(self) -> float:
        return self.snapshot_s / self.step_s

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "share": self.share}


def snapshots(rows: int, steps: int, seed: int, work: Path, tell: Callable[[str], None]) -> Snapshots:
    """`rows` a side and step. The first two steps warm up, and are not counted."""
    home = work / "home"
    tell(f"{steps} steps of {rows:,} rows a side")
    rng = np.random.default_rng(seed)
    sides = [Category.create(str(home), name, SCHEMA, buckets=BUCKETS) for name in ("left", "right")]
    for step in range(steps + 2):
        keys = rng.integers(step * rows, (step + 2) * rows, (2, rows))
        times = np.sort(rng.integers(step * STEP_US, (step + 1) * STEP_US, (2, rows)))
        for category, key, time in zip(sides, keys, times, strict=True):
            append(category, key, time, rng)
    spec = IntervalSpec(STEP_US, int(OPEN_SHARE * STEP_US), "left")
    config = join_config(home, work / "index", spec)
    done = side_by_side(_steps, config, TASKS, steps + 2)
    lose_index(config)
    per_step = [[task[step] for task in done] for step in range(2, steps + 2)]
    shares = [sum(one[0] for one in tasks) / sum(one[1] for one in tasks) for tasks in per_step]
    return Snapshots(
        rows,
        steps,
        sum(one[2] for one in per_step[-1]),
        sum(one[0] for tasks in per_step for one in tasks),
        sum(one[1] for tasks in per_step for one in tasks),
        shares,
    )


def _steps(config: JoinConfig, task: int, steps: int) -> list[tuple[float, float, int]]:
    """Seconds of the snapshot and of the whole step, and rows open at its end."""
    start, found = JoinOffset(left_time=NEVER, right_time=NEVER), []
    for number in range(1, steps + 1):
        end = start.moved(
            step=number,
            left=number,
            right=number,
            left_time=number * STEP_US,
            right_time=number * STEP_US,
            left_floor=max(0, number - 2),
            right_floor=max(0, number - 2),
            tasks=TASKS,
            base=start.bare(),
        )
        one = step_task(config, task, start, end)
        found.append((one.snapshot.wall_s, one.step.wall_s, one.open_rows))
        start = end
    return found
