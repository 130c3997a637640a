"""Values of records as columns: what becomes a row, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import PlanError
from dovetail.kafka.allowance import Allowance
from dovetail.kafka.decoding import Decoder
from dovetail.kafka.formats import format_of
from dovetail.kafka.records import records_of

UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
MOMENT_US = 1_767_225_600_000_000  # 2026-01-01


def decoded(values: list[bytes | None], schema: pa.Schema = SCHEMA, form: str = "json") -> tuple[Any, Any]:
    decoder = Decoder(schema, format_of(form, schema, "iso", ","), {})
    tables, rejects = decoder.rows(records_of(values))
    return [row for table in tables for row in table.to_pylist()], rejects


def microseconds(form: str, times: str, value: bytes) -> int:
    made = format_of(form, pa.schema([("t", UTC)]), times, ",").rows(pa.array([value]))
    return int(made.column("t").cast(pa.int64())[0].as_py())


@pytest.mark.parametrize(
    ("times", "written"),
    [
        ("iso", '"2026-01-01T00:00:00Z"'),
        ("iso", '"2026-01-01 00:00:00"'),
        ("iso", '"2026-01-01T01:00:00.000000+01:00"'),
        ("seconds", "1767225600"),
        ("seconds", "1767225600.0"),
        ("milliseconds", "1767225600000"),
        ("microseconds", "1767225600000000"),
    ],
)
def test_times_in_every_spelling(times: str, written: str) -> None:
    assert microseconds("json", times, b'{"t": %s}' % written.encode()) == MOMENT_US
    assert microseconds("csv", times, written.strip('"').encode()) == MOMENT_US


def test_zoned_and_plain_times_side_by_side() -> None:
    schema = pa.schema([("t", UTC)])
    rows, rejects = decoded(
        [b'{"t": "2026-01-01T00:00:00Z"}', b'{"t": "2026-01-01 00:00:00"}', b"{}"], schema
    )
    assert [row["t"] and row["t"].timestamp() * 1e6 for row in rows] == [MOMENT_US, MOMENT_US, None]
    assert not rejects


BAD = st.sampled_from(
    [
        b"",
        b"   ",
        b"null",
        b"[1]",
        b'"text"',
        b'{"a": 1',
        b'"a": 1}',
        b'{"a": {"c": 1}',
        b'{"a": "x}',
        b'{"a": 1}{"a": 2}',
        b'{"a": 1}\n{"a": 2}',
        b'{"a": "text"}',
        b'{"a": 99999999999999999999}',
        b'{"b": "\xff\xfe"}',
        b'{"b": [',
        b', "b": 2}',
        b"]}",
        b"\0\0\0\0\1",
        b'\0\0\0\1{"a": 1}',
        b'\0\0\0\0\1"a": 1}',
        b'\1\0\0\0\1{"a": 1}',
    ]
)
NUMBER = b"\0\0\0\1\2"
"""What clients of a schema registry write before JSON."""
GOOD = st.builds(
    lambda number, a, b: number + json.dumps({"a": a, "b": b, "more": [1, {"x": None}]}).encode(),
    st.sampled_from((b"", NUMBER)),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
)


@given(st.lists(st.tuples(st.just(True), GOOD) | st.tuples(st.just(False), BAD), max_size=40))
def test_each_value_is_a_row_or_a_reject(values: list[tuple[bool, bytes]]) -> None:
    rows, rejects = decoded([value for _, value in values])
    good = [json.loads(value.removeprefix(NUMBER)) for is_good, value in values if is_good]
    assert rows == [{"a": value["a"], "b": value["b"]} for value in good]
    assert [reject.offset for reject in rejects] == [
        at for at, (is_good, _) in enumerate(values) if not is_good
    ]


def test_records_without_a_value_are_rows_of_nulls() -> None:
    for form in ("json", "csv"):
        assert decoded([None, None], form=form) == ([{"a": None, "b": None}] * 2, [])


def test_lines_of_csv() -> None:
    rows, rejects = decoded([b"1,x", b'2,"y,z"\r\n', b"3", b"4,a,b", b"five,x", b",", b"7,\xff"], form="csv")
    assert rows == [{"a": 1, "b": "x"}, {"a": 2, "b": "y,z"}, {"a": None, "b": None}]
    assert [reject.offset for reject in rejects] == [2, 3, 4, 6]


def test_raw_text_must_be_utf8() -> None:
    rows, rejects = decoded([b"x", b"\xff", None], pa.schema([("v", pa.string())]), "raw")
    assert rows == [{"v": "x"}, {"v": None}]
    assert [reject.offset for reject in rejects] == [1]


def test_types_that_a_format_can_hold() -> None:
    schema = pa.schema(
        [
            ("i", pa.int32()),
            ("f", pa.float32()),
            ("d", pa.date32()),
            ("n", pa.decimal128(10, 2)),
            ("x", pa.binary()),
            ("l", pa.list_(pa.string())),
            ("s", pa.struct([("a", pa.bool_())])),
        ]
    )
    value = b'{"i": 1, "f": 1.5, "d": "2026-01-31", "n": 1.25, "x": "b", "l": ["p"], "s": {"a": true}}'
    ((row,), rejects) = decoded([value], schema)
    assert not rejects
    assert row | {"d": str(row["d"]), "n": str(row["n"])} == {
        "i": 1,
        "f": 1.5,
        "d": "2026-01-31",
        "n": "1.25",
        "x": b"b",
        "l": ["p"],
        "s": {"a": True},
    }
    with pytest.raises(PlanError, match="column m cannot be read from json"):
        format_of("json", pa.schema([("m", pa.map_(pa.string(), pa.string()))]), "iso", ",")


def test_an_allowance_never_exceeds_a_second() -> None:
    now = 0.0
    allowance = Allowance(100, lambda: now)
    assert allowance.most(1000) == 0
    now = 0.5
    assert allowance.most(1000) == 50
    allowance.took(50)
    assert allowance.most(1000) == 0
    now = 60.0
    assert allowance.most(1000) == 100
    assert Allowance(None, lambda: now).most(1000) == 1000
