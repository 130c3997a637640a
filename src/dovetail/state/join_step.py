"""One step of one bucket group, from the log to joined Arrow rows: what runs inside a task, without Spark.

    1. resume    the state at the step's start: the live index, or snapshot and replay
    2. arrive    hash, time and row number of the new rows of both sides
    3. join      `dovetail.joins.interval.step`
    4. save      the state at the step's end: before any row is handed on, so that a task that dies later is
                 run again from the snapshot of the start
    5. gather    payload of the rows that come out

Law: the rows depend only on the log, the two offsets and the state at the first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from dovetail.joins.interval import Copies, Counts, Emitted, IntervalState, Times, step
from dovetail.joins.sample import Sample, look
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.match_offsets import labelled
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, Side
from dovetail.state.arrivals import arrivals, copied_tags
from dovetail.state.capped_keys import counted, pruned
from dovetail.state.gather import Batch, Rows, key_hashes, same_keys
from dovetail.state.index_trouble import index_trouble
from dovetail.state.live_index import index_root
from dovetail.state.pieces import Int64s, Places
from dovetail.state.store import StateStore, add_totals

MAX_BATCH_ROWS = 65_536
BATCH_BYTES = 8 << 20
UNPACKED_BYTES = 64 << 20
"""What the compressed blocks behind one batch may take."""


def run_step(
    config: JoinConfig, task: int, start: JoinOffset, end: JoinOffset, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The joined rows of one bucket group between two offsets, in the columns of `schema`."""
    share = config.share(task, end)
    left = Category.open(config.home, config.left)
    right = Category.open(config.home, config.right)
    left_rows = Rows(left, start.left_floor, end.left)
    right_rows = Rows(right, start.right_floor, end.right)
    began = time.monotonic_ns()
    root = index_root(config.index_dir)
    with index_trouble(root):
        store = StateStore(config, share)
    with index_trouble(root), store.index.exclusively():
        (state, sample, totals), rebuilt = store.resume(start)
        before = state.times
        new_left = arrivals(left, left.commits(start.left, end.left), share, "left")
        new_right = arrivals(right, right.commits(start.right, end.right), share, "right")
        emitted = step(
            state,
            new_left,
            new_right,
            Times(end.left_time, end.right_time),
            lambda a, b: same_keys(left_rows, right_rows, config.keys, a, b),
            lambda side, rows: key_hashes(left_rows, right_rows, side, rows),
            Copies(copied_tags(share, "left"), copied_tags(share, "right")),
        )
        seen = look(sample, config.spec, new_left, new_right, before, state.times)
        totals = add_totals(totals, _told(config.spec, emitted.counts)._asdict())
        totals = add_totals(totals, {"missed": seen.missed, **labelled(seen.offsets)})
        for rows, side, capped in zip((left_rows, right_rows), SIDES, emitted.capped, strict=True):
            totals = pruned(add_totals(totals, counted(rows, config.keys, side, capped)))
        totals |= {
            "open_rows": state.left_rows,
            "retained_rows": state.right_rows,
            "rebuilds": totals.get("rebuilds", 0) + rebuilt,
        }
        totals["peak_rows"] = max(totals.get("peak_rows", 0), emitted.peak_rows)
        totals["peak_index_bytes"] = max(totals.get("peak_index_bytes", 0), _bytes(state, sample))
        totals["step_us"] = totals.get("step_us", 0) + (time.monotonic_ns() - began) // 1000
        if end.ended:  # nothing is held any more: give the memory back
            state, sample, _ = store.index.fresh(Times(*end.times))
        totals["index_bytes"] = _bytes(state, sample)
        store.save(end, state, sample, totals)
    yield from gather(config, emitted, left_rows, right_rows, schema)


def _bytes(state: IntervalState, sample: Sample) -> int:
    return sum(buffer.bytes for buffer in (state.left, state.right, sample.left, sample.right))


def _told(spec: IntervalSpec, counts: Counts) -> Counts:
    """As people count: what a semi join lets out are matches."""
    return counts._replace(pairs=counts.left_alone, left_alone=0) if spec.how == "semi" else counts


def gather(
    config: JoinConfig, emitted: Emitted, left: Rows, right: Rows, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Pairs first, then lone left rows, then lone right rows; the side that is not there is null."""
    if left.packed or right.packed:
        emitted = neighbours_together(emitted, left)
    rows: dict[Side, Rows] = {"left": left, "right": right}
    places: dict[Side, Places] = {
        "left": left.places(
            np.concatenate([emitted.left, emitted.left_alone, _no_rows(emitted.right_alone)])
        ),
        "right": right.places(
            np.concatenate([emitted.right, _no_rows(emitted.left_alone), emitted.right_alone])
        ),
    }
    for batch in _batches(rows, places):
        arrays = []
        for column, field in zip(config.columns, schema, strict=True):
            taken = batch[column.side].take(column.source)
            arrays.append(taken if taken.type.equals(field.type) else taken.cast(field.type))
        yield pa.record_batch(arrays, schema=schema) if arrays else _columnless(len(batch["left"]))


def neighbours_together(emitted: Emitted, left: Rows) -> Emitted:
    """The same rows, bucket by bucket, as they lie in segments: so a block is unpacked once for many rows.
    Where a window is larger than what stays unpacked, fewer blocks are unpacked twice."""
    order = np.argsort(left.buckets(emitted.left).astype(np.uint16), kind="stable")
    return emitted._replace(
        left=emitted.left[order],
        right=emitted.right[order],
        left_alone=np.sort(emitted.left_alone),
        right_alone=np.sort(emitted.right_alone),
    )


def _batches(rows: dict[Side, Rows], places: dict[Side, Places]) -> Iterator[dict[Side, Batch]]:
    """As many rows at a time as fit with the blocks that they lie in."""
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
