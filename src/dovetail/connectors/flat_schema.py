"""Flat schemas of Avro and Protobuf: what a field is, how it is written, and which Arrow type it has.

A registry's schema is read as far as columns need it. Fields that are no columns are passed over; in
Protobuf whatever they are, in Avro if they are plain values or records of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.connectors.kernels import binary_rows as kernels
from dovetail.connectors.schema_registry import Schema
from dovetail.errors import PlanError

FORMS = {"avro": kernels.AVRO, "protobuf": kernels.PROTOBUF}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UTC_US = pa.timestamp("us", "UTC")


class UnreadableSchema(Exception):
    """Why records of a schema cannot be columns, for people."""


class FlatField(NamedTuple):
    """`arrow` None: no column can have it. `number`, `union`: as the kernels have them."""

    name: str
    kind: int
    arrow: pa.DataType | None
    number: int = 0
    union: int = kernels.PLAIN
    symbols: tuple[str, ...] = ()


def fields_of(schema: Schema) -> list[FlatField]:
    if schema.kind == "AVRO":
        return list(_avro_fields(json.loads(schema.text)))
    if schema.kind == "PROTOBUF":
        return list(_proto_fields(schema.text))
    raise UnreadableSchema(f"it is one of {schema.kind}")


def for_kernel(fields: Sequence[FlatField], columns: Sequence[int]) -> kernels.BinaryFields:
    """`columns`: that of each field, -1 for none."""
    return kernels.BinaryFields(
        np.array([field.kind for field in fields], np.int8),
        np.array(columns, np.int32),
        np.array([field.number for field in fields], np.int32),
        np.array([field.union for field in fields], np.int8),
    )


_AVRO_PLAIN = {
    "null": (kernels.NOTHING, None),
    "boolean": (kernels.TRUTH, pa.bool_()),
    "int": (kernels.WHOLE, pa.int32()),
    "long": (kernels.WHOLE, pa.int64()),
    "float": (kernels.REAL32, pa.float32()),
    "double": (kernels.REAL64, pa.float64()),
    "bytes": (kernels.TEXT, pa.binary()),
    "string": (kernels.TEXT, pa.string()),
}
_AVRO_LOGICAL = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": _UTC_US,
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
}


def _avro_fields(schema: Any, named: dict[str, Any] | None = None, prefix: str = "") -> Iterator[FlatField]:
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise UnreadableSchema("it is not a record")
    known = {} if named is None else named
    known[schema["name"]] = schema
    for field in schema["fields"]:
        yield from _avro_field(prefix + field["name"], field["type"], known)


def _avro_field(name: str, kind: Any, known: dict[str, Any]) -> Iterator[FlatField]:
    union = kernels.PLAIN
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        if len(kind) > 2 or len(others) != 1 or (len(kind) == 2 and "null" not in kind):
            raise UnreadableSchema(f"field {name} is a union of several types")
        if len(kind) == 2:
            union = kernels.NULL_FIRST if kind[0] == "null" else kernels.NULL_LAST
        else:
            raise UnreadableSchema(f"field {name} is a union of one type")
        kind = others[0]
    described = kind if isinstance(kind, dict) else known.get(kind, {"type": kind})
    plain = described["type"]
    if isinstance(plain, dict):
        described, plain = plain, plain["type"]
    if plain in _AVRO_PLAIN:
        way, arrow = _AVRO_PLAIN[plain]
        logical = described.get("logicalType")
        if logical == "decimal":
            arrow = None
        elif plain in ("int", "long"):
            arrow = _AVRO_LOGICAL.get(str(logical), arrow)
        yield FlatField(name, way, arrow, union=union)
    elif plain == "enum":
        known[described["name"]] = described
        symbols = tuple(described["symbols"])
        yield FlatField(name, kernels.WHOLE, pa.string(), union=union, symbols=symbols)
    elif plain == "fixed":
        known[described["name"]] = described
        arrow = None if described.get("logicalType") else pa.binary()
        yield FlatField(name, kernels.FIXED, arrow, described["size"], union)
    elif plain == "record" and union == kernels.PLAIN:
        yield from _avro_fields(described, known, f"{name}.")
    else:
        raise UnreadableSchema(f"field {name} is nested ({plain})")


_PROTO_PLAIN = {
    "bool": (kernels.TRUTH, pa.bool_()),
    "int32": (kernels.WHOLE, pa.int64()),
    "int64": (kernels.WHOLE, pa.int64()),
    "uint32": (kernels.WHOLE, pa.int64()),
    "uint64": (kernels.WHOLE, pa.uint64()),
    "sint32": (kernels.SIGNED, pa.int64()),
    "sint64": (kernels.SIGNED, pa.int64()),
    "fixed32": (kernels.WORD32, pa.uint32()),
    "sfixed32": (kernels.WORD32, pa.int64()),
    "fixed64": (kernels.WORD64, pa.uint64()),
    "sfixed64": (kernels.WORD64, pa.int64()),
    "float": (kernels.REAL32, pa.float32()),
    "double": (kernels.REAL64, pa.float64()),
    "string": (kernels.TEXT, pa.string()),
    "bytes": (kernels.TEXT, pa.binary()),
}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FIELD = re.compile(
    r"(?:(optional|required|repeated)\s+)?([.\w]+|map\s*<[^>]*>)\s+(\w+)\s*=\s*(\d+)\s*(?:\[[^\]]*\])?\s*$"
)


def _proto_fields(text: str) -> Iterator[FlatField]:
    """The fields of the first message of a file."""
    plain = _COMMENT.sub(" ", text)
    explicit = re.search(r'syntax\s*=\s*"proto3"', plain) is None
    found = re.search(r"\bmessage\s+\w+\s*\{", plain)
    if found is None:
        raise UnreadableSchema("it has no message")
    for statement in _statements(plain, found.end()):
        matched = _FIELD.match(statement.strip())
        if matched is None:
            continue  # a message or an enum inside, an option, what is reserved
        label, kind, name, number = matched.groups()
        union = kernels.NULL_FIRST if explicit or label else kernels.PLAIN
        if label == "repeated" or kind not in _PROTO_PLAIN:
            if label != "repeated" and kind.lstrip(".") == "google.protobuf.Timestamp":
                yield FlatField(name, kernels.MOMENT, _UTC_US, int(number), kernels.NULL_FIRST)
            continue
        way, arrow = _PROTO_PLAIN[kind]
        yield FlatField(name, way, arrow, int(number), union)


def _statements(text: str, at: int) -> Iterator[str]:
    """What stands between semicolons at the top of a message, which begins here. Fields of a `oneof` are
    fields of the message."""
    depth, start = 1, at
    for place in range(at, len(text)):
        letter = text[place]
        if letter == "{":
            depth += 1
            if re.match(r"\s*oneof\s", text[start:place]):
                yield from _statements(text, place + 1)
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return
            if depth == 1:
                start = place + 1
        elif letter == ";" and depth == 1:
            yield text[start:place]
            start = place + 1


_AVRO_MADE: tuple[tuple[Any, Any, int], ...] = (
    (pa.types.is_boolean, "boolean", kernels.TRUTH),
    (pa.types.is_int64, "long", kernels.WHOLE),
    (pa.types.is_signed_integer, "int", kernels.WHOLE),
    (pa.types.is_float64, "double", kernels.REAL64),
    (pa.types.is_float32, "float", kernels.REAL32),
    (pa.types.is_string, "string", kernels.TEXT),
    (pa.types.is_binary, "bytes", kernels.TEXT),
    (pa.types.is_date32, {"type": "int", "logicalType": "date"}, kernels.WHOLE),
    (pa.types.is_timestamp, {"type": "long", "logicalType": "timestamp-micros"}, kernels.WHOLE),
)
_PROTO_MADE: tuple[tuple[Any, str, int], ...] = (
    (pa.types.is_boolean, "bool", kernels.TRUTH),
    (pa.types.is_int64, "int64", kernels.WHOLE),
    (pa.types.is_signed_integer, "int32", kernels.WHOLE),
    (pa.types.is_float64, "double", kernels.REAL64),
    (pa.types.is_float32, "float", kernels.REAL32),
    (pa.types.is_string, "string", kernels.TEXT),
    (pa.types.is_binary, "bytes", kernels.TEXT),
    (pa.types.is_timestamp, "google.protobuf.Timestamp", kernels.MOMENT),
)


def schema_for(form: str, name: str, columns: pa.Schema) -> tuple[Schema, list[FlatField]]:
    """The schema of a table's records, every field of which may be null. A column that it cannot have is an
    error."""
    fields, written = [], []
    for number, column in enumerate(columns, 1):
        if not _NAME.fullmatch(column.name):
            raise PlanError(
                f"column {column.name} cannot be a field of {form}",
                expected="a name of letters, digits and `_`",
                hint="rename it with AS",
            )
        made = _made(_AVRO_MADE if form == "avro" else _PROTO_MADE, column.type)
        if made is None:
            raise PlanError(
                f"column {column.name} cannot be written as {form}: it is {column.type}",
                expected="BOOLEAN, whole numbers, FLOAT, DOUBLE, STRING, BINARY, TIMESTAMP"
                + (", DATE" if form == "avro" else ""),
                hint="CAST it to one of these",
            )
        fields.append(FlatField(column.name, made[1], column.type, number, kernels.NULL_FIRST))
        written.append((column.name, made[0]))
    title = re.sub(r"\W", "_", name)
    title = title if _NAME.fullmatch(title) else f"_{title}"
    if form == "avro":
        body = [{"name": field, "type": ["null", kind], "default": None} for field, kind in written]
        return Schema("AVRO", json.dumps({"type": "record", "name": title, "fields": body})), fields
    return Schema("PROTOBUF", _proto_text(title, written)), fields


def _proto_text(title: str, written: Iterable[tuple[str, Any]]) -> str:
    lines = [f"  optional {kind} {name} = {number};" for number, (name, kind) in enumerate(written, 1)]
    needs = 'import "google/protobuf/timestamp.proto";\n' if any("google" in line for line in lines) else ""
    return f'syntax = "proto3";\n{needs}message {title} {{\n' + "\n".join(lines) + "\n}\n"


def _made(table: Iterable[tuple[Any, Any, int]], kind: pa.DataType) -> tuple[Any, int] | None:
    return next(((written, way) for fits, written, way in table if fits(kind)), None)
