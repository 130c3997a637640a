"""A join that holds a large right window, built straight in the log: no Spark, no slicer.

Right rows come at a steady rate over three hours of event time, in commits of two segments each, as two tasks
of a slicer write them; the join has taken them all, and none has left the window. One more commit of both
sides is there for the step after: its left rows find their partners anywhere in the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.slicing.write_rows import bucket_of, hash_of, time_of

SPAN_US = 3 * 3600 * 1_000_000
AFTER_US = 30 * 1_000_000
BUCKETS = 64
SPEC = IntervalSpec(2 * SPAN_US, AFTER_US, "left")
SCHEMA = pa.schema(
    [
        pa.field("_hash", pa.int64(), nullable=False),
        pa.field("_time", pa.int64(), nullable=False),
        pa.field("_key_0", pa.int64()),
        pa.field("id", pa.int64()),
        pa.field("amount", pa.float64()),
    ]
)
OUTPUT = pa.schema([("left_id", pa.int64()), ("right_id", pa.int64()), ("amount", pa.float64())])


@dataclass(frozen=True)
class WindowSize:
    """A number of right rows, in commits of limited size."""

    rows: int
    commit_rows: int = 100_000
    next_rows: int = 50_000
    seed: int = 1

    @property
    def commits(self) -> int:
        return -(-self.rows // self.commit_rows)


def join_config(home: Path, index: Path | None, spec: IntervalSpec = SPEC) -> JoinConfig:
    return JoinConfig(
        home=str(home),
        application="bench_recovery",
        join="joined",
        left="left",
        right="right",
        keys=("_key_0",),
        join_kind=IntervalJoin(spec),
        columns=(
            OutputColumn("left_id", "left", "id"),
            OutputColumn("right_id", "right", "id"),
            OutputColumn("amount", "right", "amount"),
        ),
        buckets=BUCKETS,
        tasks=2,
        settings=JoinSettings(0, 0, 1 << 40),
        index_dir=None if index is None else str(index),
    )


def build(home: Path, size: WindowSize, *, next_step: bool = True) -> None:
    """Write both categories: the window's commits, and those of the step after."""
    rng = np.random.default_rng(size.seed)
    left, right = (Category.create(str(home), name, SCHEMA, buckets=BUCKETS) for name in ("left", "right"))
    for start in range(0, size.rows, size.commit_rows):
        rows = np.arange(start, min(start + size.commit_rows, size.rows))
        append(right, _keys(rows, size.rows), _times(rows, size.rows, rng), rng)
    if not next_step:
        return
    late = np.arange(size.rows, size.rows + size.next_rows)
    append(right, _keys(late, size.rows), _times(late, size.rows, rng), rng)
    wanted = rng.integers(0, size.rows + size.rows // 10 + 1, size.next_rows)
    append(left, wanted, np.full(len(wanted), SPAN_US, np.int64), rng)


def append(
    category: Category, keys: np.ndarray, times: np.ndarray, rng: np.random.Generator, parts: int = 2
) -> None:
    """One commit, in as many segments as a slicer had tasks."""
    infos = []
    for part in range(parts):
        infos += category.write_segments(
            [_batch(keys[part::parts], times[part::parts], rng)],
            bucket_of("_hash", category.buckets),
            time_of("_time"),
            hash_of=hash_of("_hash"),
        )
    category.append(infos)


def _batch(keys: np.ndarray, times: np.ndarray, rng: np.random.Generator) -> pa.RecordBatch:
    column = pa.array(keys, pa.int64())
    columns = [
        pa.array(hash_keys([column])),
        pa.array(times),
        column,
        column,
        pa.array(rng.random(len(keys))),
    ]
    return pa.record_batch(columns, schema=SCHEMA)


def _keys(rows: np.ndarray, total: int) -> np.ndarray:
    """A key for each row; a tenth of the keys has two rows."""
    return rows % (total - total // 10 + 1)


def _times(rows: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """A steady rate, out of order by some seconds."""
    steady = rows.astype(np.float64) / total * SPAN_US
    return steady.astype(np.int64) + rng.integers(0, 5_000_000, len(rows))


def offsets(size: WindowSize, tasks: int = 2) -> Iterator[JoinOffset]:
    """Before the first step, when the window is full, and after the step that follows."""
    yield JoinOffset()
    held = JoinOffset(
        step=1, right=size.commits, left_time=0, right_time=SPAN_US - AFTER_US, tasks=tasks
    ).moved(base=JoinOffset().bare())
    yield held
    yield held.moved(step=2, left=1, right=size.commits + 1, right_time=SPAN_US, base=held.bare())
