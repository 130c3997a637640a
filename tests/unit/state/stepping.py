"""A join driven by hand: commits are appended, steps are planned, recorded and run, all without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.spark.write_rows import bucket_of, time_of
from dovetail.state.join_step import run_step
from dovetail.state.key_hash import hash_keys
from dovetail.state.step_log import StepLog
from dovetail.state.why import Answer, why
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, needed_since, plan
from dovetail.time.recording import record_of
from unit.state.workload import NO_TIME, OUTPUT, SCHEMA, config

BUCKETS = 4
Row = tuple[str | None, int | None]


@dataclass
class Driven:
    """`now_us` is the clock by which steps are planned."""

    config: JoinConfig
    offset: JoinOffset = field(default_factory=JoinOffset)
    now_us: int = 0
    pairs: set[tuple[int, int]] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    _ids: dict[str, int] = field(default_factory=lambda: {"left": 0, "right": 0})

    @classmethod
    def make(cls, folder: Path, spec: IntervalSpec, max_delay: int = 0) -> Driven:
        for name in ("left", "right"):
            Category.create(str(folder / "home"), name, SCHEMA, buckets=BUCKETS)
        return cls(config(folder / "home", folder / "index", spec, BUCKETS, max_delay))

    def append(self, side: str, *rows: Row) -> Commit:
        """One commit of rows `(key, time)`; their ids count up."""
        category = Category.open(self.config.home, side)
        keys = pa.array([key for key, _ in rows], pa.string())
        times = [NO_TIME if None in row else row[1] for row in rows]
        first = self._ids[side]
        ids = pa.array(range(first, first + len(rows)), pa.int64())
        self._ids[side] += len(rows)
        batch = pa.record_batch(
            [pa.array(hash_keys([keys])), pa.array(times, pa.int64()), keys, ids], schema=SCHEMA
        )
        infos = category.write_segments([batch], bucket_of("_hash", BUCKETS), time_of("_time"))
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
        pace = Pace(settings.left_max_delay_us, settings.right_max_delay_us, max_step_rows, 1)
        planned = plan(self.offset, new[0], new[1], pace, final=final)
        if planned.end is self.offset:
            return
        record = record_of(self.offset, planned, new[0], new[1], self.now_us)
        StepLog(self.config.home, self.config.state_path).write(record)
        end = planned.end.moved(left_floor=0, right_floor=0)
        for batch in run_step(self.config, 0, self.offset, end, OUTPUT):
            for left, right in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if left is not None and right is not None:
                    self.pairs.add((left, right))
                elif left is not None:
                    self.alone.add(left)
        assert needed_since(self.config.spec, end)
        self.offset = end

    def why(self, key: str, time_us: int | None = None) -> Answer:
        return why(self.config, [key], time_us)

    def retain(self, side: str, floor: int) -> None:
        category = Category.open(self.config.home, side)
        category.set_reader("test", floor)
        category.retain()


def _summary(commit: Commit) -> CommitSummary:
    newest = commit.sketch.max_us if commit.sketch.count else None
    return CommitSummary(commit.rows, newest, (), commit.written_at_us)


def ids(rows: Sequence[object]) -> list[int]:
    return [row.values["id"] for row in rows]  # type: ignore[attr-defined]
