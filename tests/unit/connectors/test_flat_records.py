"""Rows as records of Avro and Protobuf, and back: against their own libraries."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st

from dovetail.connectors.flat_field import FlatField, UnreadableSchema
from dovetail.connectors.flat_records import records
from dovetail.connectors.flat_schema import fields_of, schema_for
from dovetail.connectors.schema_registry import NoSchema, Registry, Schema
from dovetail.errors import PlanError
from dovetail.kafka.binary_format import Binary
from dovetail.kafka.decoding import Decoder
from dovetail.kafka.records import records_of

COLUMNS = pa.schema(
    [
        ("flag", pa.bool_()),
        ("small", pa.int32()),
        ("large", pa.int64()),
        ("half", pa.float32()),
        ("whole", pa.float64()),
        ("word", pa.string()),
        ("raw", pa.binary()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda one: one.replace(tzinfo=UTC))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "flag": st.none() | st.booleans(),
            "small": st.none() | st.integers(-(2**31), 2**31 - 1),
            "large": st.none() | st.integers(-(2**63), 2**63 - 1),
            "half": st.none() | st.floats(width=32, allow_nan=False),
            "whole": st.none() | st.floats(allow_nan=False),
            "word": st.none() | st.text(max_size=10),
            "raw": st.none() | st.binary(max_size=200),
            "at": st.none() | MOMENTS,
        }
    ),
    max_size=6,
)
HEAD = {"avro": 5, "protobuf": 6}


def written(form: str, rows: list[dict[str, Any]]) -> tuple[Schema, list[bytes]]:
    schema, fields = schema_for(form, "some.topic", COLUMNS)
    (batch,) = pa.Table.from_pylist(rows, COLUMNS).to_batches() or [pa.RecordBatch.from_pylist([], COLUMNS)]
    return schema, records(form, fields, 7, batch).to_pylist()


def read(form: str, values: list[bytes | None], schemas: dict[int, Schema], columns: pa.Schema) -> Any:
    registry = Registry("nowhere", known=schemas)
    decoder = Decoder(columns, Binary(form, columns, "iso", registry), {})
    tables, rejects = decoder.rows(records_of(values))
    return [row for table in tables for row in table.to_pylist()], [one.reason for one in rejects]


@given(ROWS)
def test_avro_is_what_fastavro_reads(rows: list[dict[str, Any]]) -> None:
    schema, values = written("avro", rows)
    parsed = fastavro.parse_schema(json.loads(schema.text))
    assert all(value[: HEAD["avro"]] == b"\0\0\0\0\7" for value in values)
    assert [fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, None) for value in values] == rows
    assert read("avro", [*values], {7: schema}, COLUMNS) == (rows, [])


def proto_class() -> Any:
    kinds = descriptor_pb2.FieldDescriptorProto
    types = {
        "flag": kinds.TYPE_BOOL,
        "small": kinds.TYPE_INT32,
        "large": kinds.TYPE_INT64,
        "half": kinds.TYPE_FLOAT,
        "whole": kinds.TYPE_DOUBLE,
        "word": kinds.TYPE_STRING,
        "raw": kinds.TYPE_BYTES,
        "at": kinds.TYPE_MESSAGE,
    }
    file = descriptor_pb2.FileDescriptorProto(name="t.proto", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    message = file.message_type.add(name="T")
    for number, (name, kind) in enumerate(types.items(), 1):
        one = message.field.add(name=name, number=number, type=kind, label=kinds.LABEL_OPTIONAL)
        if name == "at":
            one.type_name = ".google.protobuf.Timestamp"
        else:
            one.proto3_optional, one.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("T"))


PROTO = proto_class()


@given(ROWS)
def test_protobuf_is_what_its_library_reads_and_writes(rows: list[dict[str, Any]]) -> None:
    schema, values = written("protobuf", rows)
    foreign: list[bytes | None] = []
    for value, row in zip(values, rows, strict=True):
        message = PROTO.FromString(value[6:])
        for name in COLUMNS.names:
            found = getattr(message, name) if message.HasField(name) else None
            if name == "at" and found is not None:
                found = found.ToDatetime(UTC)
            assert found == row[name]
        foreign.append(value[:6] + message.SerializeToString())
    assert read("protobuf", [*values], {7: schema}, COLUMNS) == (rows, [])
    assert read("protobuf", foreign, {7: schema}, COLUMNS) == (rows, [])


USERS = pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.date32()), ("mood", pa.string())])
FOREIGN = {
    "type": "record",
    "name": "User",
    "fields": [
        {"name": "inner", "type": {"type": "record", "name": "I", "fields": [{"name": "x", "type": "long"}]}},
        {"name": "name", "type": ["string", "null"]},
        {"name": "mood", "type": {"type": "enum", "name": "Mood", "symbols": ["GOOD", "BAD"]}},
        {"name": "mac", "type": {"type": "fixed", "name": "Mac", "size": 6}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "id", "type": "int"},
    ],
}


def avro(schema: Any, number: int, row: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return b"\0" + number.to_bytes(4, "big") + out.getvalue()


def test_records_of_several_schemas_side_by_side() -> None:
    first = {"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}
    row = {
        "inner": {"x": 9},
        "name": "ann",
        "mood": "BAD",
        "mac": b"123456",
        "day": date(2026, 1, 31),
        "id": 2,
    }
    values = [avro(first, 1, {"id": 1}), avro(FOREIGN, 300, row), None, avro(first, 1, {"id": 3})]
    schemas = {1: Schema("AVRO", json.dumps(first)), 300: Schema("AVRO", json.dumps(FOREIGN))}
    nothing = dict.fromkeys(USERS.names)
    assert read("avro", values, schemas, USERS) == (
        [
            nothing | {"id": 1},
            {"id": 2, "name": "ann", "day": date(2026, 1, 31), "mood": "BAD"},
            nothing,
            nothing | {"id": 3},
        ],
        [],
    )


def test_what_is_no_record_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {"type": "record", "name": "U", "fields": [{"name": "id", "type": "string"}]}
    nested = {
        "type": "record",
        "name": "U",
        "fields": [{"name": "l", "type": "Other"}],
    }

    def nothing(registry: Registry, path: str) -> Any:
        raise NoSchema(path)

    monkeypatch.setattr(Registry, "ask", nothing)
    good = {"type": "record", "name": "U", "fields": [{"name": "id", "type": "long"}]}
    schemas = {n: Schema("AVRO", json.dumps(one)) for n, one in enumerate((good, schema, nested))}
    values: list[bytes | None] = [b"no", avro(good, 0, {"id": 1}), avro(good, 0, {"id": 1})[:-1]]
    values += [avro(good, 0, {"id": 1}) + b"x", avro(schema, 1, {"id": "1"}), b"\0\0\0\0\2"]
    rows, reasons = read("avro", [*values, b"\0\0\0\0\x09x"], schemas, pa.schema([("id", pa.int64())]))
    assert rows == [{"id": 1}]
    assert reasons == [
        "the value does not begin with the number of a schema",
        "the value is not a record of schema 0",
        "the value is not a record of schema 0",
        "field id is string, and the column int64",
        "schema 2 cannot be read: there is no type Other",
        "there is no schema 9 at nowhere",
    ]


def test_schemas_of_protobuf_files() -> None:
    text = """
        syntax = "proto3"; // proto3
        package shop;
        import "google/protobuf/timestamp.proto";
        message Click {
          message Inner { string x = 1; }
          enum Kind {
            option allow_alias = true; reserved 5;
            A = 0; B = 3 [deprecated = true]; C = 3; D = -1;
          }
          int32 id = 1; /* the id */
          optional string name = 2 [json_name = "n"];
          repeated int64 many = 3;
          Inner inner = 4;
          oneof one { bool yes = 5; string no = 6; }
          map<string, int32> m = 7;
          google.protobuf.Timestamp at = 8;
          sint64 far = 9;
          other.Kind other = 10;
          shop.Click.Kind kind = 11;
          optional Kind maybe = 12;
        }
        message Other { int32 x = 1; }
    """
    fields = fields_of(Schema("PROTOBUF", text))
    assert {one.name for one in fields if one.arrow is None} == {"many", "inner", "m", "other"}
    found = {one.name: one.number for one in fields if one.arrow is not None}
    assert found == {"id": 1, "name": 2, "yes": 5, "no": 6, "at": 8, "far": 9, "kind": 11, "maybe": 12}
    columns = pa.schema([("id", pa.int64()), ("name", pa.string()), ("far", pa.int16())])
    values: list[bytes | None] = [
        b"\0\0\0\0\1\0",
        b"\0\0\0\0\1\0\x08\x05\x48\x03\x22\x01x\x50\x07",
        b"\0\0\0\0\1\2\4",
    ]
    rows, reasons = read("protobuf", values, {1: Schema("PROTOBUF", text)}, columns)
    assert rows == [{"id": 0, "name": None, "far": 0}, {"id": 5, "name": None, "far": -2}]
    assert reasons == ["the record is not of the first message of its schema"]
    kinds = pa.schema([("kind", pa.string()), ("maybe", pa.string())])
    below_zero = b"\xff" * 9 + b"\x01"
    written: list[bytes | None] = [b"\0\0\0\0\1\0\x58" + n for n in (b"\0", b"\3", below_zero, b"\x09")]
    written += [b"\0\0\0\0\1\0\x60\3", b"\0\0\0\0\1\0"]
    rows, reasons = read("protobuf", written, {1: Schema("PROTOBUF", text)}, kinds)
    assert [row["kind"] for row in rows] == ["A", "B", "D", "9", "A", "A"]
    assert [row["maybe"] for row in rows] == [None, None, None, None, "B", None]
    for odd in ("many", "inner", "m", "other"):
        rows, reasons = read(
            "protobuf", values[1:2], {1: Schema("PROTOBUF", text)}, pa.schema([(odd, pa.int64())])
        )
        assert rows == []
        assert reasons == [f"field {odd} has a type that no column has"]
    with pytest.raises(UnreadableSchema):
        fields_of(Schema("JSON", "{}"))


def test_columns_that_a_schema_cannot_have() -> None:
    with pytest.raises(PlanError, match="column l cannot be written as avro"):
        schema_for("avro", "t", pa.schema([("l", pa.list_(pa.int64()))]))
    with pytest.raises(PlanError, match="cannot be a field of protobuf"):
        schema_for("protobuf", "t", pa.schema([("a b", pa.int64())]))
    assert isinstance(schema_for("avro", "9.x", USERS)[1][0], FlatField)
