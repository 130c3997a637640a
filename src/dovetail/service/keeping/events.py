"""What happened to applications, and who did it: a category of the log, `service.events`.

Every change that somebody makes is an event with a name in `by`. What the service does by itself says so. The
category keeps what happened for a week, like everything that the product writes by itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.log.category import Category, list_categories

EVENTS = "service.events"
SCHEMA = pa.schema(
    [
        ("eventtime", pa.timestamp("us", "UTC")),
        ("application", pa.string()),
        ("kind", pa.string()),
        ("words", pa.string()),
        ("by", pa.string()),
    ]
)


@dataclass(frozen=True)
class Event:
    application: str
    kind: str
    words: str
    by: str


def record(home: str, event: Event) -> None:
    now_us = time.time_ns() // 1000
    category = Category.create(home, EVENTS, SCHEMA, buckets=1, time_column="eventtime", role="view")
    columns = [[now_us], [event.application], [event.kind], [event.words], [event.by]]
    row = pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )
    segments = category.write_segments(
        [row],
        lambda rows: np.zeros(rows.num_rows, np.int64),
        lambda rows: rows.column(0).cast(pa.int64()).to_numpy(),
    )
    category.append(segments)


def events(home: str, application: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
    """The newest first, of one application or of all."""
    if EVENTS not in list_categories(home):
        return []
    category, found = Category.open(home, EVENTS), []
    for number in range(category.next_commit() - 1, category.first_commit() - 1, -1):
        for segment in reversed(category.commit(number).segments):
            for row in reversed(category.open_segment(segment).batch.to_pylist()):
                if application in (None, row["application"]):
                    found.append(row)
        if len(found) >= limit:
            break
    return found[:limit]
