"""A task's rows as one Parquet file, as Spark's file sink would write them: names, types and what Spark notes
in the footer.

Law: a file is there as a whole or not at all. It counts when the driver has named it (`spark/file_sink.py`).
Nested columns, intervals and timestamps without a zone are left to Spark.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

GROUP_BYTES = 64 << 20
"""For a row group, before it is encoded."""
_MARKS = {"snappy": ".snappy", "zstd": ".zstd", "gzip": ".gz", "none": ""}
"""How Spark names the compression of a file."""


@dataclass(frozen=True)
class ParquetRows:
    """`noted`: what a footer says besides; `int96`: how timestamps are stored."""

    folder: str
    schema: pa.Schema
    noted: tuple[tuple[str, str], ...]
    compression: str
    int96: bool

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        name = f"part-00000-{uuid.uuid4()}-c000{_MARKS[self.compression]}.parquet"
        # The name hides it from readers until it is whole.
        hidden, file = os.path.join(self.folder, f".{name}.writing"), os.path.join(self.folder, name)
        writer: pq.ParquetWriter | None = None
        try:
            for group in _groups(rows):
                writer = writer or self._writer(hidden)
                writer.write_table(group.cast(self.schema), row_group_size=group.num_rows)
            if writer is None:
                return None
            writer.add_key_value_metadata(dict(self.noted))
            writer.close()
            os.replace(hidden, file)
        except BaseException:
            with suppress(OSError):
                os.remove(hidden)
            raise
        found = os.stat(file)
        return WrittenFile(file, found.st_size, found.st_mtime_ns // 1_000_000).to_json()

    def _writer(self, path: str) -> pq.ParquetWriter:
        os.makedirs(self.folder, exist_ok=True)
        return pq.ParquetWriter(
            path,
            self.schema,
            version="1.0",
            compression=self.compression,
            store_schema=False,
            store_decimal_as_integer=True,
            use_deprecated_int96_timestamps=self.int96,
        )


@dataclass(frozen=True)
class WrittenFile:
    path: str
    size: int
    modified_ms: int

    @property
    def uri(self) -> str:
        return Path(self.path).as_uri()

    def to_json(self) -> str:
        return json.dumps([self.path, self.size, self.modified_ms])

    @classmethod
    def from_json(cls, text: str) -> WrittenFile:
        return cls(*json.loads(text))


def parquet_rows(
    folder: str, schema: pa.Schema, settings: dict[str, str], noted: dict[str, str]
) -> ParquetRows | None:
    """For rows of a schema, if we write them as Spark does under these settings of its session."""
    compression = settings["spark.sql.parquet.compression.codec"].lower().replace("uncompressed", "none")
    times = settings["spark.sql.parquet.outputTimestampType"].upper()
    if compression not in _MARKS or times not in ("INT96", "TIMESTAMP_MICROS"):
        return None
    if settings["spark.sql.parquet.writeLegacyFormat"].lower() != "false":
        return None
    if not all(_flat(field.type) for field in schema) or not schema.names:
        return None
    return ParquetRows(folder, schema, tuple(noted.items()), compression, times == "INT96")


def _flat(kind: Any) -> bool:
    return bool(
        types.is_signed_integer(kind)
        or kind in (pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.binary(), pa.date32())
        or kind == pa.timestamp("us", "UTC")
        or types.is_decimal128(kind)
    )


def _groups(rows: Iterable[pa.RecordBatch]) -> Iterable[pa.Table]:
    """As few large tables, for as many row groups."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in rows:
        if not batch.num_rows:
            continue
        gathered.append(batch)
        size += batch.nbytes
        if size >= GROUP_BYTES:
            yield pa.Table.from_batches(gathered)
            gathered, size = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered)
