"""A theta join in the middle of its life, beside the specimen: for the files that only such joins have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.engine.copying import settle
from dovetail.engine.join_step import run_step
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.model.theta import Band, Bound, CountWindow, Operand, Operation, Term, Theta
from dovetail.slicing.write_rows import bucket_of, time_of

TASKS, STEPS, ROWS, WINDOW = 2, 5, 40, 100
SCHEMA = pa.schema(
    [
        pa.field("_time", pa.int64(), nullable=False),
        ("_on_0", pa.int64()),
        ("_on_1", pa.float64()),
        ("id", pa.int64()),
    ]
)
OUTPUT = pa.schema([("left_id", pa.int64()), ("right_id", pa.int64())])
X, Y = (tuple(Operand(side, name) for side in ("left", "right")) for name in ("_on_0", "_on_1"))
NEAR = Band((Term(1, "_on_0"),), (Term(1, "_on_0"),), Bound("-3", False, "3"), None, (Operation("<", X),))
THETA = Theta((NEAR,), (Operation("<>", Y),), CountWindow(WINDOW, WINDOW))


def config(home: Path, index: Path) -> JoinConfig:
    return JoinConfig(
        home=str(home),
        application="near",
        join="near",
        left="left",
        right="right",
        keys=(),
        join_kind=ThetaJoin(IntervalSpec(0, 0, "inner"), THETA),
        columns=(OutputColumn("left_id", "left", "id"), OutputColumn("right_id", "right", "id")),
        buckets=1,
        tasks=TASKS,
        settings=JoinSettings(0, 0, TASKS),
        index_dir=str(index),
    )


def _offset(step: int) -> JoinOffset:
    at = JoinOffset()
    for number in range(1, step + 1):
        at = at.moved(
            step=number, left=number, right=number, left_time=0, right_time=0, tasks=TASKS, turns=[1, 1]
        )
    return at


def build(join: JoinConfig, seed: int) -> None:
    """All steps but the last."""
    rng = np.random.default_rng(seed)
    for name in ("left", "right"):
        category = Category.create(join.home, name, SCHEMA, buckets=1)
        for step in range(STEPS):
            columns = [
                np.zeros(ROWS, np.int64),
                rng.integers(0, 30, ROWS),
                pa.array([None if n == 0 else float(n) for n in rng.integers(0, 9, ROWS)], pa.float64()),
                np.arange(ROWS) + step * ROWS,
            ]
            batch = pa.record_batch(columns, schema=SCHEMA)
            category.append(category.write_segments(iter([batch]), bucket_of(None, 1), time_of("_time")))
    for step in range(STEPS - 1):
        joined(join, step)


def joined(join: JoinConfig, step: int = STEPS - 1) -> list[Any]:
    """What a step puts out; without an argument, the last one."""
    start, end = _offset(step), _offset(step + 1)
    batches = [b for task in range(TASKS) for b in run_step(join, task, start, end, OUTPUT)]
    settle()
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())
