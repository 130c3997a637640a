"""The join as a Spark streaming source.

Spark calls `latestOffset` on the driver (`spark/planned_reader.py`): that is the coordinator. It calls `read`
in a task for each bucket group: that is the join step.

On a cluster a task finds out which bucket group it joins when it runs: one whose index is on its host
(`engine/claiming.py`).

Where a task can write its rows to their place itself (`slicing/step_outputs.py`), the source's rows are
short texts that say what was written, and the driver lets that exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from dovetail.engine.claiming import Claiming, ClaimServer, claimed, greet
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
DRIVER = "driver"
"""The option with the addresses of the driver, on a cluster."""
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
        said = json.loads(self.options.get(DRIVER, "null"))
        driver = None if said is None else (said[0], said[1])
        return JoinReader(JoinConfig.from_json(self.options["config"]), schema, self.writing, driver)


@dataclass
class TaskOfStep(InputPartition):
    """It joins the bucket group of its number, or on a cluster the one that it claims."""

    number: int
    start: dict[str, Any]
    end: dict[str, Any]
    claiming: Claiming | None = None


class JoinReader(PlannedReader):
    offset = JoinOffset
    _planner: JoinPlanner

    def __init__(
        self,
        config: JoinConfig,
        schema: StructType,
        writing: Writing | None = None,
        driver: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(config, schema, JoinPlanner(config))
        self.writing = writing
        self._driver = driver
        self._claims: ClaimServer | None = None

    # --- driver ---

    def of_the_rest(self, begin: JoinOffset) -> JoinOffset:
        """For streams that end. Spark takes a step that is none for the end, so this waits for slicers that
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
            self._planner.await_news(begin)
            look_at(self.config.gate)
        return self._planner.plan(begin, until=self._until, final=self.config.drain)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            return []
        begin, stop = (JoinOffset.from_json(offset).slim().to_json() for offset in (start, end))
        groups: int = end["tasks"]
        claiming = self._claiming(groups, settled=start["tasks"] == groups)
        tasks = 2 * groups if claiming and claiming.proved else groups
        return [TaskOfStep(number, begin, stop, claiming) for number in range(tasks)]

    def _claiming(self, groups: int, *, settled: bool) -> Claiming | None:
        """How the tasks of a step find their groups; None: by their numbers."""
        if self._driver is None:
            return None
        if self._claims is None:
            try:
                self._claims = ClaimServer(*self._driver)
            except OSError:  # no port may be opened here
                self._driver = None
                return None
        if self._claims.in_vain:
            self._claims.close()
            self._driver = self._claims = None
            return None
        return self._claims.begin(groups, settled=settled)

    # --- task ---

    @packs_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TaskOfStep)
        start, end = JoinOffset.from_json(partition.start), JoinOffset.from_json(partition.end)
        at, number = partition.claiming, partition.number
        if at is None or not at.proved:
            if at is not None:
                greet(at, number)
            yield from self._read(number, start, end)
            return
        from dovetail.engine.index_folders import index_root, join_directory, place_of
        from dovetail.engine.live_index import drop_others, groups_at, unmap_removed

        root = index_root(self.config.index_dir)
        join = join_directory(root, self.config.home, self.config.state_path)
        with claimed(at, number, place_of(root), groups_at(join, end.tasks, start.version)) as group:
            drop_others(join, end.tasks, (start.version, end.version))
            unmap_removed(join)
            if group is not None:
                yield from self._read(group, start, end)

    def _read(self, group: int, start: JoinOffset, end: JoinOffset) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from dovetail.engine.join_step import run_step
        from dovetail.spark.arrow_types import arrow_schema

        schema = self.writing.joined if self.writing else arrow_schema(self.schema)
        rows = run_step(self.config, group, start, end, schema)
        if self.writing is None:
            yield from rows
        elif (said := self.writing.output.write(rows)) is not None:
            yield pa.record_batch({WRITTEN: [said]})
