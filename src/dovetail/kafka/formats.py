"""Values of records as Arrow columns: a format for each way to write them.

Law: a format makes exactly one row of each value, in order, or raises `pa.ArrowInvalid`. Who calls it finds
the value that is to blame by halving.

Many values are parsed in one call. For Arrow's parser JSON values are joined to one text, so a broken value
must not run into the next one. If each value begins with `{` and ends with `}`, two neighbours cannot be read
as one object: inside an object `{` never follows `}` without a comma, and a text in quotes holds no line
break. So if as many rows come out as values went in, each value is one row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from dovetail.connectors.schema_registry import HEAD, MAGIC, Registry
from dovetail.errors import PlanError
from dovetail.kafka.binary_format import Binary
from dovetail.kafka.declared import as_declared
from dovetail.kafka.flat_json import FlatReader, reader_of

BY_REGISTRY = ("avro", "protobuf")
MAGIC_BYTE = bytes([MAGIC])
_NO_ROWS = "a value is not one object"


class Format(Protocol):
    """Makes columns of the values of records, which are a column of bytes."""

    def ready(self, values: pa.Array) -> None:
        """Ask others for what these values need. Raises Unreachable while somebody is away."""
        return None

    def rows(self, values: pa.Array) -> pa.Table: ...


@dataclass(frozen=True)
class Json(Format):
    schema: pa.Schema
    times: str

    @cached_property
    def _flat(self) -> FlatReader | None:
        return reader_of(self.schema, self.times)

    def rows(self, values: pa.Array) -> pa.Table:
        """Most values are read by a kernel; those that it leaves, by Arrow's parser."""
        values = without_number(values)
        if self._flat is None or not len(values):
            return self.parsed(values)
        made, odd = self._flat.rows(values)
        if not odd.any():
            return made
        left = self.parsed(values.filter(pa.array(odd)))
        if left.num_rows == len(values):
            return left
        order = np.arange(len(values))
        order[odd] = len(values) + np.arange(left.num_rows)
        return pa.concat_tables([made, left]).combine_chunks().take(order)

    def parsed(self, values: pa.Array) -> pa.Table:
        lines = [b"{}" if value is None else value for value in values.to_pylist()]
        if not _are_braced(lines):
            lines = [line.strip() for line in lines]
            if not _are_braced(lines):
                raise pa.ArrowInvalid("the value is not a JSON object")
        text = b"\n".join(lines)
        asked = pa.schema([(column.name, _as_read(column.type, self.times)) for column in self.schema])
        read = pa.json.read_json(
            pa.BufferReader(text),
            pa.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            pa.json.ParseOptions(
                explicit_schema=asked, newlines_in_values=True, unexpected_field_behavior="ignore"
            ),
        )
        return _typed(read, self.schema, len(lines), self.times)


def without_number(values: pa.Array) -> pa.Array:
    """Clients of a schema registry put the number of a schema before JSON, too. No JSON begins like that, and
    columns are what the table declares, so nobody is asked for the schema."""
    numbered = pc.starts_with(values, MAGIC_BYTE)
    if not pc.any(numbered).as_py():
        return values
    return pc.if_else(numbered, pc.binary_slice(values, HEAD.size), values)


def _are_braced(lines: list[bytes]) -> bool:
    """Whether each begins with `{` and ends with `}`."""
    column = pa.array(lines, pa.binary())
    ends = np.frombuffer(column.buffers()[1], np.int32)[: len(column) + 1]
    if not len(column) or (np.diff(ends) < len("{}")).any():
        return False
    text = np.frombuffer(column.buffers()[2], np.uint8)
    return bool((text[ends[:-1]] == ord("{")).all() and (text[ends[1:] - 1] == ord("}")).all())


@dataclass(frozen=True)
class Csv(Format):
    schema: pa.Schema
    times: str
    separator: str = ","

    def rows(self, values: pa.Array) -> pa.Table:
        nothing = self.separator.encode() * (len(self.schema) - 1)
        lines = (nothing if value is None else value.rstrip(b"\r\n") for value in values.to_pylist())
        text = b"\n".join(lines) + b"\n"
        asked = {column.name: _as_read(column.type, self.times) for column in self.schema}
        read = pa.csv.read_csv(
            pa.BufferReader(text),
            pa.csv.ReadOptions(use_threads=False, column_names=list(asked), block_size=len(text) + 1),
            pa.csv.ParseOptions(delimiter=self.separator, ignore_empty_lines=False),
            pa.csv.ConvertOptions(column_types=asked, null_values=[""], strings_can_be_null=True),
        )
        return _typed(read, self.schema, len(values), self.times)


@dataclass(frozen=True)
class Raw(Format):
    schema: pa.Schema

    def rows(self, values: pa.Array) -> pa.Table:
        return pa.table([values.cast(self.schema.field(0).type)], schema=self.schema)


def format_of(
    name: str, schema: pa.Schema, times: str, separator: str, registry: Registry | None = None
) -> Format:
    """For columns of these types. One that the format cannot hold is an error before a record is read."""
    if registry is not None and name in BY_REGISTRY:
        return Binary(name, schema, times, registry)
    for column in schema:
        try:
            _made(name, pa.schema([column]), times, separator).rows(pa.nulls(1, pa.binary()))
        except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid) as error:
            raise PlanError(
                f"column {column.name} cannot be read from {name}: {error}",
                expected="numbers, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, DECIMAL"
                + (", and ARRAY and STRUCT of them" if name == "json" else ""),
                hint="declare it as STRING, and parse it in a view",
            ) from None
    return _made(name, schema, times, separator)


def _made(name: str, schema: pa.Schema, times: str, separator: str) -> Format:
    match name:
        case "json":
            return Json(schema, times)
        case "csv":
            return Csv(schema, times, separator)
    return Raw(schema)


def _as_read(kind: pa.DataType, times: str) -> pa.DataType:
    """The type in which the parser reads a column. Times and dates become what they are afterwards."""
    if pa.types.is_timestamp(kind) and times != "iso":
        return pa.float64() if times == "seconds" else pa.int64()
    return pa.string() if pa.types.is_temporal(kind) else kind


def _typed(read: pa.Table, schema: pa.Schema, rows: int, times: str) -> pa.Table:
    if read.num_rows != rows:
        raise pa.ArrowInvalid(_NO_ROWS)
    columns = [as_declared(read.column(field.name), field.type, times) for field in schema]
    return pa.table(columns, schema=schema)
