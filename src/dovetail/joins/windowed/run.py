"""One step of a window join's state: the rows of both logs that are a task's, and what is counted of it."""

from __future__ import annotations

import os

from dovetail.joins.emitted import Copies
from dovetail.joins.rows.arrivals import arrivals, copied_rows
from dovetail.joins.rows.gather import Rows, key_numbers, same_keys
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.joins.windowed.step import Outcome, Task, step
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share
from dovetail.model.window_join import WindowJoin

JOINED_BY = "joined_by_"
"""Before the name of an algorithm: the total of steps in which it joined windows."""


def window_step(
    config: JoinConfig,
    window: WindowJoin,
    share: Share,
    state: JoinState,
    start: JoinOffset,
    end: JoinOffset,
    left_rows: Rows,
    right_rows: Rows,
) -> Outcome:
    left, right = (Category.open(config.home, name) for name in (config.left, config.right))
    return step(
        state,
        arrivals(left, left.commits(start.left, end.left), share, "left"),
        arrivals(right, right.commits(start.right, end.right), share, "right"),
        Times(end.left_time, end.right_time),
        Task(
            window,
            lambda a, b: same_keys(left_rows, right_rows, config.keys, a, b),
            lambda a, b: key_numbers(left_rows, right_rows, config.keys, a, b),
            Copies(
                copied_rows(share, "left", left_rows.buckets), copied_rows(share, "right", right_rows.buckets)
            ),
            threads_of(end.tasks),
        ),
    )


def threads_of(tasks: int) -> int:
    """The cores that the tasks of a join leave to each of them."""
    return max(1, (os.cpu_count() or 1) // max(1, tasks))


def window_totals(outcome: Outcome) -> dict[str, int]:
    """Windows that were joined when they were over, and in how many steps by which algorithm."""
    told = {"windows": outcome.windows}
    if outcome.algorithm is not None:
        told[f"{JOINED_BY}{outcome.algorithm}"] = 1
    return told
