"""The slicer's short way: Parquet files into the log without a detour through the JVM's rows.

Most of a slicer's time goes into turning Parquet columns into Spark rows, these into Arrow columns, and
sending them to Python. Where a stage only picks and renames columns of Parquet files, its tasks read the
files with Arrow themselves. Spark still finds the files, numbers the micro-batches, schedules the tasks and
runs them again when they fail; segments, commits and hashes are the same as on the long way, so that a stage
may change from one to the other between two runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from dovetail.model.validity import Validity
from dovetail.plan.physical import CategoryOutput, FilesSource, SlicerStage
from dovetail.plan.projection import plain_projection
from dovetail.spark.failures import told
from dovetail.spark.input_files import input_files, local_path
from dovetail.spark.parquet_files import parquet_schema, read_row_group
from dovetail.spark.slicer import HASH, TIME

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.log.category import Category

RowGroup = tuple[str, int, int]
"""A file, the number of a row group in it, and its rows."""


@dataclass(frozen=True)
class DirectSlice:
    """What the tasks need to know: which input column makes which column of the category."""

    home: str
    category: str
    columns: tuple[tuple[str, str], ...]  # of the category, of the file
    keys: tuple[str, ...]  # of the category
    time: str  # of the file
    validity: Validity

    @told
    def __call__(self, groups: Iterable[list[RowGroup]]) -> Iterator[str]:
        from dovetail.log.category import Category
        from dovetail.slicing.sides import write_side

        category = Category.open(self.home, self.category)
        batches = (self._sliced(group, category.schema) for part in groups for group in part)
        yield write_side(category, batches, self.validity).to_json()

    def _sliced(self, group: RowGroup, schema: pa.Schema) -> pa.RecordBatch:
        from dovetail.slicing.write_rows import sliced_batch

        file, number, _ = group
        wanted = list(dict.fromkeys([*(source for _, source in self.columns), self.time]))
        return sliced_batch(read_row_group(file, number, wanted), self.columns, self.keys, self.time, schema)


def direct_slice(stage: SlicerStage, category: Category, validity: Validity) -> DirectSlice | None:
    """The short way of a stage, if it has one: Parquet files on a local path, nothing computed, keys that
    Arrow and the category agree on."""
    import pyarrow as pa

    from dovetail.joins.rows.key_hash import hashable

    source, output = stage.inputs[0].source if stage.inputs else None, stage.output
    if (
        not isinstance(source, FilesSource)
        or source.format != "parquet"
        or not isinstance(output, CategoryOutput)
    ):
        return None
    projection = plain_projection(stage)
    if projection is None or output.time is None or "://" in source.path:
        return None
    stored = parquet_schema(input_files(source)[0])
    columns = tuple((name, projection[name]) for name in category.schema.names if name not in (HASH, TIME))
    for name, column in columns:
        read, kept = stored.field(column).type, category.schema.field(name).type
        if not (read.equals(kept) or (pa.types.is_timestamp(read) and pa.types.is_timestamp(kept))):
            return None
    if not all(hashable(category.schema.field(key).type) for key in output.keys):
        return None
    if not pa.types.is_timestamp(stored.field(projection[output.time]).type):
        return None
    return DirectSlice(category.home, category.name, columns, output.keys, projection[output.time], validity)


def append_files(
    rows: DataFrame, batch: int, files: Sequence[str], category: Category, producer: str, slice_: DirectSlice
) -> None:
    """One micro-batch of files, in the order they came, into the log. To be called from `foreachBatch`."""
    from dovetail.slicing.sides import append_written

    context = rows.sparkSession.sparkContext
    parts = _parts(_row_groups(files), context.defaultParallelism)
    if not parts:
        return
    written = context.parallelize(parts, len(parts)).mapPartitions(slice_).collect()
    append_written(category, written, producer, batch)


def _row_groups(files: Sequence[str]) -> list[RowGroup]:
    import pyarrow.parquet as pq

    found = []
    for file in files:
        path = local_path(file)
        metadata = pq.read_metadata(path)
        found += [
            (path, number, metadata.row_group(number).num_rows) for number in range(metadata.num_row_groups)
        ]
    return found


def _parts(groups: list[RowGroup], tasks: int) -> list[list[RowGroup]]:
    """Neighbouring row groups together, about the same number of rows to each task."""
    total = sum(rows for _, _, rows in groups)
    parts: list[list[RowGroup]] = [[] for _ in range(tasks)]
    seen = 0
    for group in groups:
        parts[min(tasks - 1, seen * tasks // max(1, total))].append(group)
        seen += group[2]
    return [part for part in parts if part]
