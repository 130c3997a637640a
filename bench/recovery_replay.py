"""Replay: a window of many right rows is rebuilt by two tasks, beside merely reading the same columns.

Cold is with the log dropped from the system's memory as far as the system obeys, warm without. The step after
must give the same rows from the rebuilt index as from the live one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.recovery_tasks import (
    Spent,
    StepOutcome,
    forget_pages,
    lose_index,
    read_task,
    side_by_side,
    step_task,
)
from bench.recovery_window import WindowSize, build, join_config, offsets

TASKS = 2


@dataclass(frozen=True)
class Rate:
    """One way to the rows, once: seconds until the last task was done, and CPU seconds of all tasks."""

    what: str
    cache: str
    wall_s: float
    cpu_s: float
    rows_per_s: float
    rows_per_cpu_s: float


@dataclass(frozen=True)
class Replay:
    rows: int
    commits: int
    tasks: int
    log_bytes_per_row: float
    rates: list[Rate]
    equal: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def replay(size: WindowSize, work: Path, repeat: int, tell: Callable[[str], None]) -> Replay:
    home, index = work / "home", work / "index"
    tell(f"writing a window of {size.rows:,} rows")
    build(home, size)
    log_bytes = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    config = join_config(home, index)
    empty, held, after = offsets(size, TASKS)
    tell("building the live index")
    side_by_side(step_task, config, TASKS, empty, held)
    live = side_by_side(step_task, config, TASKS, held, after)
    if any(one.rebuilt for one in live):
        raise AssertionError("the live index was not used")
    rates: list[Rate] = []
    equal = True
    for number in range(repeat):
        for cache in ("cold", "warm"):
            tell(f"{number + 1} of {repeat}: {cache}")
            for checked in (False, True):
                if cache == "cold":
                    forget_pages(home)
                spent = side_by_side(read_task, config, TASKS, held, checked=checked)
                rates.append(_rate("read and check" if checked else "read", cache, size.rows, spent))
            lose_index(config)
            if cache == "cold":
                forget_pages(home)
            lost = side_by_side(step_task, config, TASKS, held, after)
            rates.append(_rate("rebuild", cache, size.rows, [one.resume for one in lost]))
            equal = equal and same_rows(live, lost, size.rows)
    lose_index(config)
    return Replay(size.rows, size.commits, TASKS, log_bytes / size.rows, rates, equal)


def _rate(what: str, cache: str, rows: int, spent: list[Spent]) -> Rate:
    wall_s, cpu_s = max(one.wall_s for one in spent), sum(one.cpu_s for one in spent)
    return Rate(what, cache, wall_s, cpu_s, rows / wall_s, rows / cpu_s)


def same_rows(live: list[StepOutcome], lost: list[StepOutcome], rows: int) -> bool:
    return (
        all(one.rebuilt for one in lost)
        and sum(one.held_rows for one in lost) == rows
        and [(one.digest, one.out_rows) for one in lost] == [(one.digest, one.out_rows) for one in live]
    )
