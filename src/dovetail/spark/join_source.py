"""The join as a Spark streaming source.

Spark calls `latestOffset` on the driver: that is the coordinator. It calls `read` in a task for each bucket
group: that is the join step. Offsets go through Spark's offset log before a step runs, so a step that is run
again (a retried task, a restarted driver) is the same step.

Spark starts a process for the driver's part, and the first step waits for what that process imports. So what
planning needs is imported with this module, while the slicers still work; the kernels, which it does not
need, only where a task runs.

Where a task can write its rows to their place itself (`slicing/step_outputs.py`), the source's rows are
short texts that say what was written, and the driver lets that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from dovetail.engine.awaiting import AWAITED_S
from dovetail.engine.gates import is_open, look_at, wait_at
from dovetail.engine.planner import JoinPlanner
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.spark.failures import packs_errors
from dovetail.spark.hang_up import QuietReader

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.slicing.step_outputs import StepOutput

NAME = "dovetail_join"
WRITTEN = "written"
"""The one column of a source whose tasks write their rows themselves."""


class Writing(NamedTuple):
    """How tasks write their rows: the columns of the joined rows, and what becomes of them."""

    joined: pa.Schema
    output: StepOutput


class JoinSource(DataSource):
    writing: ClassVar[Writing | None] = None

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return JoinReader(JoinConfig.from_json(self.options["config"]), schema, self.writing)


@dataclass
class BucketGroup(InputPartition):
    task: int
    start: dict[str, Any]
    end: dict[str, Any]


class JoinReader(QuietReader, SupportsTriggerAvailableNow):
    def __init__(self, config: JoinConfig, schema: StructType, writing: Writing | None = None) -> None:
        self.config = config
        self.schema = schema
        self.writing = writing
        self._planner = JoinPlanner(config)
        self._ends = False
        self._until: tuple[int, int] | None = None

    # --- driver ---

    @packs_errors
    def initialOffset(self) -> dict[str, Any]:
        return self._planner.first().to_json()

    @packs_errors
    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run will see, or what its slicers find there: they may still be
        working it off."""
        self._planner.there_now()  # what opening a category imports is imported before the wait
        wait_at(self.config.gate)
        self._ends = True

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    @packs_errors
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        look_at(self.config.gate)
        begin = JoinOffset.from_json(start)
        end = self._of_the_rest(begin) if self._ends else self._next(begin)
        return start if end is begin else end.to_json()

    def _next(self, begin: JoinOffset) -> JoinOffset:
        """Of streams that never end. If nothing is new, this waits for a moment: Spark needs longer than
        that to come back."""
        self._planner.await_news(begin, AWAITED_S)
        return self._planner.plan(begin)

    def _of_the_rest(self, begin: JoinOffset) -> JoinOffset:
        """Of streams that end. Spark takes a step that is none for the end, so this waits for slicers that
        may have more."""
        while self._until is None:
            over = all(is_open(gate) for gate in self.config.feeding)
            there = self._planner.there_now()
            if over:
                self._until = there
                break
            end = self._planner.plan(begin, until=there)
            if end is not begin:
                return end
            self._planner.await_news(begin, AWAITED_S)
            look_at(self.config.gate)
        return self._planner.plan(begin, until=self._until, final=self.config.drain)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        begin, stop = (JoinOffset.from_json(offset).slim().to_json() for offset in (start, end))
        return [BucketGroup(task, begin, stop) for task in range(end["tasks"])]

    @packs_errors
    def commit(self, end: dict[str, Any]) -> None:
        self._planner.retain(JoinOffset.from_json(end))

    # --- task ---

    @packs_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from dovetail.engine.join_step import run_step
        from dovetail.spark.arrow_types import arrow_schema

        assert isinstance(partition, BucketGroup)
        start, end = JoinOffset.from_json(partition.start), JoinOffset.from_json(partition.end)
        schema = self.writing.joined if self.writing else arrow_schema(self.schema)
        rows = run_step(self.config, partition.task, start, end, schema)
        if self.writing is None:
            yield from rows
        elif (said := self.writing.output.write(rows)) is not None:
            yield pa.record_batch({WRITTEN: [said]})
