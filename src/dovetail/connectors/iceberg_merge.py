"""Small files of an Iceberg table become few larger ones.

Law: one snapshot takes small files out and puts in those with the same rows, or nothing happens. So a reader
sees each row once, whichever snapshot it reads. The files that are no longer named stay where they are, for
readers of earlier snapshots.

Files are merged within a partition, as many as fit into `LARGE_BYTES`, and read a batch of rows at a time. If
somebody else commits in between, the table is left as it is: the next merge takes these files, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.connectors.data_files import DataFiles, named
from dovetail.connectors.iceberg_catalog import MERGED

if TYPE_CHECKING:
    import pyarrow as pa

RETRIES = "commit.retry.num-retries"
LARGE_BYTES = 128 << 20
SMALL_BYTES = LARGE_BYTES // 4
"""Larger files stay as they are."""


def merge_files(table: Any, partitioned: Sequence[str]) -> None:
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.io.pyarrow import parquet_files_to_data_files

    groups = list(_groups(table))
    if not groups:
        return
    folder = f"{table.location()}/data"
    schema = table.schema().as_arrow()
    into = DataFiles(folder, schema, tuple(partitioned), keeps_parts=True)
    written = [text for group in groups if (text := into.write(_rows(table, group))) is not None]
    paths = [f"{folder}/{file.path}" for file in named(written)]
    table.metadata.properties[RETRIES] = "0"  # in this process only
    try:
        with (
            table.transaction() as change,
            change.update_snapshot(snapshot_properties={MERGED: "true"}).overwrite() as merged,
        ):
            for task in (task for group in groups for task in group):
                merged.delete_data_file(task.file)
            for file in parquet_files_to_data_files(table.io, table.metadata, iter(paths)):
                merged.append_data_file(file)
    except CommitFailedException:
        for path in paths:  # no snapshot names them
            table.io.delete(path)


def _groups(table: Any) -> Iterator[list[Any]]:
    """Small files of one partition, two or more, that make one large file together."""
    by_partition: dict[str, list[Any]] = {}
    for task in table.scan().plan_files():
        if task.file.file_size_in_bytes < SMALL_BYTES and not task.delete_files:
            by_partition.setdefault(str(task.file.partition), []).append(task)
    for tasks in by_partition.values():
        group: list[Any] = []
        for task in sorted(tasks, key=lambda task: str(task.file.file_path)):
            if group and sum(one.file.file_size_in_bytes for one in (*group, task)) > LARGE_BYTES:
                if len(group) > 1:
                    yield group
                group = []
            group.append(task)
        if len(group) > 1:
            yield group


def _rows(table: Any, tasks: Sequence[Any]) -> Iterator[pa.RecordBatch]:
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    yield from scan.to_record_batches(tasks)
