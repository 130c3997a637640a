"""The kernel for flat JSON against Arrow's parser: what it does not call odd, both read alike."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.kafka.flat_json import reader_of
from dovetail.kafka.formats import Json

UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("s", pa.int16()),
        ("f", pa.float64()),
        ("t", pa.string()),
        ("b", pa.bool_()),
        ("at", UTC),
    ]
)
NUMBERS = st.sampled_from(["0", "-0", "1", "-7", "01", "1.", ".5", "1.5", "-0.0", "1e3", "1E-2", "+1", "--1"])
WRITTEN = (
    NUMBERS
    | st.integers(-(2**65), 2**65).map(str)
    | st.floats(allow_nan=False).map(repr)
    | st.decimals(-(10**6), 10**6, places=5).map(str)
    | st.text(st.characters(codec="utf-8"), max_size=20).map(json.dumps)
    | st.text(st.sampled_from('aü \\"\n/{}[],:\x01'), max_size=20).map(lambda text: f'"{text}"')
    | st.sampled_from(["null", "true", "false", "nul", "truee", "[1]", "{}", "", '"', '"x'])
    | st.datetimes().map(lambda moment: json.dumps(moment.isoformat()))
    | st.sampled_from(
        [
            '"2026-01-31T12:00:00Z"',
            '"2026-02-29 12:00:00"',
            '"2024-02-29 12:00:00.5"',
            '"2026-01-31T12:00:00.1234567Z"',
            '"2026-01-31T24:00:00"',
            '"2026-01-31"',
            '"2026-01-31T12:00"',
            '"2026-01-31T12:00:00+01:00"',
            '"0000-01-01T00:00:00"',
            '"2026-1-31 12:00:00"',
            '"12026-01-31 12:00:00"',
        ]
    )
)
NAMES = st.sampled_from(["i", "s", "f", "t", "b", "at", "other", "ü", "\\u0069"])
SPACE = st.sampled_from(["", "", " ", "\n\t "])


@st.composite
def objects(draw: st.DrawFn) -> bytes:
    space = draw(SPACE)
    fields = draw(st.lists(st.tuples(NAMES, WRITTEN), max_size=7))
    body = f",{space}".join(f'"{name}"{space}:{draw(SPACE)}{value}' for name, value in fields)
    whole = f"{space}{{{space}{body}{space}}}{draw(SPACE)}"
    return draw(st.sampled_from([whole, whole, whole, whole[:-1], whole + "x", body])).encode()


def arrow(value: bytes, times: str) -> list[dict[str, Any]] | None:
    try:
        made = Json(SCHEMA, times).parsed(pa.array([value], pa.binary()))
        made.validate(full=True)
    except (pa.ArrowInvalid, OverflowError):
        return None
    return listed(made)


def listed(made: pa.Table) -> list[dict[str, Any]]:
    """Times as numbers: some have no date in Python."""
    return made.set_column(5, "at", made.column("at").cast(pa.int64())).to_pylist()  # type: ignore[no-any-return]


@given(st.lists(objects(), min_size=1, max_size=8), st.sampled_from(["iso", "seconds", "milliseconds"]))
@example([b'{"i": 12345678901234567890}'], "iso")
@example([b'{"f": 123456789.123456789}'], "iso")
@example([b'{"at": 9223372036854775}', b'{"at": 9223372036854776}'], "milliseconds")
@example([b'{"at": 1767225600.1234565}'], "seconds")
def test_what_is_not_odd_is_what_arrow_reads(values: list[bytes], times: str) -> None:
    reader = reader_of(SCHEMA, times)
    assert reader is not None
    made, odd = reader.rows(pa.array(values, pa.binary()))
    for value, row, is_odd in zip(values, listed(made), odd, strict=True):
        if not is_odd:
            assert [_told(row)] == [_told(one) for one in arrow(value, times) or []], value


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A zero has a sign, which `==` does not see."""
    return row | {"sign": row["f"] is not None and math.copysign(1, row["f"])}


def test_usual_records_are_not_odd() -> None:
    rows = [
        {"i": n, "s": -n, "f": n / 8, "t": f"wört {n}", "b": n % 2 == 0, "at": f"2026-01-31T12:00:{n:02}.5Z"}
        for n in range(60)
    ]
    more = [{"unknown": None, "i": None, "more": 1.5, "yes": True, "text": "x"}, {}]
    reader = reader_of(SCHEMA, "iso")
    assert reader is not None
    values = [json.dumps(row, ensure_ascii=False).encode() for row in [*rows, *more]]
    made, odd = reader.rows(pa.array([b"{", *values, None], pa.binary()).slice(1))
    assert not odd.any()
    assert made.slice(0, 60).drop(["at"]).to_pylist() == [
        {name: value for name, value in row.items() if name != "at"} for row in rows
    ]
    assert made.slice(60).to_pylist() == [dict.fromkeys(SCHEMA.names)] * 3


def test_odd_rows_are_read_among_the_others() -> None:
    values = [b'{"i": 1, "t": "a"}', rb'{"i": 2, "t": "\u00fc\n"}', b'{"i": 3, "x": [1, {"i": 4}]}', None]
    made = Json(SCHEMA, "iso").rows(pa.array(values, pa.binary()))
    assert made.column("i").to_pylist() == [1, 2, 3, None]
    assert made.column("t").to_pylist() == ["a", "ü\n", None, None]


@pytest.mark.parametrize("kind", [pa.date32(), pa.decimal128(9, 2), pa.float32(), pa.list_(pa.int64())])
def test_other_types_are_for_a_whole_parser(kind: pa.DataType) -> None:
    assert reader_of(pa.schema([("x", kind)]), "iso") is None
