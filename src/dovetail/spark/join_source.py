"""The join as a Spark streaming source.

Spark calls `latestOffset` on the driver (`spark/planned_reader.py`): that is the coordinator. It calls `read`
in a task for each bucket group: that is the join step.

Where a task can write its rows to their place itself (`slicing/step_outputs.py`), the source's rows are
short texts that say what was written, and the driver lets that exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from dovetail.engine.awaiting import AWAITED_S
from dovetail.engine.gates import is_open, look_at
from dovetail.engine.planner import JoinPlanner
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.spark.failures import packs_errors
from dovetail.spark.planned_reader import PlannedReader

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


class JoinReader(PlannedReader):
    offset = JoinOffset
    _planner: JoinPlanner

    def __init__(self, config: JoinConfig, schema: StructType, writing: Writing | None = None) -> None:
        super().__init__(config, schema, JoinPlanner(config))
        self.writing = writing

    # --- driver ---

    def next_step(self, begin: JoinOffset) -> JoinOffset:
        """Of streams that never end. If nothing is new, this waits for a moment: Spark needs longer than
        that to come back."""
        self._planner.await_news(begin, AWAITED_S)
        return self._planner.plan(begin)

    def of_the_rest(self, begin: JoinOffset) -> JoinOffset:
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
