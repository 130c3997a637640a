"""Flat schemas of Avro and Protobuf: what a field is, how it is written, and which Arrow type it has.

A registry's schema is read as far as columns need it. Fields that are no columns are passed over, whatever
they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from dovetail.connectors.avro_schema import avro_fields
from dovetail.connectors.flat_field import FlatField, UnreadableSchema
from dovetail.connectors.kernels import binary_rows as kernels
from dovetail.connectors.schema_registry import Schema
from dovetail.errors import PlanError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UTC_US = pa.timestamp("us", "UTC")


def fields_of(schema: Schema) -> list[FlatField]:
    if schema.kind == "AVRO":
        return avro_fields(schema.text, schema.others)
    if schema.kind == "PROTOBUF":
        return list(_proto_fields(schema.text))
    raise UnreadableSchema(f"it is one of {schema.kind}")


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
_SYMBOL = re.compile(r"\s*(\w+)\s*=\s*(-?(?:0x[\da-fA-F]+|0|[1-9]\d*))\s*(?:\[.*\]\s*)?", re.DOTALL)


def _proto_fields(text: str) -> Iterator[FlatField]:
    """The fields of the first message of a file. One that no column can have is passed over in records."""
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
            if label != "repeated" and (symbols := _enum(plain, kind)):
                names, values = tuple(symbols.values()), tuple(symbols)
                yield FlatField(name, kernels.WHOLE, pa.string(), int(number), union, names, values)
                continue
            moment = label != "repeated" and kind.lstrip(".") == "google.protobuf.Timestamp"
            way, arrow = (kernels.MOMENT, _UTC_US) if moment else (kernels.NOTHING, None)
            yield FlatField(name, way, arrow, int(number), kernels.NULL_FIRST)
            continue
        way, arrow = _PROTO_PLAIN[kind]
        yield FlatField(name, way, arrow, int(number), union)


def _enum(text: str, kind: str) -> dict[int, str]:
    """The names of an enum's numbers; none if the file has no such enum, or several things of that name."""
    *within, name = kind.lstrip(".").split(".")
    package = re.search(r"\bpackage\s+([\w.]+)", text)
    known = {*re.findall(r"\bmessage\s+(\w+)", text), *(package[1].split(".") if package else ())}
    if not name.isidentifier() or not known.issuperset(within):
        return {}
    found = re.findall(rf"\b(enum|message)\s+{name}\s*\{{([^}}]*)", text)
    if len(found) != 1 or found[0][0] != "enum":
        return {}
    named: dict[int, str] = {}
    for statement in found[0][1].split(";"):
        if (matched := _SYMBOL.fullmatch(statement)) is not None:
            named.setdefault(int(matched[2], 0), matched[1])  # the first of several names
    return named


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
