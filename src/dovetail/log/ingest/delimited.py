"""CSV with a header line: an empty field is null, a quoted empty field an empty text.

Laws. A row with another number of fields than the header, or with a field that does not convert to its
column's type, is kept aside. The types of a new category come from all rows. Columns go by name; a missing
or an additional one is another schema, and an error.
"""

from __future__ import annotations

import contextlib
import csv
import io
import threading
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv as pcsv

from dovetail.errors import InputError
from dovetail.log.ingest.source import InputFile, Progress, Reject, category_schema
from dovetail.log.ingest.text import VALUES, candidates, fit_texts

BLOCK_BYTES = 4 << 20


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
        trouble = [f"column {name} is missing" for name in schema.names if name not in names]
        trouble += [f"column {name} is not in the category" for name in names if name not in schema.names]
        if trouble:
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
        """The names in the first line that is not blank."""
        with self._file.open_text() as (stream, _), self._file.trouble("CSV file"):
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
            try:
                names = next((row for row in csv.reader(text, delimiter=self._delimiter) if row), [])
            except csv.Error:
                names = []
        shown = ", ".join(names).encode(errors="backslashreplace").decode()
        if not names or len(set(names)) < len(names) or shown != ", ".join(names):
            raise InputError(
                f"the file's header line does not name its columns: {shown or '(nothing)'}",
                where=self._file.path,
                expected="a first line of distinct column names in UTF-8",
                hint="nothing of this file was committed: put such a line first",
            )
        return names

    def _batches(self, names: list[str], reject: Reject) -> Iterator[tuple[pa.RecordBatch, int]]:
        """All columns as bytes, so that nothing fails to convert here; with the position in the file."""

        def wrong_number_of_fields(row: pcsv.InvalidRow) -> str:
            reject(row.text, f"expected {row.expected_columns} fields, found {row.actual_columns}")
            return "skip"

        with self._file.open_text() as (stream, file), contextlib.closing(ReadAhead(stream, file)) as feed:
            with self._file.trouble("CSV file"):
                reader = pcsv.open_csv(
                    pa.PythonFile(feed, mode="r"),
                    read_options=pcsv.ReadOptions(block_size=BLOCK_BYTES),
                    parse_options=pcsv.ParseOptions(
                        delimiter=self._delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=wrong_number_of_fields,
                    ),
                    convert_options=pcsv.ConvertOptions(
                        column_types=dict.fromkeys(names, pa.binary()),
                        check_utf8=False,
                        null_values=[""],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )
                if reader.schema.names != names:
                    raise pa.ArrowInvalid(f"the header line is ambiguous: {names} or {reader.schema.names}")
            while True:
                with self._file.trouble("CSV file"):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield batch, feed.position


class ReadAhead:
    """What Arrow's reader reads from, ahead of us in a thread of its own, and possibly after we have stopped.

    So the file below is closed only when no read is under way, and never read after that: its descriptor may
    be another file's by then, whose bytes would go missing there.
    """

    def __init__(self, stream: pa.NativeFile, file: pa.NativeFile) -> None:
        self._stream = stream
        self._file = file
        self._lock = threading.Lock()
        self.closed = False
        self.position = 0

    def read(self, size: int) -> bytes:
        with self._lock:
            if self.closed:
                return b""
            data: bytes = self._stream.read(size)
            self.position = self._file.tell()
            return data

    def close(self) -> None:
        with self._lock:
            self.closed = True
