"""The rows of windows that close, as a Spark streaming source.

As for a join (`spark/join_source.py`), Spark calls `latestOffset` on the driver, which plans the next step,
and `read` in a task for each part of it. All rows of a window come in one micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from dovetail.engine.window_planner import WindowPart, WindowPlanner
from dovetail.model.window_config import WindowConfig
from dovetail.model.window_offset import WindowOffset
from dovetail.spark.failures import packs_errors
from dovetail.spark.planned_reader import PlannedReader

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


class WindowReader(PlannedReader):
    offset = WindowOffset
    _planner: WindowPlanner

    def __init__(self, config: WindowConfig, schema: StructType) -> None:
        super().__init__(config, schema, WindowPlanner(config))

    # --- driver ---

    def of_the_rest(self, begin: WindowOffset) -> WindowOffset:
        if self._until is None:
            self._until = self._planner.there_now()
        return self._planner.plan(begin, until=self._until, final=self.config.drain)

    @packs_errors
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        parts = self._planner.parts(WindowOffset.from_json(start), WindowOffset.from_json(end))
        return [ClosingPart(part) for part in parts]

    # --- task ---

    @packs_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from dovetail.engine.window_step import run_part
        from dovetail.spark.arrow_types import arrow_schema

        assert isinstance(partition, ClosingPart)
        yield from run_part(self.config, partition.part, arrow_schema(self.schema))
