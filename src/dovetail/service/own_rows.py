"""Categories that the service writes itself, a row at a time: what happened, and who did what."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.log.category import Category, list_categories

WHEN = pa.field("eventtime", pa.timestamp("us", "UTC"))


def own_schema(*names: str) -> pa.Schema:
    """A time, and texts."""
    return pa.schema([WHEN, *(pa.field(name, pa.string()) for name in names)])


def append_row(home: str, name: str, schema: pa.Schema, texts: Sequence[str]) -> Category:
    """A row of now."""
    category = Category.create(home, name, schema, buckets=1, time_column=WHEN.name, role="view")
    columns = [[time.time_ns() // 1000], *([text] for text in texts)]
    row = pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )
    segments = category.write_segments(
        [row],
        lambda rows: np.zeros(rows.num_rows, np.int64),
        lambda rows: rows.column(0).cast(pa.int64()).to_numpy(),
    )
    category.append(segments)
    return category


def newest_first(home: str, name: str) -> Iterator[dict[str, Any]]:
    if name not in list_categories(home):
        return
    category = Category.open(home, name)
    for number in range(category.next_commit() - 1, category.first_commit() - 1, -1):
        for segment in reversed(category.commit(number).segments):
            yield from reversed(category.open_segment(segment).batch.to_pylist())
