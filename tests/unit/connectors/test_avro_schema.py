"""Schemas of Avro of any shape: plain fields become columns, and whatever stands between them is passed over.
Records are written by fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.connectors import avro_schema
from dovetail.connectors.avro_schema import avro_fields
from dovetail.connectors.flat_field import UnreadableSchema
from dovetail.connectors.kernels.binary_rows import MOST_NESTED
from dovetail.connectors.schema_registry import Registry, Schema
from dovetail.kafka.binary_format import Binary
from dovetail.kafka.decoding import Decoder
from dovetail.kafka.records import records_of

PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "long": st.integers(-(2**63), 2**63 - 1),
    "string": st.text(max_size=5),
    "boolean": st.booleans(),
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=5),
    "null": st.none(),
}
Typed = tuple[Any, st.SearchStrategy[Any]]
"""A schema, and values of it."""


@st.composite
def typed(draw: st.DrawFn, depth: int, names: Iterator[int]) -> Typed:
    shape = draw(st.sampled_from(("plain", "record", "array", "map", "maybe", "union", "enum", "fixed")))
    number = next(names)
    if shape == "enum":
        symbols = [f"S{n}" for n in range(3)]
        return {"type": "enum", "name": f"E{number}", "symbols": symbols}, st.sampled_from(symbols)
    if shape == "fixed":
        return {"type": "fixed", "name": f"F{number}", "size": 3}, st.binary(min_size=3, max_size=3)
    if shape == "plain" or depth == 0:
        kind = draw(st.sampled_from([*PLAIN]))
        return kind, PLAIN[kind]
    if shape == "record":
        inner = [draw(typed(depth - 1, names)) for _ in range(draw(st.integers(0, 3)))]
        fields = [{"name": f"f{n}", "type": kind} for n, (kind, _) in enumerate(inner)]
        record = {"type": "record", "name": f"R{number}", "fields": fields}
        return record, st.fixed_dictionaries({f"f{n}": value for n, (_, value) in enumerate(inner)})
    if shape == "union":  # of types that Python tells apart
        others = ["null", "boolean", "string", {"type": "array", "items": "long"}]
        union = draw(st.permutations(others))[: draw(st.integers(1, len(others)))]
        values = {"null": st.none(), "boolean": st.booleans(), "string": st.text(max_size=3)}
        lists = st.lists(st.integers(-5, 5), max_size=3)
        return union, st.one_of(*(values[one] if isinstance(one, str) else lists for one in union))
    kind, value = draw(typed(depth - 1, names).filter(lambda one: shape != "maybe" or _is_one(one[0])))
    if shape == "maybe":
        return draw(st.permutations(["null", kind])), st.none() | value
    if shape == "array":
        return {"type": "array", "items": kind}, st.lists(value, max_size=3)
    return {"type": "map", "values": kind}, st.dictionaries(st.text(max_size=3), value, max_size=3)


def _is_one(kind: Any) -> bool:
    return kind != "null" and not isinstance(kind, list)


@st.composite
def records(draw: st.DrawFn) -> tuple[Any, list[Any]]:
    names = iter(range(1, 10_000))
    inner = [draw(typed(3, names)) for _ in range(draw(st.integers(1, 4)))]
    inner.append(("long", PLAIN["long"]))  # behind all of it
    fields = [{"name": f"f{n}", "type": kind} for n, (kind, _) in enumerate(inner)]
    rows = st.fixed_dictionaries({f"f{n}": value for n, (_, value) in enumerate(inner)})
    return {"type": "record", "name": "Top", "fields": fields}, draw(st.lists(rows, min_size=1, max_size=4))


def plain_fields(kind: Any, value: Any, path: str = "") -> dict[str, Any]:
    """What the columns of a record hold, of those that are not null."""
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        if len(others) != 1 or value is None:
            return {}
        return plain_fields(others[0], value, path)
    if isinstance(kind, dict) and kind["type"] == "record":
        inner = [(field["type"], field["name"]) for field in kind["fields"]]
        found = [plain_fields(k, value[name], f"{path}.{name}" if path else name) for k, name in inner]
        return {name: one for fields in found for name, one in fields.items()}
    nested = isinstance(kind, dict) and kind["type"] in ("array", "map")
    return {} if nested or value is None else {path: value}


def avro(schema: Any, row: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return b"\0\0\0\0\1" + out.getvalue()


def read(
    schema: Any, values: list[bytes], columns: pa.Schema | None = None, others: tuple[str, ...] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows, in all columns that the schema has if none are given, and why the others are none."""
    text = json.dumps(schema)
    if columns is None:
        found = [(one.name, one.arrow) for one in avro_fields(text, others) if one.name and one.arrow]
        columns = pa.schema(found)
    registry = Registry("nowhere", known={1: Schema("AVRO", text, others)})
    decoder = Decoder(columns, Binary("avro", columns, "iso", registry), {})
    tables, rejects = decoder.rows(records_of([*values]))
    return [row for table in tables for row in table.to_pylist()], [one.reason for one in rejects]


def record(*fields: tuple[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": k} for n, k in fields], **more}


@given(records())
def test_plain_fields_of_any_record(drawn: tuple[Any, list[Any]]) -> None:
    schema, rows = drawn
    found, rejects = read(schema, [avro(schema, row) for row in rows])
    assert rejects == []
    wanted = [plain_fields(schema, row) for row in rows]
    assert [{name: one for name, one in row.items() if one is not None} for row in found] == wanted


def test_an_envelope_of_changes() -> None:
    """As Debezium writes them: a row before and after, which may both be missing, of one type by its name."""
    value = record(
        ("id", "int"), ("tags", {"type": "array", "items": "string"}), ("name", "string"), name="Value"
    )
    source = record(
        ("db", "string"), ("snapshot", ["null", "string"]), name="Source", namespace="io.debezium"
    )
    envelope = record(
        ("before", ["null", value]),
        ("after", ["null", "shop.Value"]),
        ("source", source),
        ("ts_ms", ["null", "long"]),
        name="Envelope",
        namespace="shop",
    )
    made = {"id": 7, "tags": ["a", "b"], "name": "tea"}
    row = {"before": None, "after": made, "source": {"db": "d", "snapshot": None}, "ts_ms": 5}
    deleted = row | {"before": made, "after": None}
    columns = pa.schema(
        [
            ("ts_ms", pa.int64()),
            ("after.id", pa.int64()),
            ("after.name", pa.string()),
            ("source.db", pa.string()),
        ]
    )
    rows, rejects = read(envelope, [avro(envelope, row), avro(envelope, deleted)], columns)
    assert rejects == []
    assert rows == [
        {"ts_ms": 5, "after.id": 7, "after.name": "tea", "source.db": "d"},
        {"ts_ms": 5, "after.id": None, "after.name": None, "source.db": "d"},
    ]


def varint(number: int) -> bytes:
    coded, made = (number << 1) ^ (number >> 63), b""
    while coded > 127:
        made, coded = made + bytes([coded & 127 | 128]), coded >> 7
    return made + bytes([coded])


LISTED = record(("l", {"type": "array", "items": {"type": "array", "items": "string"}}), ("id", "long"))
NOTHINGS = record(("l", {"type": "array", "items": "null"}), ("id", "long"))


@pytest.mark.parametrize(
    ("schema", "blocks"),
    [
        (LISTED, varint(1) + varint(1) + varint(1) + b"x" + varint(0) + varint(0)),
        (
            LISTED,
            varint(-9) + varint(3) + b"xyz" + varint(1) + varint(0) + varint(-1) + varint(0) + varint(0),
        ),
        (NOTHINGS, varint(2**62) + varint(3) + varint(0)),
    ],
    ids=["blocks of blocks", "blocks that say how long they are", "items that take no room"],
)
def test_blocks_of_an_array(schema: Any, blocks: bytes) -> None:
    assert read(schema, [b"\0\0\0\0\1" + blocks + varint(42)]) == ([{"id": 42}], [])


@pytest.mark.parametrize(
    "blocks",
    [
        varint(2) + varint(0),
        varint(-1) + varint(100) + varint(0),
        varint(-1) + varint(-1) + varint(0),
        varint(2**62) + varint(0),
        b"",
    ],
)
def test_arrays_that_do_not_end(blocks: bytes) -> None:
    rows, (reason,) = read(LISTED, [b"\0\0\0\0\1" + blocks])
    assert rows == []
    assert reason == "the value is not a record of schema 1"


@pytest.mark.parametrize("branch", [-1, 3, 2**40])
def test_a_branch_that_a_union_does_not_have(branch: int) -> None:
    several = record(("u", ["null", "string", "long"]), ("id", "long"))
    one = record(("u", ["null", "long"]), ("id", "long"))
    for schema in (several, one):
        assert read(schema, [b"\0\0\0\0\1" + varint(branch) + varint(1) + varint(1)])[0] == []


def test_decimals() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
    small = {"type": "fixed", "name": "S", "size": 3, "logicalType": "decimal", "precision": 6, "scale": 0}
    schema = record(("d", ["null", kind]), ("s", small))
    numbers = ["0", "-0.01", "1.27", "1.28", "-1.28", "-1.29", "9" * 36 + ".99", "-" + "9" * 36 + ".99", None]
    rows = [
        {"d": None if text is None else Decimal(text), "s": Decimal(n * 111_111 - 444_444)}
        for n, text in enumerate(numbers)
    ]
    assert read(schema, [avro(schema, row) for row in rows]) == (rows, [])
    narrow = pa.schema([("d", pa.decimal128(4, 2)), ("s", pa.int64())])
    found, rejects = read(schema, [avro(schema, row) for row in rows], narrow)
    assert [row["d"] for row in found] == [*(row["d"] for row in rows[:6]), None]
    assert len(rejects) == 2


def test_types_that_other_schemas_have() -> None:
    """Each by its full name, or by its own within its namespace."""
    money = record(("cents", "long"), name="Money", namespace="shop.types")
    price = record(("net", "Money"), ("gross", ["null", "shop.types.Money"]), name="shop.types.Price")
    order = record(("id", "long"), ("price", "shop.types.Price"), ("again", "Price"), namespace="shop.types")
    whole = json.loads(json.dumps(order))
    fields = [{"name": "net", "type": money}, {"name": "gross", "type": ["null", "Money"]}]
    whole["fields"][1]["type"] = price | {"fields": fields}  # for fastavro, in one piece
    priced = {"net": {"cents": 100}, "gross": {"cents": 119}}
    value = avro(whole, {"id": 1, "price": priced, "again": {"net": {"cents": 5}, "gross": None}})
    rows, rejects = read(order, [value], others=(json.dumps(money), json.dumps(price)))
    assert rejects == []
    assert rows == [
        {
            "id": 1,
            "price.net.cents": 100,
            "price.gross.cents": 119,
            "again.net.cents": 5,
            "again.gross.cents": None,
        }
    ]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (record(("next", ["null", "R"])), "a record R is within another one of its kind"),
        ("Nobody", "there is no type Nobody"),
    ],
)
def test_what_cannot_be_read_at_all(kind: Any, says: str) -> None:
    schema = record(("id", "long"), ("x", kind), name="Top")
    rows, (reason,) = read(schema, [b"\0\0\0\0\1\2\0"], pa.schema([("id", pa.int64())]))
    assert rows == []
    assert reason == f"schema 1 cannot be read: {says}"


def test_schemas_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = "long"
    for _ in range(MOST_NESTED + 1):
        deep = {"type": "array", "items": deep}
    with pytest.raises(UnreadableSchema, match="more than 16 deep"):
        avro_fields(json.dumps(record(("l", deep))))
    assert len(avro_fields(json.dumps(record(("l", deep["items"]))))) == 2 * MOST_NESTED + 1
    monkeypatch.setattr(avro_schema, "MOST_FIELDS", 3)
    with pytest.raises(UnreadableSchema, match="more than 3 fields"):
        avro_fields(json.dumps(record(*((f"f{n}", "long") for n in range(4)))))


def test_a_column_that_an_array_or_a_union_is_asked_for() -> None:
    for kind in ({"type": "array", "items": "long"}, {"type": "map", "values": "long"}, ["long", "string"]):
        schema = record(("x", kind), ("id", "long"))
        value = avro(schema, {"x": [1] if "array" in str(kind) else {} if "map" in str(kind) else 1, "id": 5})
        assert read(schema, [value]) == ([{"id": 5}], [])
        rows, (reason,) = read(schema, [value], pa.schema([("x", pa.int64())]))
        assert (rows, reason) == ([], "field x has a type that no column has")
