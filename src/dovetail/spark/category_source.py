"""A log category as a Spark streaming source: `FROM SCRIBE("category")`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from dovetail.engine.awaiting import await_commit
from dovetail.spark.failures import packs_errors
from dovetail.spark.hang_up import QuietReader

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.log.category import Category

NAME = "dovetail_log"


class CategorySource(DataSource):
    """Options: home, category and tasks; of a stream application and reader (hold back retention), max_rows
    (of a micro-batch); of rows that are read once the commits first and stop."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return CategoryReader(dict(self.options), schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        return CommitsReader(dict(self.options), schema)


@dataclass
class CommitPartition(InputPartition):
    segments: tuple[tuple[int, int], ...]  # commit, segment within it


class CategoryReader(QuietReader, SupportsTriggerAvailableNow):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self.home, self.category_name = options["home"], options["category"]
        self.application, self.reader = options["application"], options["reader"]
        self.max_rows = int(options["max_rows"])
        self.tasks = int(options["tasks"])
        self.schema = schema
        self._stop_at: int | None = None
        self._known = 0

    def _category(self) -> Category:
        from dovetail.log.category import Category

        return Category.open(self.home, self.category_name)

    @packs_errors
    def initialOffset(self) -> dict[str, Any]:
        return self._offset(self._category().first_commit())

    @packs_errors
    def prepareForTriggerAvailableNow(self) -> None:
        self._stop_at = self._category().next_commit()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    @packs_errors
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        category = self._category()
        stop = self._stop_at
        if stop is None:
            await_commit([(category, start["commit"])])
            stop = self._known = category.next_commit(max(self._known, start["commit"]))
        rows, end = 0, start["commit"]
        while end < stop and rows < self.max_rows:
            rows += category.commit(end).rows
            end += 1
        return self._offset(end)

    def _offset(self, commit: int) -> dict[str, Any]:
        """It names the category: of a query with several inputs, whose offset it is."""
        return {"version": 1, "commit": commit, "category": self.category_name}

    @packs_errors
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return _dealt(self._category(), start["commit"], end["commit"], self.tasks)

    @packs_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from _rows_of(self._category(), self.schema, partition)

    @packs_errors
    def commit(self, end: dict[str, Any]) -> None:
        self._category().set_reader(self.reader, end["commit"], application=self.application)


class CommitsReader(DataSourceReader):
    """The rows of some commits, once."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self.home, self.category_name = options["home"], options["category"]
        self.first, self.stop, self.tasks = (int(options[name]) for name in ("first", "stop", "tasks"))
        self.schema = schema

    def _category(self) -> Category:
        from dovetail.log.category import Category

        return Category.open(self.home, self.category_name)

    @packs_errors
    def partitions(self) -> Sequence[InputPartition]:
        return _dealt(self._category(), self.first, self.stop, self.tasks) or [CommitPartition(())]

    @packs_errors
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from _rows_of(self._category(), self.schema, partition)


def _dealt(category: Category, first: int, stop: int, tasks: int) -> list[InputPartition]:
    """Whole segments of these commits, dealt out to the tasks by size, neighbours together."""
    segments = [
        (info.rows, (commit.number, number))
        for commit in category.commits(first, stop)
        for number, info in enumerate(commit.segments)
    ]
    share = max(1, -(-sum(rows for rows, _ in segments) // tasks))
    groups: list[list[tuple[int, int]]] = []
    filled = share
    for rows, segment in segments:
        if filled >= share:
            groups.append([])
            filled = 0
        groups[-1].append(segment)
        filled += rows
    return [CommitPartition(tuple(group)) for group in groups]


def _rows_of(category: Category, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from dovetail.spark.arrow_types import arrow_schema

    assert isinstance(partition, CommitPartition)
    wanted = category.reading(arrow_schema(schema))
    for commit, number in partition.segments:
        segment = wanted.open_segment(wanted.commit(commit).segments[number])
        yield from pa.Table.from_batches([segment.batch]).to_batches(max_chunksize=65_536)
