"""JSON lines: one object a line, parsed in bulk; a line that does not parse is kept aside.

Laws. A field that is absent is null. A field that the category does not have is another schema, and an error.
The types of a new category come from all lines: whole numbers are int64 unless one has a fraction, and texts
that are all times become times. Where lines disagree (a number here, a text there) the first one wins, and
the others are kept aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.json as pj
from pyarrow import types

from dovetail.errors import InputError
from dovetail.log.ingest.salvage import Part, salvage
from dovetail.log.ingest.source import InputFile, Progress, Reject, category_schema
from dovetail.log.ingest.text import TIMES, candidates, convert
from dovetail.log.schema import differences

_BLOCK_BYTES = 4 << 20
_NULL_LINE = re.compile(rb"^[ \t]*null[ \t\r]*$", re.MULTILINE)
_KIND_CHANGED = re.compile(r"Column\(/?(.*)\) changed from (\w+) to (\w+) in row \d+")


class JsonSource:
    def __init__(self, file: InputFile) -> None:
        self._file = file

    def infer(self) -> pa.Schema:
        found: dict[str, pa.DataType] = {}
        times: dict[str, tuple[pa.DataType, ...]] = {}
        for block, _ in self._blocks():
            for part, _ in _salvaged(block, lambda data: _parse_texts(data, times)):
                if part.value is None:
                    continue
                for name, column in zip(part.value.column_names, part.value.columns, strict=True):
                    found[name] = _wider(found.get(name, pa.null()), column.type)
                    if types.is_string(found[name]) and len(column) > column.null_count:
                        times[name] = candidates(column.combine_chunks(), times.get(name, TIMES))
        if not found:
            raise self._nothing()
        fields = [pa.field(name, (*times.get(name, ()), kind)[0]) for name, kind in found.items()]
        return category_schema(pa.schema(fields), where=self._file.path)

    def read(self, schema: pa.Schema, reject: Reject, progress: Progress) -> Iterator[pa.RecordBatch]:
        def parse(data: bytes) -> pa.Table:
            return self._parse_into(data, schema)

        lines = 0
        for block, position in self._blocks():
            for part, text in _salvaged(block, parse):
                lines += 1
                if part.value is None:
                    reject(text, part.reason or "")
                else:
                    yield from part.value.to_batches()
            progress(position)
        if not lines:
            raise self._nothing()

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Runs of whole lines, with the position in the file behind each; blank runs are left out."""
        with self._file.open_text() as (stream, file):
            rest = b""
            while True:
                with self._file.trouble("file of JSON lines"):
                    data = stream.read(_BLOCK_BYTES)
                cut = data.rfind(b"\n") + 1 if data else 0
                block, rest = (rest + data[:cut], data[cut:]) if cut or not data else (b"", rest + data)
                if block.strip():
                    yield block.removeprefix(b"\xef\xbb\xbf"), file.tell()
                if not data:
                    return

    def _parse_into(self, data: bytes, schema: pa.Schema) -> pa.Table:
        readable = pa.schema([pa.field(f.name, _written_as(f.type)) for f in schema])
        table = _parse(data, readable)
        if trouble := differences(table.schema, readable):
            raise InputError(
                f"the file has another schema than the category: {'; '.join(trouble)}",
                where=self._file.path,
                hint="nothing of this file was committed: drop the fields, or append it to another category",
            )
        columns = []
        for field in schema:
            column = table.column(field.name).combine_chunks()
            if not column.type.equals(field.type):
                try:
                    column = convert(column, field.type)
                except pa.ArrowInvalid as error:
                    raise pa.ArrowInvalid(f"column {field.name}: {error}") from error
            columns.append(column)
        return pa.Table.from_arrays(columns, names=schema.names)

    def _nothing(self) -> InputError:
        return InputError(
            "the file has no line that is a JSON object",
            where=self._file.path,
            expected='one object a line, such as {"id": 1, "eventtime": "2026-01-31T12:00:00Z"}',
            hint="a JSON array is turned into lines by: jq -c '.[]' FILE",
        )


def _salvaged(block: bytes, parse: Callable[[bytes], pa.Table]) -> Iterator[tuple[Part[pa.Table], str]]:
    """The block's tables, and for a line that does not parse the line."""
    try:
        yield Part(0, 1, parse(block), None), ""
        return
    except pa.ArrowInvalid:
        lines = [line for line in block.splitlines(keepends=True) if line.strip()]
    for part in salvage(len(lines), lambda start, stop: parse(b"".join(lines[start:stop]))):
        reason = part.reason
        if reason is not None:
            reason = _KIND_CHANGED.sub(r"column \1: expected \2, found \3", reason).removesuffix(" in row 0")
        text = lines[part.start].decode(errors="backslashreplace").rstrip("\r\n")
        yield part._replace(reason=reason), text


def _parse_texts(data: bytes, texts: dict[str, tuple[pa.DataType, ...]]) -> pa.Table:
    """Parse with types inferred, but leave times as the texts they are."""
    explicit = pa.schema([pa.field(name, pa.string()) for name in texts])
    table = _parse(data, explicit)
    timed = [field.name for field in table.schema if types.is_timestamp(field.type)]
    if timed:
        explicit = pa.schema([*explicit, *(pa.field(name, pa.string()) for name in timed)])
        table = _parse(data, explicit).select(table.column_names)
    return table


def _parse(data: bytes, explicit: pa.Schema) -> pa.Table:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"the line is not UTF-8: {error.reason}") from error
    if _NULL_LINE.search(data):
        raise pa.ArrowInvalid("the line is null, and not an object")
    return pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pj.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="infer"),
    )


def _written_as(kind: pa.DataType) -> pa.DataType:
    """The type by which the parser is to read a column of type `kind`: text for what JSON writes as text."""
    textual = types.is_temporal(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    return pa.string() if textual else kind


def _wider(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    """The type for values of both, or the first if there is none."""
    if types.is_null(first):
        return _wider(second, second) if types.is_nested(second) else _text_for_time(second)
    if types.is_integer(first) and types.is_floating(second):
        return second
    if types.is_struct(first) and types.is_struct(second):
        merged = {field.name: _text_for_time(field.type) for field in first}
        for field in second:
            merged[field.name] = _wider(merged.get(field.name, pa.null()), field.type)
        return pa.struct(list(merged.items()))
    if types.is_list(first) and types.is_list(second):
        return pa.list_(_wider(_text_for_time(first.value_type), second.value_type))
    return _text_for_time(first)


def _text_for_time(kind: pa.DataType) -> pa.DataType:
    return pa.string() if types.is_timestamp(kind) else kind
