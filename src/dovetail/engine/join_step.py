"""One step of one bucket group, from the log to joined Arrow rows: what runs inside a task, without Spark.

    1. resume    the state at the step's start: the live index, or rebuilt from snapshots and the log
    2. advance   it by the new rows of both sides, or to another configuration (`advance.py`)
    3. save      the state at the step's end, before any row is handed on: a task that dies later runs again,
                 from the snapshot of the start
    4. gather    payload of the rows that come out

Law: the rows depend only on the log, the two offsets and the state at the first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dovetail.engine.index_folders import index_root
from dovetail.engine.index_size import index_bytes
from dovetail.engine.index_trouble import index_trouble
from dovetail.engine.queries import config_at
from dovetail.engine.store import StateStore
from dovetail.joins.emitted import Emitted
from dovetail.joins.rows.gather import Batch, Rows
from dovetail.joins.rows.pieces import Int64s, Places
from dovetail.joins.streams import NEVER
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Side

MAX_BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
UNPACKED_BYTES = 64 << 20
"""What the compressed blocks behind one batch may take."""


def run_step(
    config: JoinConfig, task: int, start: JoinOffset, end: JoinOffset, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The joined rows of one bucket group between two offsets, in the columns of `schema`."""
    config = config_at(config, end.query)  # a step that was planned before a change runs as it was planned
    began = time.monotonic_ns()
    root = index_root(config.index_dir)
    with index_trouble(root):
        store = StateStore(config, config.share(task, end))
    with index_trouble(root), store.index.exclusively():
        at, rebuilt = store.resume(start)
        given = store.between(start, end)
        at, emitted = store.advance(at, given)
        totals = at.totals
        totals["rebuilds"] = totals.get("rebuilds", 0) + rebuilt
        totals["step_us"] = totals.get("step_us", 0) + (time.monotonic_ns() - began) // 1000
        totals["index_bytes"] = index_bytes(at)
        store.save(end, at, totals)
    yield from gather(config, emitted, given.left, given.right, schema)


def gather(
    config: JoinConfig, emitted: Emitted, left: Rows, right: Rows, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Pairs first, then lone left rows, then lone right rows; a missing side is null."""
    if (left.packed or right.packed) and not config.join_kind.in_order:
        emitted = neighbours_together(emitted, left)
    rows: dict[Side, Rows] = {"left": left, "right": right}
    bounds = window_columns(emitted) if any(column.side == "window" for column in config.columns) else {}
    at = 0
    places: dict[Side, Places] = {
        "left": left.places(
            np.concatenate([emitted.left, emitted.left_alone, _no_rows(emitted.right_alone)])
        ),
        "right": right.places(
            np.concatenate([emitted.right, _no_rows(emitted.left_alone), emitted.right_alone])
        ),
    }
    for batch in batches_of(rows, places):
        arrays = []
        for column, field in zip(config.columns, schema, strict=True):
            if column.side == "window":
                taken = bounds[column.source].slice(at, len(batch["left"]))
            else:
                taken = batch[column.side].take(column.source)
            arrays.append(taken if taken.type.equals(field.type) else taken.cast(field.type))
        yield pa.record_batch(arrays, schema=schema) if arrays else _columnless(len(batch["left"]))
        at += len(batch["left"])


def window_columns(emitted: Emitted) -> dict[str, pa.Array]:
    """Where the windows of the rows begin and end, of a window join; null for a row that is in none."""
    if emitted.bounds is None:
        return {}
    return {
        name: pa.array(times, pa.int64(), mask=times == NEVER).cast(pa.timestamp("us", "UTC"))
        for name, times in emitted.bounds._asdict().items()
    }


def neighbours_together(emitted: Emitted, left: Rows) -> Emitted:
    """The same rows, bucket by bucket, in the order of their segments, so that a block is unpacked once for
    many rows. If a window is larger than what stays unpacked, fewer blocks are unpacked twice."""
    order = np.argsort(left.buckets(emitted.left).astype(np.uint16), kind="stable")
    lone = np.argsort(emitted.left_alone, kind="stable"), np.argsort(emitted.right_alone, kind="stable")
    bounds = emitted.bounds
    if bounds is not None:
        pairs, alone = len(order), len(order) + len(lone[0])
        bounds = bounds.ordered(np.concatenate([order, pairs + lone[0], alone + lone[1]]))
    return emitted._replace(
        left=emitted.left[order],
        right=emitted.right[order],
        left_alone=emitted.left_alone[lone[0]],
        right_alone=emitted.right_alone[lone[1]],
        bounds=bounds,
    )


def batches_of(rows: dict[Side, Rows], places: dict[Side, Places]) -> Iterator[dict[Side, Batch]]:
    """As many rows at a time as fit into memory together with their blocks."""
    total = len(places["left"].at)
    row_bytes = sum(side.row_bytes for side in rows.values())
    batch_rows = max(1, min(MAX_BATCH_ROWS, int(BATCH_BYTES / (row_bytes + 1))))
    offset = 0
    while offset < total:
        count = min(batch_rows, total - offset)
        while True:
            batch = {side: rows[side].at(found.slice(offset, count)) for side, found in places.items()}
            if count == 1 or sum(part.unpacked_bytes for part in batch.values()) <= UNPACKED_BYTES:
                break
            count = -(-count // 2)
        yield batch
        offset += count


def _columnless(count: int) -> pa.RecordBatch:
    """Rows without columns, as `SELECT count(*)` over a join needs them."""
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


def _no_rows(like: Int64s) -> Int64s:
    return np.full(len(like), -1, np.int64)
