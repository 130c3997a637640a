"""CSV with a header line: an empty field is null, a quoted empty field an empty text.

Laws. A row with another number of fields than the header, or with a field that does not convert to its
column's type, is kept aside. The types of a new category come from all rows. Columns go by name; a missing
or an additional one is another schema, and an error.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

from dovetail.errors import InputError
from dovetail.log.ingest.salvage import salvage
from dovetail.log.ingest.source import InputFile, Progress, Reject, category_schema
from dovetail.log.ingest.text import VALUES, candidates, convert

_BLOCK_BYTES = 4 << 20


class CsvSource:
    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._delimiter = "\t" if ".tsv" in file.path.rsplit("/", 1)[-1] else ","

    def infer(self) -> pa.Schema:
        names = self._header()
        seen: dict[str, tuple[pa.DataType, ...]] = {}
        for batch, _ in self._batches(names, lambda raw, reason: None):
            for name, column in zip(names, batch.columns, strict=True):
                known = [
                    part.value for part in salvage(len(column), _decoded(column)) if part.value is not None
                ]
                texts = pa.concat_arrays(known).drop_null() if known else pa.array([], pa.string())
                if len(texts):
                    seen[name] = candidates(texts, seen.get(name, VALUES))
        fields = [pa.field(name, (*seen.get(name, ()), pa.string())[0]) for name in names]
        return category_schema(pa.schema(fields), where=self._file.path)

    def read(self, schema: pa.Schema, reject: Reject, progress: Progress) -> Iterator[pa.RecordBatch]:
        names = self._header()
        missing = [name for name in schema.names if name not in names]
        extra = [name for name in names if name not in schema.names]
        if missing or extra:
            trouble = [f"column {name} is missing" for name in missing]
            trouble += [f"column {name} is not in the category" for name in extra]
            raise InputError(
                f"the file has another schema than the category: {'; '.join(trouble)}",
                where=self._file.path,
                expected=f"a header line with the columns {', '.join(schema.names)}",
                hint="nothing of this file was committed: change its header, or use another category",
            )
        for batch, position in self._batches(names, reject):
            yield self._converted(batch, schema, reject)
            progress(position)

    def _converted(self, batch: pa.RecordBatch, schema: pa.Schema, reject: Reject) -> pa.RecordBatch:
        reasons: dict[int, str] = {}
        columns = []
        for field in schema:
            parts = list(salvage(batch.num_rows, _converted_column(batch.column(field.name), field)))
            reasons = {part.start: part.reason for part in parts if part.reason is not None} | reasons
            pieces = [pa.nulls(1, field.type) if part.value is None else part.value for part in parts]
            columns.append(pa.concat_arrays(pieces) if pieces else pa.nulls(0, field.type))
        result = pa.RecordBatch.from_arrays(columns, names=schema.names)
        if not reasons:
            return result
        bad = sorted(reasons)
        for row, fields in zip(bad, batch.take(pa.array(bad)).to_pylist(), strict=True):
            reject(self._line(list(fields.values())), reasons[row])
        good = np.ones(batch.num_rows, bool)
        good[bad] = False
        return result.filter(pa.array(good))

    def _line(self, fields: list[bytes | None]) -> str:
        texts = ["" if field is None else field.decode(errors="backslashreplace") for field in fields]
        line = io.StringIO()
        csv.writer(line, delimiter=self._delimiter, lineterminator="").writerow(texts)
        return line.getvalue()

    def _header(self) -> list[str]:
        with self._open(None, lambda raw, reason: None) as (reader, _):
            return list(reader.schema.names)

    def _batches(self, names: list[str], reject: Reject) -> Iterator[tuple[pa.RecordBatch, int]]:
        """All columns as bytes, so that nothing fails to convert here."""
        with self._open(names, reject) as (reader, file):
            while True:
                with self._file.trouble("CSV file"):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield batch, file.tell()

    @contextlib.contextmanager
    def _open(
        self, names: list[str] | None, reject: Reject
    ) -> Iterator[tuple[pcsv.CSVStreamingReader, pa.NativeFile]]:
        def wrong_number_of_fields(row: pcsv.InvalidRow) -> str:
            reject(row.text, f"expected {row.expected_columns} fields, found {row.actual_columns}")
            return "skip"

        with self._file.open_text() as (stream, file):
            with self._file.trouble("CSV file with a header line"):
                reader = pcsv.open_csv(
                    stream,
                    read_options=pcsv.ReadOptions(block_size=_BLOCK_BYTES),
                    parse_options=pcsv.ParseOptions(
                        delimiter=self._delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=wrong_number_of_fields,
                    ),
                    convert_options=pcsv.ConvertOptions(
                        column_types=dict.fromkeys(names or (), pa.binary()),
                        check_utf8=False,
                        null_values=[""],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
            yield reader, file


def _decoded(column: pa.Array) -> Callable[[int, int], pa.Array]:
    return lambda start, stop: column.slice(start, stop - start).cast(pa.string())


def _converted_column(column: pa.Array, field: pa.Field) -> Callable[[int, int], pa.Array]:
    decoded = _decoded(column)

    def attempt(start: int, stop: int) -> pa.Array:
        try:
            return convert(decoded(start, stop), field.type)
        except pa.ArrowInvalid as error:
            raise pa.ArrowInvalid(f"column {field.name}: {error}") from error

    return attempt
