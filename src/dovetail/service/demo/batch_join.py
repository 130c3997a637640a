"""The batch join that the demo is compared with: all rows at once, afterwards, by Arrow's hash join.

Law: it shares no code with the streaming join. Match rate, as in section 7.1 of the paper: left rows with at
least one partner, over all left rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.log.category import Category


@dataclass(frozen=True)
class BatchRates:
    """Shares of the left rows with a partner inside the window, and with a partner at any time."""

    left_rows: int
    in_window: float
    at_any_time: float


def read_columns(category: Category, columns: list[str]) -> pa.Table:
    """These columns of the whole category."""
    commits = category.commits(category.first_commit(), category.next_commit())
    batches = [
        category.open_segment(segment).batch.select(columns) for c in commits for segment in c.segments
    ]
    schema = pa.schema([category.schema.field(column) for column in columns])
    return pa.Table.from_batches(batches, schema=schema)


def batch_rates(
    left: pa.Table, right: pa.Table, *, key: str, time: str, before_us: int, after_us: int
) -> BatchRates:
    """Join on the key, then filter by time."""
    rows = left.num_rows
    numbered = (
        left.select([key, time])
        .rename_columns(["key", "left_time"])
        .append_column("row", pa.array(np.arange(rows)))
    )
    others = right.select([key, time]).rename_columns(["key", "right_time"])
    pairs = numbered.join(others, keys="key", join_type="inner")
    apart = pc.subtract(
        pairs.column("right_time").cast(pa.int64()), pairs.column("left_time").cast(pa.int64())
    )
    inside = pairs.filter(pc.and_(pc.greater_equal(apart, -before_us), pc.less_equal(apart, after_us)))
    return BatchRates(rows, _share(inside, rows), _share(pairs, rows))


def _share(pairs: pa.Table, rows: int) -> float:
    return float(pc.count_distinct(pairs.column("row")).as_py()) / rows if rows else 0.0
