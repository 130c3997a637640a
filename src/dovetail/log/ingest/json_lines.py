"""JSON lines: one object per line, parsed in bulk; a line that does not parse is kept aside.

Laws. A field that is absent is null. A field that the category does not have is another schema, and an error.
The types of a new category come from all lines: whole numbers are int64 unless one has a fraction, and texts
that are all times become times. Where lines disagree (a number here, a text there) the first one wins, and
the others are kept aside.

A block that fails is screened line by line in Python, what is left is parsed in bulk again, and what still
fails is found by halving.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.json as pj
from pyarrow import types

from dovetail.errors import InputError
from dovetail.log.ingest.source import InputFile, Progress, Reject, category_schema
from dovetail.log.ingest.text import TIMES, candidates, fit_texts, salvage
from dovetail.log.schema import differences

BLOCK_BYTES = 4 << 20
_NULL_LINE = re.compile(rb"^[ \t]*null[ \t\r]*$", re.MULTILINE)

Parse = Callable[[bytes], pa.Table]
Kinds = dict[str, str | range]
"""By column: what kind of JSON value it holds; whole numbers by their range."""

_KIND_OF = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


class JsonSource:
    def __init__(self, file: InputFile) -> None:
        self._file = file

    def infer(self) -> pa.Schema:
        found: dict[str, pa.DataType] = {}
        times: dict[str, tuple[pa.DataType, ...]] = {}
        for block, _ in self._blocks():
            parse = lambda data: _parse_texts(data, [*times])  # noqa: E731
            for table, _ in _tables(block, parse, inferred_kinds(found), lambda raw, reason: None):
                for name, column in zip(table.column_names, table.columns, strict=True):
                    found[name] = _wider(found.get(name, pa.null()), column.type)
                    if types.is_string(found[name]) and len(column) > column.null_count:
                        times[name] = candidates(column.combine_chunks(), times.get(name, TIMES))
        if not found:
            raise self._nothing()
        fields = [pa.field(name, (*times.get(name, ()), kind)[0]) for name, kind in found.items()]
        return category_schema(pa.schema(fields), where=self._file.path)

    def read(self, schema: pa.Schema, reject: Reject, progress: Progress) -> Iterator[pa.RecordBatch]:
        readable = pa.schema([pa.field(field.name, _written_as(field.type)) for field in schema])
        parse = lambda data: self._parse_into(data, readable)  # noqa: E731
        empty = True
        for block, position in self._blocks():
            empty = False
            for table, lines in _tables(block, parse, wanted_kinds(readable), reject):
                (batch,) = table.combine_chunks().to_batches()
                fitted = fit_texts(batch, schema)
                if fitted.reasons:
                    texts = lines or _lines(block)
                    for row, reason in sorted(fitted.reasons.items()):
                        reject(_text(texts[row]), reason)
                yield fitted.batch
            progress(position)
        if empty:
            raise self._nothing()

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        """Runs of whole lines, with the position in the file behind each; blank runs are left out."""
        with self._file.open_text() as (stream, file):
            rest = b""
            while True:
                with self._file.trouble("file of JSON lines"):
                    data = stream.read(BLOCK_BYTES)
                cut = data.rfind(b"\n") + 1 if data else 0
                block, rest = (rest + data[:cut], data[cut:]) if cut or not data else (b"", rest + data)
                if block.strip():
                    yield block.removeprefix(b"\xef\xbb\xbf"), file.tell()
                if not data:
                    return

    def _parse_into(self, data: bytes, schema: pa.Schema) -> pa.Table:
        table = _parse(data, schema)
        if trouble := differences(table.schema, schema):
            raise InputError(
                f"the file has another schema than the category: {'; '.join(trouble)}",
                where=self._file.path,
                hint="nothing of this file was committed: drop the fields, or append it to another category",
            )
        return table

    def _nothing(self) -> InputError:
        return InputError(
            "the file has no line that is a JSON object",
            where=self._file.path,
            expected='one object per line, such as {"id": 1, "eventtime": "2026-01-31T12:00:00Z"}',
            hint="a JSON array is turned into lines by: jq -c '.[]' FILE",
        )


def _tables(
    block: bytes, parse: Parse, kinds: Kinds, reject: Reject
) -> Iterator[tuple[pa.Table, list[bytes] | None]]:
    """The block as tables of one row a line, each with its lines (None: those of the block)."""
    try:
        yield parse(block), None
        return
    except pa.ArrowInvalid:
        pass
    good = []
    for line in _lines(block):
        if reason := screen(line, kinds):
            reject(_text(line), reason)
        else:
            good.append(line)
    for part in salvage(len(good), lambda start, stop: parse(b"".join(good[start:stop]))):
        if part.value is None:
            reject(_text(good[part.start]), (part.reason or "").removesuffix(" in row 0"))
        else:
            yield part.value, good[part.start : part.stop]


def _lines(block: bytes) -> list[bytes]:
    return [line for line in block.splitlines(keepends=True) if line.strip()]


def _text(line: bytes) -> str:
    return line.decode(errors="backslashreplace").rstrip("\r\n")


def _parse_texts(data: bytes, texts: list[str]) -> pa.Table:
    """Parse with types inferred, but leave times as the texts they are."""
    explicit = pa.schema([pa.field(name, pa.string()) for name in texts])
    table = _parse(data, explicit)
    timed = [field.name for field in table.schema if types.is_timestamp(field.type)]
    if timed:
        explicit = pa.schema([*explicit, *(pa.field(name, pa.string()) for name in timed)])
        table = _parse(data, explicit).select(table.column_names)
    return table


def _parse(data: bytes, explicit: pa.Schema) -> pa.Table:
    """One row a line, or ArrowInvalid. Arrow's own parser minds neither line ends, nor nulls among objects,
    nor bytes that are no text."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"the line is not UTF-8: {error.reason}") from error
    table = pj.read_json(
        pa.BufferReader(data),
        read_options=pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pj.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="infer"),
    )
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if table.num_rows != lines and table.num_rows != len(_lines(data)):
        raise pa.ArrowInvalid("not one object per line")
    if all(column.null_count for column in table.columns) and _NULL_LINE.search(data):
        raise pa.ArrowInvalid("the line is null, and not an object")
    return table


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


def wanted_kinds(schema: pa.Schema) -> Kinds:
    """The kinds of the columns of a category, as far as they are certain."""
    kinds: Kinds = {}
    for field in schema:
        if types.is_integer(field.type):
            bits = field.type.bit_width - types.is_signed_integer(field.type)
            kinds[field.name] = range(-(2**bits) if types.is_signed_integer(field.type) else 0, 2**bits)
        elif kind := _kind(field.type):
            kinds[field.name] = kind
    return kinds


def inferred_kinds(found: Mapping[str, pa.DataType]) -> Kinds:
    """The kinds of the columns seen so far; those of others are learned from the first line that has them."""
    return {name: kind for name, known in found.items() if (kind := _kind(known))}


def screen(line: bytes, kinds: Kinds) -> str | None:
    """Why the line cannot be a row of such columns, or None. The parser may still refuse a line that passes.
    Adds the kinds of columns that are new."""
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return f"the line is not UTF-8: {error.reason}"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if not isinstance(row, dict):
        return f"expected an object, found {_KIND_OF.get(type(row), 'null')}"
    for name, value in row.items():
        if value is None:
            continue
        kind = _KIND_OF[type(value)]
        wanted = kinds.setdefault(name, kind)
        if isinstance(wanted, str):
            if kind != wanted:
                return f"column {name}: expected {wanted}, found {kind}"
        elif kind != "number":
            return f"column {name}: expected number, found {kind}"
        elif isinstance(value, float) or value not in wanted:
            return f"column {name}: expected a whole number in {wanted[0]}..{wanted[-1]}, found {value}"
    return None


def _kind(kind: pa.DataType) -> str | None:
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "string"
    if types.is_struct(kind):
        return "object"
    return "array" if types.is_list(kind) or types.is_large_list(kind) else None
