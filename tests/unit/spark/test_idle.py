"""When a stream counts as idle: by the last commit that had an event time, and a clock that does not jump."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.time_codes import NO_TIME
from dovetail.spark.join_source import JoinReader
from unit.engine.workload import config

SCHEMA = pa.schema([pa.field("_time", pa.int64(), nullable=False)])


def append(category: Category, *times: int) -> None:
    rows = pa.record_batch([pa.array(times, pa.int64())], schema=SCHEMA)
    infos = category.write_segments(
        [rows], lambda batch: np.zeros(batch.num_rows, int), lambda batch: batch.column(0).to_numpy()
    )
    category.append(infos)


def reader(home: Path, idle_timeout_us: int | None) -> JoinReader:
    join: JoinConfig = config(home, home / "index", IntervalSpec(1, 1, "left"), 1, 0)
    settings = replace(join.settings, idle_timeout_us=idle_timeout_us)
    return JoinReader(replace(join, settings=settings, drain=False), StructType())


def test_rows_without_a_time_do_not_keep_a_stream_awake(tmp_path: Path) -> None:
    category = Category.create(str(tmp_path), "left", SCHEMA, buckets=1)
    append(category, 5)
    watching = reader(tmp_path, 200_000)
    watching._known[0] = category.next_commit()
    assert not watching._idle(category, 0)
    time.sleep(0.3)
    append(category, NO_TIME, NO_TIME)
    watching._known[0] = category.next_commit()
    assert watching._idle(category, 0)
    append(category, 6)
    watching._known[0] = category.next_commit()
    assert not watching._idle(category, 0)


def test_a_stream_without_a_commit_is_idle_some_time_after_the_start(tmp_path: Path) -> None:
    category = Category.create(str(tmp_path), "left", SCHEMA, buckets=1)
    watching = reader(tmp_path, 100_000)
    assert not watching._idle(category, 0)
    time.sleep(0.15)
    assert watching._idle(category, 0)
    assert not reader(tmp_path, None)._idle(category, 0)
