"""A theta join over a real log and a real state store, to which accidents happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.engine.driver import JoinDriver
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.offset import JoinOffset
from dovetail.model.theta import Expression, Theta
from dovetail.model.time_codes import NO_TIME
from laws.algorithms import HASHINGS
from laws.recovering import RecoveringJoin, times_of
from streams import Mode, Row, Step, Window

SCHEMA = pa.schema([pa.field("_time", pa.int64(), nullable=False), ("_on_0", pa.int64()), ("id", pa.int64())])
Turns = Sequence[tuple[str, tuple[Row, ...]]]


def numbered(steps: Sequence[Turns]) -> list[list[tuple[str, tuple[Row, ...]]]]:
    """The same turns with rows numbered as the log will number them."""
    counts = {"left": 0, "right": 0}
    made = []
    for turns in steps:
        made.append([])
        for side, rows in turns:
            ids = range(counts[side], counts[side] + len(rows))
            made[-1].append((side, tuple(row._replace(id=n) for row, n in zip(rows, ids, strict=True))))
            counts[side] += len(rows)
    return made


class RecoveringTheta(RecoveringJoin):
    def __init__(
        self, home: Path, window: Window, mode: Mode, theta: Theta, picked_by: Expression | None = None
    ) -> None:
        kind = ThetaJoin(IntervalSpec(*window, *mode, picked_by=picked_by), theta)
        super().__init__(home / "keyed", window, mode, HASHINGS[0], buckets=1, kind=kind)
        self.sides = [Category.create(str(home), name, SCHEMA, buckets=1) for name in ("left", "right")]
        self.config = replace(self.config, home=str(home), keys=())
        self.driver = JoinDriver(self.config)
        self._turns: Turns = ()

    def turns(self, turns: Turns, until: tuple[float, float], tasks: int, accident: str) -> list:
        """A step in which rows enter by turns."""
        self._turns = turns
        return self.step(Step((), (), until), tasks, accident)

    def _append(self, step: Step, tasks: int) -> JoinOffset:
        taken = [0]
        for side, rows in self._turns:
            if not rows:
                continue
            category = self.sides[side == "right"]
            category.append(category.write_segments(self._batch(rows), self._buckets, times_of, max_rows=3))
            if (len(taken) % 2 == 1) != (side == "left"):
                taken.append(0)
            taken[-1] += 1
        return self._next(step, tasks, turns=taken)

    def _batch(self, rows: tuple[Row, ...]) -> Iterator[pa.RecordBatch]:
        columns = [(NO_TIME if row.time is None else row.time, row.key, row.id) for row in rows]
        yield pa.record_batch(list(zip(*columns, strict=True)), schema=SCHEMA)

    def _buckets(self, batch: pa.RecordBatch) -> np.ndarray:
        return np.zeros(batch.num_rows, np.int64)
