"""A join over a real log and a real state store, to which accidents happen; Spark's part is played by hand.

Every step is run as tasks of Spark run it: one call for each bucket group, from the offset of the last step
to the next. An accident strikes before or while a step runs; then the step is run (again) as Spark would.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from dovetail.engine.copying import settle
from dovetail.engine.driver import JoinDriver
from dovetail.engine.join_step import run_step
from dovetail.engine.live_index import unmap_all
from dovetail.engine.queries import remember
from dovetail.engine.store import StateStore
from dovetail.joins.streams import ENDED, NEVER
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import IntervalJoin, JoinKind
from dovetail.model.join_settings import JoinSettings
from dovetail.model.offset import JoinOffset
from dovetail.model.share import HotKey
from dovetail.model.time_codes import NO_TIME
from laws.algorithms import NO_CAPS, Caps, Hashing
from oracle import in_order
from streams import Mode, Row, Step, Window

BUCKETS = 8
SCHEMA = pa.schema(
    [
        pa.field("_hash", pa.int64(), nullable=False),
        pa.field("_time", pa.int64(), nullable=False),
        pa.field("_key_0", pa.int64()),
        pa.field("id", pa.int64()),
    ]
)
OUTPUT = pa.schema([("left_id", pa.int64()), ("right_id", pa.int64())])


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""In memory: with this number of small synced files a disk would take minutes."""


@contextlib.contextmanager
def passing_home() -> Iterator[Path]:
    """A home that goes when nothing is copied into it any longer."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        try:
            yield Path(home)
        finally:
            settle()


class Crash(Exception):
    """A worker dies."""


def in_log_order(steps: list[Step], hashing: Hashing, buckets: int = BUCKETS) -> list[Step]:
    """The same steps with rows numbered as the log will number them: by commit, and by bucket within one."""
    numbered, counts = [], [0, 0]
    for step in steps:
        sides = []
        for side in (0, 1):
            rows = sorted(step[side], key=lambda row: hashing.of(row.key or 0) % buckets)
            sides.append(tuple(row._replace(id=counts[side] + n) for n, row in enumerate(rows)))
            counts[side] += len(rows)
        numbered.append(Step(sides[0], sides[1], step.until))
    return numbered


class RecoveringJoin:
    schema = SCHEMA

    def __init__(
        self,
        home: Path,
        window: Window,
        mode: Mode,
        hashing: Hashing,
        caps: Caps = NO_CAPS,
        buckets: int = BUCKETS,
        kind: JoinKind | None = None,
    ) -> None:
        self.index = home / "index"
        self.hashing = hashing
        self.sides = [
            Category.create(str(home), name, self.schema, buckets=buckets) for name in ("left", "right")
        ]
        self.config = JoinConfig(
            home=str(home),
            application="law",
            join="join",
            left="left",
            right="right",
            keys=("_key_0",),
            join_kind=kind or IntervalJoin(IntervalSpec(*window, *mode, *caps)),
            columns=(OutputColumn("left_id", "left", "id"), OutputColumn("right_id", "right", "id")),
            buckets=buckets,
            tasks=1,
            settings=JoinSettings(0, 0, 1, history_us=0),
            index_dir=str(self.index),
        )
        self.driver = JoinDriver(self.config)
        self.offset = JoinOffset()

    def step(
        self, step: Step, tasks: int, accident: str, hot: Sequence[HotKey] = ()
    ) -> list[tuple[int | None, int | None]]:
        return self.run(self.planned(step, tasks, hot), accident)

    def planned(self, step: Step, tasks: int, hot: Sequence[HotKey] = ()) -> JoinOffset:
        """Where the step ends that takes these rows. It has not run yet."""
        end = self._append(step, tasks).moved(hot=[list(key) for key in hot])
        settle()
        return self.driver.recoverable(self.offset, end)

    def becomes(self, *kinds: JoinKind) -> None:
        """The join is changed, perhaps several times before it runs again."""
        remember(self.config)
        for kind in kinds:
            self.config = replace(self.config, join_kind=kind, query=self.config.query + 1)
            remember(self.config)
        self.driver = JoinDriver(self.config)

    def change(self, accident: str) -> list[tuple[int | None, int | None]]:
        """The step in which it is."""
        return self.run(self.planned_change(), accident)

    def planned_change(self) -> JoinOffset:
        settle()
        end = self.driver.plan(self.offset)
        assert self.offset.changes_to(end), "a step of its own"
        return end

    def run(self, end: JoinOffset, accident: str) -> list[tuple[int | None, int | None]]:
        """The step that was planned to end here, with an accident."""
        start = self.offset
        if accident in ("the host is lost", "a snapshot is damaged"):
            self.lose_index()
            self._lose(start, damaged=accident == "a snapshot is damaged")
        elif accident == "the index is lost":
            self.lose_index()
        elif accident == "the workers are new":
            unmap_all()
        elif accident == "the output is lost":
            self._run(start, end)
        elif accident == "a worker dies":
            self._run_and_die(start, end)
        rows = self._run(start, end)
        if accident == "a snapshot is damaged":  # once: more than a few in a row are not survived
            self._lose(start, damaged=False)
        self.offset = end
        self.driver.retain(end)
        return in_order(rows)

    def _run(self, start: JoinOffset, end: JoinOffset) -> list[tuple[int | None, int | None]]:
        return [tuple(row.values()) for batch in self.driver.run(start, end) for row in batch.to_pylist()]

    def lose_index(self) -> None:
        unmap_all()
        shutil.rmtree(self.index, ignore_errors=True)

    def _lose(self, offset: JoinOffset, *, damaged: bool) -> None:
        """The last snapshots had not come to the home yet, or their bits were turned there."""
        for file in (Path(self.config.home) / self.config.state_path).glob(f"{offset.version}.*.snapshot"):
            if damaged:
                data = file.read_bytes()
                file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            else:
                file.unlink()

    def _run_and_die(self, start: JoinOffset, end: JoinOffset) -> None:
        """Each task gets as far as the state in the mapped files, but not to saying so."""
        save: Callable[..., int] = StateStore.save

        def die(*_: object) -> int:
            raise Crash

        StateStore.save = die  # type: ignore[method-assign]
        try:
            for task in range(end.tasks):
                try:
                    list(run_step(self.config, task, start, end, OUTPUT))
                except Crash:
                    continue
        finally:
            StateStore.save = save  # type: ignore[method-assign]

    def _append(self, step: Step, tasks: int) -> JoinOffset:
        for category, rows in zip(self.sides, step[:2], strict=True):
            if rows:
                category.append(category.write_segments(self._batch(rows), self._buckets, times_of))
        return self._next(step, tasks)

    def _next(self, step: Step, tasks: int, **more: object) -> JoinOffset:
        """The offset after all that is there."""
        left_time, right_time = (int(max(NEVER, min(ENDED, time))) for time in step.until)
        return self.offset.moved(
            step=self.offset.step + 1,
            left=self.sides[0].next_commit(),
            right=self.sides[1].next_commit(),
            left_time=left_time,
            right_time=right_time,
            tasks=tasks,
            query=self.config.query,
            ended=(left_time, right_time) == (ENDED, ENDED),
            **more,
        )

    def _batch(self, rows: tuple[Row, ...]) -> Iterator[pa.RecordBatch]:
        columns = [self._columns(row) for row in rows]
        yield pa.record_batch(list(zip(*columns, strict=True)), schema=self.schema)

    def _columns(self, row: Row) -> tuple[object, ...]:
        return self.hashing.of(row.key or 0), _time(row), row.key, row.id

    def _buckets(self, batch: pa.RecordBatch) -> np.ndarray:
        return batch.column("_hash").to_numpy() % self.config.buckets


def _time(row: Row) -> int:
    return NO_TIME if row.key is None or row.time is None else row.time


def times_of(batch: pa.RecordBatch) -> np.ndarray:
    return batch.column("_time").to_numpy()
