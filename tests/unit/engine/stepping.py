"""A join driven by hand: commits are appended, steps are planned, recorded and run, all without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dovetail.engine.driver import JoinDriver
from dovetail.engine.planner import HostClock
from dovetail.joins.question import Answer
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.join_kind import IntervalJoin, JoinKind, ThetaJoin, WindowedJoin
from dovetail.model.offset import JoinOffset
from dovetail.service.torture.quick_join import SCHEMA, THETA_SCHEMA, config
from dovetail.slicing.write_rows import bucket_of, time_of
from dovetail.why.why import why
from unit.engine.workload import NO_TIME

BUCKETS = 4
Row = tuple[Any, int | None]


@dataclass
class Driven:
    """`now_us` is the clock by which steps are planned."""

    config: JoinConfig
    offset: JoinOffset = field(default_factory=JoinOffset)
    now_us: int = 0
    pairs: set[tuple[int, int]] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    out: list[tuple[int | None, ...]] = field(default_factory=list)  # the step, then what came out
    _ids: dict[str, int] = field(default_factory=lambda: {"left": 0, "right": 0})

    @classmethod
    def make(cls, folder: Path, kind: IntervalSpec | JoinKind, max_delay: int = 0) -> Driven:
        """A join over two new categories. Where it is one without keys, what is a key in `append` is the
        operand `_on_0`, a number."""
        kind = IntervalJoin(kind) if isinstance(kind, IntervalSpec) else kind
        keyed = not isinstance(kind, ThetaJoin)
        buckets = BUCKETS if keyed else 1
        for name in ("left", "right"):
            Category.create(str(folder / "home"), name, SCHEMA if keyed else THETA_SCHEMA, buckets=buckets)
        made = config(folder / "home", folder / "index", kind, buckets, max_delay)
        if isinstance(kind, WindowedJoin):
            bounds = (OutputColumn(end, "window", end) for end in ("start", "end"))
            made = replace(made, columns=(*made.columns, *bounds))
        return cls(made if keyed else replace(made, keys=()))

    def append(self, side: str, *rows: Row) -> Commit:
        """One commit of rows `(key, time)`; their ids count up."""
        category = Category.open(self.config.home, side)
        times = pa.array([NO_TIME if row[1] is None else row[1] for row in rows], pa.int64())
        first = self._ids[side]
        ids = pa.array(range(first, first + len(rows)), pa.int64())
        self._ids[side] += len(rows)
        if not self.config.keys:
            columns = [times, pa.array([value for value, _ in rows], pa.int64()), ids]
        else:
            keys = pa.array([key for key, _ in rows], pa.string())
            times = pa.array([NO_TIME if None in row else row[1] for row in rows], pa.int64())
            columns = [pa.array(hash_keys([keys])), times, keys, ids]
        batch = pa.record_batch(columns, schema=category.schema)
        buckets = bucket_of("_hash" if self.config.keys else None, category.buckets)
        infos = category.write_segments([batch], buckets, time_of("_time"))
        commit = category.append(infos)
        assert commit is not None
        return commit

    def step(self, *, final: bool = False, max_step_rows: int = 1000) -> None:
        """Plan, record and run one step. Nothing is retained: every row stays to be asked about."""
        settings = replace(self.config.settings, max_step_rows=max_step_rows)
        clock = HostClock(lambda: self.now_us, lambda: 0)
        driver = JoinDriver(replace(self.config, settings=settings), clock)
        end = driver.plan(self.offset, until=driver.there_now(), final=final, tasks=1)
        if end is self.offset:
            return
        for batch in driver.run(self.offset, end):
            columns = [column.cast(pa.int64()).to_pylist() for column in batch.columns]
            for row in zip(*columns, strict=True):
                left, right = row[:2]
                self.out.append((self.offset.step + 1, *row))
                if left is not None and right is not None:
                    self.pairs.add((left, right))
                elif left is not None:
                    self.alone.add(left)
        self.offset = end

    def why(self, key: str, time_us: int | None = None) -> Answer:
        return why(self.config, [key], time_us)

    def why_row(self, row: int) -> Answer:
        return why(self.config, row=row)

    def why_at(self, time_us: int) -> Answer:
        return why(self.config, time_us=time_us)

    def rows(self, side: str) -> int:
        """How many were appended."""
        return self._ids[side]

    def retain(self, side: str, floor: int) -> None:
        category = Category.open(self.config.home, side)
        category.set_reader("test", floor)
        category.retain()


def ids(rows: Sequence[object]) -> list[int]:
    return [row.values["id"] for row in rows]  # type: ignore[attr-defined]
