"""The join as a Spark streaming source.

Spark calls `latestOffset` on the driver: that is the coordinator. It calls `read` in a task for each bucket
group: that is the join step. Offsets go through Spark's offset log before a step runs, so a step that is run
again (a retried task, a restarted driver) is the same step.

Spark starts a process for the driver's part, and the first step waits for what that process imports. So what
planning needs is imported with this module, while the slicers still work; the kernels, which it does not
need, only where a task runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from dovetail.crash_points import crash_point
from dovetail.engine.asked_tasks import tasks_to_plan
from dovetail.engine.floors import with_floors
from dovetail.engine.gates import look_at, wait_at
from dovetail.engine.home_snapshots import HomeSnapshots
from dovetail.engine.step_log import StepLog
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.spark.failures import told
from dovetail.spark.hang_up import QuietReader
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, Planned, plan
from dovetail.time.recording import record_of

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "dovetail_join"
LOOKED_BACK = 64
"""Commits among which one with an event time is looked for, to tell how long a stream has been silent."""


class JoinSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return JoinReader(JoinConfig.from_json(self.options["config"]), schema)


@dataclass
class BucketGroup(InputPartition):
    task: int
    start: dict[str, Any]
    end: dict[str, Any]


class JoinReader(QuietReader, SupportsTriggerAvailableNow):
    def __init__(self, config: JoinConfig, schema: StructType) -> None:
        self.config = config
        self.schema = schema
        self._stop_at: tuple[int, int] | None = None
        self._known = [0, 0]
        self._heard = [(-1, time.monotonic_ns())] * 2  # the last commit with a time, and when it was seen
        self._step_log: StepLog | None = None
        self._writing_us = 0

    # --- driver ---

    @told
    def initialOffset(self) -> dict[str, Any]:
        left, right = self._categories()
        first_left, first_right = left.first_commit(), right.first_commit()
        return JoinOffset(
            left=first_left, right=first_right, left_floor=first_left, right_floor=first_right
        ).to_json()

    @told
    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run will see."""
        left, right = self._categories()
        wait_at(self.config.gate)
        self._stop_at = left.next_commit(), right.next_commit()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    @told
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        look_at(self.config.gate)
        crash_point("coordinator", "begun")
        began = time.monotonic_ns()
        config, begin = self.config, JoinOffset.from_json(start)
        left, right = self._categories()
        pace = Pace(
            config.settings.left_max_delay_us,
            config.settings.right_max_delay_us,
            config.settings.max_step_rows,
            tasks_to_plan(config, begin.tasks),
            config.settings.estimate,
            config.settings.pacing,
            config.paced_after_us,
            config.spec if config.splits_hot_keys else None,
            keeps_turns=config.theta is not None,
            by_rows=config.theta is not None and config.theta.rows is not None,
        )
        waits = self._stop_at is None
        new = self._new(left, 0, begin.left), self._new(right, 1, begin.right)
        planned = plan(
            begin,
            *new,
            pace,
            final=config.drain and not waits,
            waits=waits,
            idle=(self._idle(left, 0), self._idle(right, 1)) if waits else (False, False),
        )
        if planned.end is begin:
            return start
        end = HomeSnapshots(config).remembering(begin, with_floors(config, planned.end, left, right))
        self._record(begin, planned, *new, (time.monotonic_ns() - began) // 1000)
        crash_point("coordinator", "planned")
        return end.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        begin, stop = (JoinOffset.from_json(offset).slim().to_json() for offset in (start, end))
        return [BucketGroup(task, begin, stop) for task in range(end["tasks"])]

    @told
    def commit(self, end: dict[str, Any]) -> None:
        """A step is done for good: let retention and the removal of old snapshots go on."""
        crash_point("coordinator", "done")
        offset = JoinOffset.from_json(end)
        left, right = self._categories()
        for category, floor in zip((left, right), offset.needed, strict=True):
            needed = min(floor, self._history(category, floor))
            category.set_reader(self.config.reader, needed, application=self.config.application)
            category.retain()
        HomeSnapshots(self.config).drop(before=offset.way[0].step)

    def _history(self, category: Category, floor: int) -> int:
        """The first commit, up to `floor`, that is young enough to be kept for those who ask why."""
        since_us = _now_us() - self.config.settings.history_us
        young = category.first_commit()
        while young < floor and category.commit(young).written_at_us < since_us:
            young += 1
        return young

    def _categories(self) -> tuple[Category, Category]:
        return (
            Category.open(self.config.home, self.config.left),
            Category.open(self.config.home, self.config.right),
        )

    def _new(self, category: Category, side: int, start: int) -> list[CommitSummary]:
        if self._stop_at is not None:
            stop = self._stop_at[side]
        else:
            stop = self._known[side] = category.next_commit(max(self._known[side], start))
        return [
            CommitSummary(
                commit.rows,
                _newest(commit),
                tuple(segment.sketch for segment in commit.segments),
                commit.written_at_us,
                tuple(key for segment in commit.segments for key in segment.frequent),
                commit.first_row,
            )
            for commit in category.commits(start, stop)
        ]

    def _record(
        self,
        start: JoinOffset,
        planned: Planned,
        left: list[CommitSummary],
        right: list[CommitSummary],
        planning_us: int,
    ) -> None:
        """Before Spark has the offset: a step that runs is one that was written down."""
        if self._step_log is None:
            self._step_log = StepLog(self.config.home, self.config.state_path)
        began = time.monotonic_ns()
        planning_us += self._writing_us
        self._step_log.write(record_of(start, planned, left, right, _now_us(), planning_us))
        self._writing_us = (time.monotonic_ns() - began) // 1000

    def _idle(self, category: Category, side: int) -> bool:
        """No row with a time has come for long: since one was seen, or since this process began, by a clock
        that does not jump. One that does would close windows whose rows are on their way."""
        if self.config.settings.idle_timeout_us is None:
            return False
        last, first = self._known[side] - 1, category.first_commit()
        timeless = 0
        while last >= first and timeless < LOOKED_BACK and not category.commit(last).sketch.count:
            last, timeless = last - 1, timeless + 1
        if last >= first and timeless < LOOKED_BACK and last != self._heard[side][0]:
            self._heard[side] = (last, time.monotonic_ns())
        silent_us = (time.monotonic_ns() - self._heard[side][1]) // 1000
        return silent_us > self.config.settings.idle_timeout_us

    # --- task ---

    @told
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from dovetail.engine.join_step import run_step
        from dovetail.spark.arrow_types import arrow_schema

        assert isinstance(partition, BucketGroup)
        start, end = JoinOffset.from_json(partition.start), JoinOffset.from_json(partition.end)
        yield from run_step(self.config, partition.task, start, end, arrow_schema(self.schema))


def _now_us() -> int:
    return time.time_ns() // 1000


def _newest(commit: Commit) -> int | None:
    return commit.sketch.max_us if commit.sketch.count else None
