"""A window of many right rows becomes wider, beside a restart of the wider join.

The log has twice as many rows as the window: the change reads the other half. A restart reads both, because
the index is lost. Both are one step of two tasks in fresh processes, timed from their common begin to the end
of the slower one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench.recovery_tasks import StepOutcome, lose_index, side_by_side, step_task
from bench.recovery_window import AFTER_US, SPAN_US, WindowSize, build, join_config
from dovetail.engine.planner import JoinPlanner
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset

TASKS = 2
NARROW, WIDE = (IntervalSpec(before_us, AFTER_US, "left") for before_us in (SPAN_US // 2, 2 * SPAN_US))


@dataclass(frozen=True)
class Widening:
    """`held_rows`: right rows in the window before; `wide_rows`: after."""

    held_rows: int
    wide_rows: int
    change_s: float
    restart_s: float

    @property
    def ratio(self) -> float:
        return self.change_s / self.restart_s


def measure(work: Path, rows: int) -> Widening:
    home, index = work / "home", work / "index"
    build(home, WindowSize(2 * rows))
    narrow = join_config(home, index, NARROW)
    held, _ = _step(narrow, JoinOffset())
    wide = replace(narrow, join_kind=IntervalJoin(WIDE), query=2)
    changed, change = _step(wide, held)
    assert held.changes_to(changed)
    lose_index(wide)
    nothing_new = JoinPlanner(wide).recoverable(changed, changed.moved(step=changed.step + 1))
    restart = side_by_side(step_task, wide, TASKS, changed, nothing_new)
    assert all(one.rebuilt for one in restart)
    held_rows, wide_rows = (sum(one.held_rows for one in step) for step in (change, restart))
    return Widening(held_rows, wide_rows, _took(change), _took(restart))


def _step(config: JoinConfig, start: JoinOffset) -> tuple[JoinOffset, list[StepOutcome]]:
    planner = JoinPlanner(config)
    end = planner.plan(start, until=planner.there_now(), tasks=TASKS)
    assert end is not start
    return end, side_by_side(step_task, config, TASKS, start, end)


def _took(outcomes: list[StepOutcome]) -> float:
    return max(one.step.wall_s for one in outcomes)
