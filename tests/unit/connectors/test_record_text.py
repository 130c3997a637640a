"""Law: what JSON, or a CSV reader, reads back is what went in."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dovetail.connectors.record_text import csv_lines, json_objects

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
INNER = pa.struct([("x", pa.int32()), ('y"', pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ('s"\\', pa.string()),
        ("l", pa.list_(INNER)),
        ("m", pa.map_(pa.string(), pa.float64())),
        ("e", pa.struct([])),
    ]
)
INNERS = st.fixed_dictionaries(
    {"x": st.none() | st.integers(-5, 5), 'y"': st.none() | st.lists(st.none() | TEXT, max_size=3)}
)
ROWS = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "b": st.none() | st.booleans(),
        's"\\': st.none() | TEXT,
        "l": st.none() | st.lists(st.none() | INNERS, max_size=3),
        "m": st.none() | st.dictionaries(TEXT, st.none() | st.floats(-1, 1), max_size=3),
        "e": st.none() | st.just({}),
    }
)


@given(st.lists(ROWS, max_size=6), st.integers(0, 3))
def test_json_reads_back_what_went_in(rows: list[dict[str, Any]], cut: int) -> None:
    given_rows = [row | {"m": None if row["m"] is None else list(row["m"].items())} for row in rows]
    batch = pa.RecordBatch.from_pylist(given_rows, SCHEMA).slice(cut)
    assert [json.loads(text) for text in json_objects(batch).to_pylist()] == rows[cut:]


def test_values_that_json_has_no_word_for() -> None:
    moment = datetime.datetime(2026, 1, 31, 12, 0, 0, 5, datetime.UTC)
    batch = pa.record_batch(
        {
            "t": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "d": pa.array([datetime.date(2026, 1, 31), None]),
            "n": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "x": pa.array([b"\xff\x00", None]),
            "f": pa.array([math.nan, -math.inf]),
        }
    )
    assert [json.loads(text) for text in json_objects(batch).to_pylist()] == [
        {"t": "2026-01-31T12:00:00.000005Z", "d": "2026-01-31", "n": 1.5, "x": "/wA=", "f": "NaN"},
        {"t": None, "d": None, "n": None, "x": None, "f": "-Infinity"},
    ]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


@given(st.lists(st.tuples(CELLS, st.integers(-9, 9)), min_size=1, max_size=5))
def test_lines_of_csv_read_back(rows: list[tuple[str, int]]) -> None:
    batch = pa.record_batch({"s": [text for text, _ in rows], "i": [number for _, number in rows]})
    for line, (text, number) in zip(csv_lines(batch).to_pylist(), rows, strict=True):
        assert list(csv.reader(io.StringIO(line, newline=""))) == [[text, str(number)]]


def test_null_is_nothing_and_empty_text_is_quoted() -> None:
    batch = pa.record_batch({"a": pa.array([None, ""], pa.string()), "b": pa.array([1, None], pa.int32())})
    assert csv_lines(batch).to_pylist() == [",1", '"",']
