"""Every decision of the scaler that is more than `enough`, with its reason: a category of the log.

    service.scaling    when, application, join, mode, direction, tasks before and after, reason

Changes that were made are read back from here, so a daemon that starts again knows when it changed what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.log.category import Category, list_categories
from dovetail.service.scaler.sample import Mode, TaskChange, Verdict

DECISIONS = "service.scaling"
MENDING_S = 900.0
SCHEMA = pa.schema(
    [
        ("eventtime", pa.timestamp("us", "UTC")),
        ("application", pa.string()),
        ("join", pa.string()),
        ("mode", pa.string()),
        ("direction", pa.string()),
        ("before", pa.int64()),
        ("after", pa.int64()),
        ("capacity", pa.float64()),
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True)
class Decided:
    """`capacity`: rows per second that all tasks together could take before, if that is known."""

    at_us: int
    application: str
    join: str
    mode: Mode
    before: int
    verdict: Verdict
    capacity: float | None

    @property
    def made(self) -> bool:
        return self.mode == "act" and self.verdict.direction != "hold"


def record(home: str, decided: Decided) -> None:
    category = Category.create(home, DECISIONS, SCHEMA, buckets=1, time_column="eventtime", role="view")
    said = decided.verdict
    row = [
        decided.at_us,
        decided.application,
        decided.join,
        decided.mode,
        said.direction,
        decided.before,
        said.tasks,
        decided.capacity,
        said.reason,
    ]
    columns = [pa.array([value], field.type) for value, field in zip(row, SCHEMA, strict=True)]
    segments = category.write_segments(
        [pa.RecordBatch.from_arrays(columns, schema=SCHEMA)],
        lambda rows: np.zeros(rows.num_rows, np.int64),
        lambda rows: rows.column(0).cast(pa.int64()).to_numpy(),
    )
    category.append(segments)


def decisions(home: str, application: str, limit: int = 200) -> list[dict[str, Any]]:
    """The newest first."""
    found = []
    for row in _newest_first(home):
        if row["application"] == application:
            found.append(row)
        if len(found) >= limit:
            break
    return found


def is_mending(home: str, application: str, now_s: float) -> bool:
    """Tasks were added a short while ago, and it has not had the time to catch up."""
    for row in _newest_first(home):
        at_s = row["eventtime"].timestamp()
        if at_s < now_s - MENDING_S:
            return False
        added = (row["application"], row["mode"], row["direction"]) == (application, "act", "up")
        if added and at_s <= now_s:
            return True
    return False


def changes_of(home: str, application: str, join: str, since_s: float, now_s: float) -> list[TaskChange]:
    """What was changed, in the order of time. What lies ahead was before the clock was set back: it would be
    `just now` for all that time."""
    found = []
    for row in _newest_first(home):
        at_s = row["eventtime"].timestamp()
        if at_s < since_s:
            break
        ours = (row["application"], row["join"], row["mode"]) == (application, join, "act")
        if ours and row["direction"] != "hold" and at_s <= now_s:
            found.append(TaskChange(at_s, row["before"], row["after"], row["capacity"]))
    return found[::-1]


def _newest_first(home: str) -> Iterator[dict[str, Any]]:
    if DECISIONS not in list_categories(home):
        return
    category = Category.open(home, DECISIONS)
    for number in range(category.next_commit() - 1, category.first_commit() - 1, -1):
        for segment in reversed(category.commit(number).segments):
            yield from reversed(category.open_segment(segment).batch.to_pylist())
