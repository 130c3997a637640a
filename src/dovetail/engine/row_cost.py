"""What a row costs a join, from the records of its steps.

    seconds of a step = fixed part + rows x cost

A step has a fixed part, however few rows it takes. So the cost of a row is the slope over steps of different
sizes, and not the time of a step divided by its rows, which would make an idle join look busy. The time of a
step is known only if rows were waiting when it ended: then the next step was planned at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dovetail.model.step_record import SideRecord, StepRecord

WAITED_US = 50_000
"""A step that is planned this long after its first commit was written had to wait for the one before."""
FEWEST = 5
SPREAD = 2.0
"""The largest step is this many times the smallest, or their slope says nothing."""
FIXED_US = 400_000
"""The fixed part of a step where the figures do not show it: about that of a micro-batch of Spark."""


def row_cost_us(records: Sequence[StepRecord]) -> float | None:
    """Microseconds per row, with as many tasks as the last step had; None: not known."""
    steps = [
        (step.left.rows + step.right.rows, after.planned_at_us - step.planned_at_us)
        for step, after in pairwise(records)
        if step.tasks == records[-1].tasks and step.read_back is None and _waited(after)
    ]
    rows, took_us = np.array([step for step in steps if step[0] > 0 and step[1] > 0], float).reshape(-1, 2).T
    if len(rows) < FEWEST:
        return None
    if rows.max() >= SPREAD * rows.min():
        slope = float(np.polyfit(rows, took_us, 1)[0])
        if slope > 0:
            return slope
    beyond_us = float(np.median(took_us)) - FIXED_US
    return beyond_us / float(np.median(rows)) if beyond_us > FIXED_US else None


def _waited(step: StepRecord) -> bool:
    written = [at for side in (step.left, step.right) if (at := _first_written_us(side)) is not None]
    return bool(written) and step.planned_at_us - min(written) > WAITED_US


def _first_written_us(side: SideRecord) -> int | None:
    first = side.taken[0] if side.taken else None
    return None if first is None or first.behind_us is None else first.time_us + first.behind_us
