"""CSV with a header line: an empty field is null, a quoted empty field an empty text.

Laws. A row with another number of fields than the header, or with a field that does not convert to its
column's type, is kept aside. The types of a new category come from all rows. Columns go by name; a missing
or an additional one is another schema, and an error.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv as pcsv

from dovetail.errors import InputError
from dovetail.log.ingest.source import InputFile, Progress, Reject, category_schema
from dovetail.log.ingest.text import VALUES, candidates, fit_texts

_BLOCK_BYTES = 4 << 20


class CsvSource:
    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._delimiter = "\t" if ".tsv" in file.path.rsplit("/", 1)[-1] else ","

    def infer(self) -> pa.Schema:
        names = self._header()
        seen: dict[str, tuple[pa.DataType, ...]] = {}
        for batch, _ in self._batches(names, lambda raw, reason: None):
            texts = fit_texts(batch, pa.schema([pa.field(name, pa.string()) for name in names])).batch
            for name, column in zip(names, texts.columns, strict=True):
                if len(column) > column.null_count:
                    seen[name] = candidates(column, seen.get(name, VALUES))
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
            fitted = fit_texts(batch, schema)
            if fitted.reasons:
                bad = sorted(fitted.reasons)
                for row, fields in zip(bad, batch.take(pa.array(bad)).to_pylist(), strict=True):
                    reject(self._line(list(fields.values())), fitted.reasons[row])
            yield fitted.batch
            progress(position)

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
