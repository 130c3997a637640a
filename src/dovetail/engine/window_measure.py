"""How an aggregate over time windows is doing, read from its home: the log and the record of its last step.

Law: measuring only reads, as for joins (`engine/measure.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.engine.planner import summary
from dovetail.engine.window_planner import clock_at
from dovetail.engine.window_record import read_record
from dovetail.errors import CategoryNotFound
from dovetail.log.category import Category
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.window_config import WindowConfig
from dovetail.model.window_offset import WindowOffset
from dovetail.slicing.invalid_rows import invalid_category


@dataclass(frozen=True)
class WindowMeasure:
    """`rows` counts everything that was written to be aggregated. `late`: rows that came after their window
    had closed, once for each such window. `invalid`: rows without a valid event time. `results`: rows of the
    result, one for each group of a closed window that HAVING lets out. `open_rows`: about how many rows are
    in windows that are still open. `behind_us`: how far stream time is behind the clock."""

    name: str
    step: int
    rows: int
    open_rows: int
    late: int
    invalid: int
    results: int
    time_us: int | None
    behind_us: int | None
    stepped_at_us: int | None


def measure_windows(config: WindowConfig, table: str, output: str, now_us: int) -> WindowMeasure:
    """`output`: the category of the results."""
    category, record = Category.open(config.home, config.rows), read_record(config)
    first, stop = category.first_commit(), category.next_commit()
    offset = record.end if record else WindowOffset(commit=first, floor=first)
    now = offset.begun()
    clock = clock_at(config.settings, now.time, now.estimate)
    for commit in category.commits(max(first, now.commit), stop):  # a step is taken when it closes something
        clock = clock.after(summary(commit))
    time_us = None if clock.time_us in (NEVER, ENDED) else clock.time_us
    return WindowMeasure(
        name=table,
        step=offset.step,
        rows=_rows(config.home, config.rows),
        open_rows=_open_rows(config, category, max(first, now.floor), stop, clock.time_us),
        late=_rows(config.home, config.late),
        invalid=_rows(config.home, invalid_category(config.rows)),
        results=_rows(config.home, output),
        time_us=time_us,
        behind_us=now_us - time_us if time_us is not None else None,
        stepped_at_us=record.planned_at_us if record else None,
    )


def _open_rows(config: WindowConfig, category: Category, floor: int, stop: int, time_us: int) -> int:
    """From the sketches. Of sessions, all rows from the floor on: which of them are over is not known
    without reading them."""
    commits = category.commits(floor, stop)
    if config.window.is_session or time_us == NEVER:
        return sum(commit.rows for commit in commits)
    since_us = config.window.first_end(time_us) - config.window.length_us
    return round(sum(commit.sketch.rows_since(since_us) for commit in commits))


def _rows(home: str, name: str) -> int:
    """Rows ever written to a category, 0 if there is none."""
    try:
        category = Category.open(home, name)
    except CategoryNotFound:
        return 0
    stop = category.next_commit()
    return category.commit(stop - 1).next_row if stop > category.first_commit() else 0
