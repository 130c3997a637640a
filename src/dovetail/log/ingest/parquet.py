"""Parquet files: the schema is in the footer, pages are checked where they carry a checksum."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.log.ingest.source import InputFile, Progress, Reject, category_schema

_BATCH_ROWS = 1 << 17


class ParquetSource:
    def __init__(self, file: InputFile) -> None:
        self._file = file

    def infer(self) -> pa.Schema:
        with self._file.open() as opened, self._file.trouble("Parquet file"):
            schema = pq.ParquetFile(opened).schema_arrow
        return category_schema(schema, where=self._file.path)

    def read(self, schema: pa.Schema, reject: Reject, progress: Progress) -> Iterator[pa.RecordBatch]:
        """All rows or an error: in Parquet a row is never bad alone."""
        with self._file.open() as opened:
            with self._file.trouble("Parquet file"):
                parquet = pq.ParquetFile(
                    opened, page_checksum_verification=True, coerce_int96_timestamp_unit="us"
                )
                batches = parquet.iter_batches(batch_size=_BATCH_ROWS)
            done, rows = 0, max(1, parquet.metadata.num_rows)
            while True:
                with self._file.trouble("Parquet file"):
                    batch = next(batches, None)
                if batch is None:
                    break
                yield batch
                done += batch.num_rows
                progress(self._file.bytes * done // rows)
