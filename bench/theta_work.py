"""The work of `bench theta`, built straight in the log: no Spark, no slicer.

The papers' schema and predicate: x and y uniform in 1 to 10,000, a band of 10 either way in both. Both sides
hold a window of rows, and go on for a step; then as many come again as are asked for, in as many steps, and
only these are timed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.engine.join_step import run_step
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.model.theta import (
    Band,
    Bound,
    Constant,
    CountWindow,
    Expression,
    Operand,
    Operation,
    Term,
    Theta,
)
from dovetail.slicing.write_rows import bucket_of, time_of

DOMAIN, REACH = 10_000, 10
SCHEMA = pa.schema(
    [
        pa.field("_time", pa.int64(), nullable=False),
        pa.field("_on_0", pa.int32()),
        pa.field("_on_1", pa.float64()),
        pa.field("id", pa.int64()),
    ]
)
OUTPUT = pa.schema([("left_id", pa.int64()), ("right_id", pa.int64())])


class Outcome(NamedTuple):
    """One task of the timed step."""

    wall_s: float
    cpu_s: float
    pairs: int
    checksum: int


def _apart(column: str) -> Expression:
    operands = Operand("left", column), Operand("right", column)
    return Operation("<=", (Operation("abs", (Operation("-", operands),)), Constant("int", str(REACH))))


def _band(column: str) -> Band:
    low, high = Bound(str(-REACH), False, str(REACH)), Bound(str(REACH), False, str(REACH))
    return Band((Term(1, column),), (Term(1, column),), low, high, (_apart(column),))


def theta(window: int, path: str) -> Theta:
    """`scan`: the same condition as one that no index knows; else by band index."""
    rows = CountWindow(window, window)
    if path != "scan":
        return Theta((_band("_on_0"), _band("_on_1")), (), rows)
    return Theta((), (_apart("_on_0"), _apart("_on_1")), rows)


NOWHERE = Bound(str(10 * DOMAIN), False, str(10 * DOMAIN))


def filling(window: int) -> Theta:
    """Holds the same rows, and finds no pair: so the windows fill quickly."""
    band = Band((Term(1, "_on_0"),), (Term(1, "_on_0"),), NOWHERE, NOWHERE, (_apart("_on_0"),))
    return Theta((band,), (), CountWindow(window, window))


def config(home: Path, index: Path, window: int, path: str) -> JoinConfig:
    return JoinConfig(
        home=str(home),
        application="bench_theta",
        join=path,
        left="left",
        right="right",
        keys=(),
        join_kind=ThetaJoin(IntervalSpec(0, 0, "inner"), theta(window, path)),
        columns=(OutputColumn("left_id", "left", "id"), OutputColumn("right_id", "right", "id")),
        buckets=1,
        tasks=1,
        settings=JoinSettings(0, 0, 1),
        index_dir=str(index),
    )


class Load(NamedTuple):
    """What comes: rows that fill the windows, a step that is not timed, steps that are. Rows are a side's."""

    window: int
    step_rows: int
    steps: int

    @property
    def timed_from(self) -> int:
        return self.window + self.step_rows

    @property
    def commits(self) -> list[tuple[int, int]]:
        """Rows of each commit of a side: from, to before."""
        starts = range(self.window, self.timed_from + self.steps * self.step_rows, self.step_rows)
        return [(0, self.window), *((start, start + self.step_rows) for start in starts)]

    def offsets(self, tasks: int) -> list[JoinOffset]:
        made = [JoinOffset().moved(left_time=0, right_time=0)]
        for step in range(1, len(self.commits) + 1):
            made.append(made[-1].moved(step=step, left=step, right=step, tasks=tasks, turns=[1, 1]))
        return made


def write_log(home: Path, load: Load, seed: int) -> None:
    for name in ("left", "right"):
        category = Category.create(str(home), name, SCHEMA, buckets=1)
        for low, high in load.commits:
            segments = category.write_segments(
                _batches(low, high, f"{seed} {name} {low}"), bucket_of(None, 1), time_of("_time")
            )
            category.append(segments)


def _batches(low: int, high: int, seed: str) -> Iterator[pa.RecordBatch]:
    rng = np.random.default_rng(list(seed.encode()))
    count = high - low
    columns = [
        np.zeros(count, np.int64),
        rng.integers(1, DOMAIN + 1, count).astype(np.int32),
        rng.random(count) * DOMAIN,
        np.arange(low, high),
    ]
    yield pa.record_batch(columns, schema=SCHEMA)


def fill(config: JoinConfig, task: int, start: JoinOffset, end: JoinOffset) -> None:
    for _ in run_step(config, task, start, end, OUTPUT):
        pass


def run_task(config: JoinConfig, task: int, offsets: list[JoinOffset]) -> Outcome:
    """The first of these steps makes what the others find: an index, and machine code."""
    list(run_step(config, task, *offsets[:2], OUTPUT))
    began, cpu = time.perf_counter(), time.process_time()
    batches = [b for pair in pairwise(offsets[1:]) for b in run_step(config, task, *pair, OUTPUT)]
    spent, used = time.perf_counter() - began, time.process_time() - cpu
    table = pa.Table.from_batches(batches, OUTPUT)
    left, right = (column.to_numpy().astype(np.uint64) for column in table.columns)
    mixed = (left * np.uint64(0x9E3779B97F4A7C15)) ^ (right * np.uint64(0xC2B2AE3D27D4EB4F))
    return Outcome(spent, used, table.num_rows, int(mixed.sum(dtype=np.uint64)))
