"""A join driven by hand: commits are appended, steps are planned, recorded and run, all without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dovetail.engine.join_step import run_step
from dovetail.engine.step_log import StepLog
from dovetail.joins.rows.key_hash import hash_keys
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig, OutputColumn
from dovetail.model.offset import JoinOffset
from dovetail.model.theta import Theta
from dovetail.model.window_join import WindowJoin
from dovetail.service.torture.quick_join import THETA_SCHEMA
from dovetail.slicing.write_rows import bucket_of, time_of
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, needed_since, plan
from dovetail.time.recording import record_of
from dovetail.why.why import Answer, why
from unit.engine.workload import NO_TIME, OUTPUT, SCHEMA, config

BUCKETS = 4
STAMP = pa.timestamp("us", "UTC")
WINDOWED = OUTPUT.append(pa.field("start", STAMP)).append(pa.field("end", STAMP))
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
    def make(
        cls, folder: Path, spec: IntervalSpec, max_delay: int = 0, window: WindowJoin | None = None
    ) -> Driven:
        for name in ("left", "right"):
            Category.create(str(folder / "home"), name, SCHEMA, buckets=BUCKETS)
        made = config(folder / "home", folder / "index", spec, BUCKETS, max_delay)
        if window is not None:
            bounds = (OutputColumn(end, "window", end) for end in ("start", "end"))
            made = replace(made, window=window, columns=(*made.columns, *bounds))
        return cls(made)

    @classmethod
    def theta(cls, folder: Path, spec: IntervalSpec, theta: Theta, max_delay: int = 0) -> Driven:
        """Of a join without keys: what is a key in `append` is the operand `_on_0`, a number."""
        for name in ("left", "right"):
            Category.create(str(folder / "home"), name, THETA_SCHEMA, buckets=1)
        made = config(folder / "home", folder / "index", spec, 1, max_delay)
        return cls(replace(made, keys=(), theta=theta))

    def append(self, side: str, *rows: Row) -> Commit:
        """One commit of rows `(key, time)`; their ids count up."""
        category = Category.open(self.config.home, side)
        times = pa.array([NO_TIME if row[1] is None else row[1] for row in rows], pa.int64())
        first = self._ids[side]
        ids = pa.array(range(first, first + len(rows)), pa.int64())
        self._ids[side] += len(rows)
        if self.config.theta:
            columns = [times, pa.array([value for value, _ in rows], pa.int64()), ids]
        else:
            keys = pa.array([key for key, _ in rows], pa.string())
            times = pa.array([NO_TIME if None in row else row[1] for row in rows], pa.int64())
            columns = [pa.array(hash_keys([keys])), times, keys, ids]
        batch = pa.record_batch(columns, schema=category.schema)
        buckets = bucket_of(None if self.config.theta else "_hash", category.buckets)
        infos = category.write_segments([batch], buckets, time_of("_time"))
        commit = category.append(infos)
        assert commit is not None
        return commit

    def step(self, *, final: bool = False, max_step_rows: int = 1000) -> None:
        """Plan, record and run one step."""
        sides = [Category.open(self.config.home, name) for name in ("left", "right")]
        new = [
            [_summary(commit) for commit in category.commits(start, category.next_commit())]
            for category, start in zip(sides, (self.offset.left, self.offset.right), strict=True)
        ]
        settings = self.config.settings
        theta = self.config.theta
        pace = Pace(
            settings.left_max_delay_us,
            settings.right_max_delay_us,
            max_step_rows,
            1,
            keeps_turns=theta is not None,
            by_rows=theta is not None and theta.rows is not None,
        )
        planned = plan(self.offset, new[0], new[1], pace, final=final)
        if planned.end is self.offset:
            return
        record = record_of(self.offset, planned, new[0], new[1], self.now_us)
        StepLog(self.config.home, self.config.state_path).write(record)
        end = planned.end.moved(left_floor=0, right_floor=0)
        schema = WINDOWED if self.config.window else OUTPUT
        for batch in run_step(self.config, 0, self.offset, end, schema):
            columns = [column.cast(pa.int64()).to_pylist() for column in batch.columns]
            for row in zip(*columns, strict=True):
                left, right = row[:2]
                self.out.append((self.offset.step + 1, *row))
                if left is not None and right is not None:
                    self.pairs.add((left, right))
                elif left is not None:
                    self.alone.add(left)
        assert needed_since(self.config.spec, end)
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


def _summary(commit: Commit) -> CommitSummary:
    newest = commit.sketch.max_us if commit.sketch.count else None
    return CommitSummary(commit.rows, newest, (), commit.written_at_us, first_row=commit.first_row)


def ids(rows: Sequence[object]) -> list[int]:
    return [row.values["id"] for row in rows]  # type: ignore[attr-defined]
