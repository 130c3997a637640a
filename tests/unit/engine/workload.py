"""Small random streams in real categories, and steps over them without Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from dovetail.engine.driver import JoinDriver
from dovetail.engine.join_step import run_step
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log.category import Category
from dovetail.model.compression import Compression
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from dovetail.model.time_codes import NO_TIME
from dovetail.service.torture.oracle import Row
from dovetail.service.torture.quick_join import OUTPUT, SCHEMA
from dovetail.service.torture.quick_join import config as join_config
from dovetail.service.torture.workload import random_rows
from dovetail.slicing.write_rows import bucket_of, time_of

__all__ = ["OUTPUT", "SCHEMA", "config", "joined", "offsets", "random_rows", "write_commits"]


def config(home: Path | str, index: Path, spec: IntervalSpec, buckets: int, max_delay: int) -> JoinConfig:
    return join_config(home, index, IntervalJoin(spec), buckets, max_delay)


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


def offsets(join: JoinConfig, tasks: list[int]) -> Iterator[tuple[JoinOffset, JoinOffset]]:
    """Start and end of every step until everything is drained; step i runs in `tasks[i % len]` groups."""
    driver, at = JoinDriver(join), JoinOffset()
    while (
        end := driver.plan(at, until=driver.there_now(), final=True, tasks=tasks[at.step % len(tasks)])
    ) is not at:
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
