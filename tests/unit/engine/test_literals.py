"""What people type becomes a value of the column's type, or an error that says what would."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dovetail.errors import InputError
from dovetail.joins.rows.literals import instant_us, value_of

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("42", pa.int64(), 42),
        (" -7 ", pa.int16(), -7),
        ("42", pa.string(), "42"),
        ("", pa.string(), ""),
        (" a ", pa.string(), " a "),
        ("1.5", pa.float64(), 1.5),
        ("12.50", pa.decimal128(10, 2), Decimal("12.50")),
        ("true", pa.bool_(), True),
        ("2026-01-31", pa.date32(), date(2026, 1, 31)),
        ("2026-01-31T12:00:00Z", pa.timestamp("us", "UTC"), NOON),
        ("2026-01-31 13:00:00+01:00", pa.timestamp("us", "UTC"), NOON),
        ("2026-01-31T12:00:00", pa.timestamp("us"), NOON.replace(tzinfo=None)),
        ("0x6869", pa.binary(), b"hi"),
        ("hi", pa.binary(), b"hi"),
        ('{"a": 1}', pa.struct([("a", pa.int32())]), {"a": 1}),
    ],
)
def test_values(text: str, kind: pa.DataType, value: Any) -> None:
    array = value_of(text, kind, "--key")
    assert array.type == kind
    assert array.to_pylist() == [value]


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("x", pa.int64(), "number"),
        ("300", pa.int8(), "number"),
        ("12.345", pa.decimal128(4, 2), "number"),
        ("maybe", pa.bool_(), "true or false"),
        ("yesterday", pa.timestamp("us", "UTC"), "ISO 8601"),
        ("2026-13-01", pa.date32(), "a date"),
        ("{", pa.struct([("a", pa.int32())]), "JSON"),
    ],
)
def test_what_is_no_value(text: str, kind: pa.DataType, expected: str) -> None:
    with pytest.raises(InputError, match="is not a value of type") as raised:
        value_of(text, kind, "--key")
    assert expected in (raised.value.expected or "")
    assert raised.value.where == "--key"


def test_instants() -> None:
    assert instant_us("2026-01-31T12:00:00", "--time") == int(NOON.timestamp()) * 1_000_000
    with pytest.raises(InputError, match="is not a time"):
        instant_us("noon", "--time")
