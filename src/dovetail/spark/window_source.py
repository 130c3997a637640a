"""The rows of windows that close, as a Spark streaming source.

As for a join (`spark/join_source.py`): Spark calls `latestOffset` on the driver, which plans the next step,
and `read` in a task for each part of it. All rows of a window come in one micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from dovetail.engine.gates import look_at, wait_at
from dovetail.engine.window_planner import WindowPart, WindowPlanner
from dovetail.model.window_config import WindowConfig
from dovetail.model.window_offset import WindowOffset
from dovetail.spark.failures import packs_errors
from dovetail.spark.hang_up import QuietReader

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "dovetail_windows"


class WindowSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return WindowReader(WindowConfig.from_json(self.options["config"]), schema)


@dataclass
class ClosingPart(InputPartition):
    part: WindowPart


class WindowReader(QuietReader, SupportsTriggerAvailableNow):
    def __init__(self, config: WindowConfig, schema: StructType) -> None:
        self.config = config
        self.schema = schema
        self._planner = WindowPlanner(config)
        self._until: int | None = None

    # --- driver ---

    @packs_errors
    def initialOffset(self) -> dict[str, Any]:
        return self._planner.first().to_json()

    @packs_errors
    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run will see."""
        self._planner.there_now()  # what opening a category imports is imported before the wait
        wait_at(self.config.gate)
        self._until = self._planner.there_now()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    @packs_errors
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        look_at(self.config.gate)
        begin = WindowOffset.from_json(start)
        final = self.config.drain and self._until is not None
        if self._until is None:
            self._planner.await_news(begin)
        end = self._planner.plan(begin, until=self._until, final=final)
        return start if end is begin else end.to_json()

    @packs_errors
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        parts = self._planner.parts(WindowOffset.from_json(start), WindowOffset.from_json(end))
        return [ClosingPart(part) for part in parts]

    @packs_errors
    def commit(self, end: dict[str, Any]) -> None:
        self._planner.retain(WindowOffset.from_json(end))

    # --- task ---

    @packs_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from dovetail.engine.window_step import run_part
        from dovetail.spark.arrow_types import arrow_schema

        assert isinstance(partition, ClosingPart)
        yield from run_part(self.config, partition.part, arrow_schema(self.schema))
