"""Small random streams in real categories, and steps over them without Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.model.compression import Compression
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.spark.write_rows import bucket_of, time_of
from dovetail.state.join_step import run_step
from dovetail.state.key_hash import hash_keys
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, needed_since, plan_step

NO_TIME = -(2**63)
SCHEMA = pa.schema(
    [
        pa.field("_hash", pa.int64(), False),
        pa.field("_time", pa.int64(), False),
        pa.field("_key_0", pa.string()),
        pa.field("id", pa.int64()),
    ]
)
OUTPUT = pa.schema([("left", pa.int64()), ("right", pa.int64())])
Row = tuple[str | None, int | None, int]


def random_rows(rng: random.Random, count: int, max_delay: int) -> list[Row]:
    """Keys of a few letters, times that advance with disorder below `max_delay`, some nulls."""
    rows: list[Row] = []
    for number in range(count):
        key = None if rng.random() < 0.03 else rng.choice("abcdefgh")
        time = None if rng.random() < 0.03 else number * 10 + rng.randrange(max_delay)
        rows.append((key, time, number))
    return rows


def write_commits(
    home: Path | str,
    name: str,
    rows: list[Row],
    rng: random.Random,
    buckets: int,
    compression: Compression = "auto",
) -> Category:
    category = Category.create(str(home), name, SCHEMA, buckets=buckets, compression=compression)
    start = batch = 0
    while start < len(rows):
        stop = start + rng.randrange(1, 30)
        part = rows[start:stop]
        keys = pa.array([key for key, _, _ in part], pa.string())
        times = [NO_TIME if key is None or time is None else time for key, time, _ in part]
        record = pa.record_batch(
            [
                pa.array(hash_keys([keys])),
                pa.array(times, pa.int64()),
                keys,
                pa.array([number for _, _, number in part], pa.int64()),
            ],
            schema=SCHEMA,
        )
        infos = category.write_segments(
            [record], bucket_of("_hash", buckets), time_of("_time"), max_rows=max(1, rng.randrange(40))
        )
        category.append(infos, producer="test", batch=batch)
        start, batch = stop, batch + 1
    return category


def config(home: Path | str, index: Path, spec: IntervalSpec, buckets: int, max_delay: int) -> JoinConfig:
    return JoinConfig(
        home=str(home),
        application="app",
        join="view",
        left="left",
        right="right",
        keys=("_key_0",),
        spec=spec,
        columns=(OutputColumn("left", "left", "id"), OutputColumn("right", "right", "id")),
        buckets=buckets,
        tasks=1,
        settings=JoinSettings(max_delay, max_delay, 40),
        index_dir=str(index),
        drain=True,
    )


def offsets(join: JoinConfig, tasks: list[int]) -> Iterator[tuple[JoinOffset, JoinOffset]]:
    """Start and end of every step until everything is drained; step i runs in `tasks[i % len]` groups."""
    left, right = Category.open(join.home, join.left), Category.open(join.home, join.right)
    at = JoinOffset()
    while True:
        pace = Pace(
            join.settings.left_max_delay_us,
            join.settings.right_max_delay_us,
            join.settings.max_step_rows,
            tasks[at.step % len(tasks)],
        )
        new = [
            [
                CommitSummary(c.rows, c.sketch.max_us if c.sketch.count else None)
                for c in category.commits(at_, stop)
            ]
            for category, at_, stop in (
                (left, at.left, left.next_commit()),
                (right, at.right, right.next_commit()),
            )
        ]
        end = plan_step(at, new[0], new[1], pace, final=True)
        if end is at:
            return
        assert needed_since(join.spec, end)
        yield at, end
        at = end


def joined(join: JoinConfig, start: JoinOffset, end: JoinOffset) -> list[tuple[int | None, int | None]]:
    rows = []
    for task in range(end.tasks):
        for batch in run_step(join, task, start, end, OUTPUT):
            rows += list(
                zip(batch.column("left").to_pylist(), batch.column("right").to_pylist(), strict=True)
            )
    return rows
