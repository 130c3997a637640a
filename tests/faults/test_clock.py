"""A clock that jumps, forward or back by a day between any two steps: the result is the same.

The join reads the clock for what it keeps (history), for what it believes (validity) and for people; stream
time and idleness go by what does not jump.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import LongType, StructField, StructType

from dovetail.log.category import Category
from dovetail.service.torture.quick_join import (
    BATCHES,
    BUCKETS,
    SCHEMA,
    append,
    config,
    quick_workload,
)
from dovetail.service.torture.quick_kinds import kind_of
from dovetail.service.torture.workload import MAX_DELAY, cut
from dovetail.spark.join_source import JoinReader
from laws.effort import every_value

DAY_S = 86_400
OUTPUT = StructType([StructField("left", LongType()), StructField("right", LongType())])


@pytest.mark.parametrize(
    ("jumps", "seed"), every_value([(DAY_S,), (-DAY_S,), (0, DAY_S, 0, -DAY_S)], [1, 5]), ids=str
)
def test_a_clock_that_jumps_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jumps: tuple[int, ...], seed: int
) -> None:
    """Left comes first, then the clock jumps, then the join plans: right is not silent for a day now."""
    workload = quick_workload(seed, ("interval",))
    shift_s = 0
    true_ns, true_s = time.time_ns, time.time
    monkeypatch.setattr(time, "time_ns", lambda: true_ns() + shift_s * 1_000_000_000)
    monkeypatch.setattr(time, "time", lambda: true_s() + shift_s)
    join = config(tmp_path, tmp_path / "index", kind_of(workload.mode), BUCKETS, MAX_DELAY)
    settings = replace(join.settings, idle_timeout_us=600_000_000, history_us=3_600_000_000)
    join = replace(join, settings=settings, drain=False, tasks=2)
    left, right = (Category.create(join.home, name, SCHEMA, buckets=BUCKETS) for name in ("left", "right"))
    reader = JoinReader(join, OUTPUT)
    found: Counter[tuple[int | None, int | None]] = Counter()
    at = reader.initialOffset()
    for batch, jump in zip(range(BATCHES), itertools.cycle(jumps), strict=False):
        append(left, cut(workload.left, batch, BATCHES), batch)
        at = worked_off(reader, at, found)
        shift_s += jump
        at = worked_off(reader, at, found)
        append(right, cut(workload.right, batch, BATCHES), batch)
        at = worked_off(reader, at, found)
    last = JoinReader(replace(join, drain=True), OUTPUT)
    last.prepareForTriggerAvailableNow()
    worked_off(last, at, found)
    assert found == workload.expected()


def worked_off(reader: JoinReader, at: dict, found: Counter) -> dict:
    """As Spark calls it: plan, run, commit, until there is nothing to do."""
    while (end := reader.latestOffset(at, ReadAllAvailable())) != at:
        for partition in reader.partitions(at, end):
            for batch in reader.read(partition):
                found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        reader.commit(end)
        at = end
    return at
