"""Lines of JSON and CSV: what is plain is read as everybody reads it, and what is in doubt is left as it is.
That Spark reads it so is in tests/spark/test_text_inputs.py."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.slicing.text_form import block
from dovetail.slicing.text_lines import MOMENT, TextFormat

COLUMNS: dict[str, pa.DataType] = {
    "at": MOMENT,
    "id": pa.int64(),
    "small": pa.int8(),
    "amount": pa.float64(),
    "note": pa.string(),
    "yes": pa.bool_(),
    "day": pa.date32(),
}
JSON = TextFormat("json", pa.schema(COLUMNS))
CSV = TextFormat("csv", pa.schema(COLUMNS))

moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))
values = {
    "at": moments,
    "id": st.integers(-(10**17) + 1, 10**17 - 1),  # longer ones may be left to Spark
    "small": st.integers(-128, 127),
    "amount": st.floats(-1e50, 1e50).filter(lambda value: abs(value) > 1e-50),
    "note": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "yes": st.booleans(),
    "day": st.dates(),
}
rows = st.fixed_dictionaries(values).flatmap(
    lambda row: st.fixed_dictionaries({name: st.sampled_from([value, None]) for name, value in row.items()})
)


def shown(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


@given(st.lists(rows, max_size=4), st.booleans())
def test_json_objects(given_rows: list[dict[str, object]], ascii_only: bool) -> None:
    lines = [
        json.dumps({name: shown(value) for name, value in row.items()}, ensure_ascii=ascii_only)
        for row in given_rows
    ]
    read, doubtful = JSON.rows("".join(f"{line}\n" for line in lines).encode(), COLUMNS)
    assert doubtful == b""
    assert read.to_pylist() == given_rows


@given(st.lists(rows, max_size=4))
def test_csv_fields(given_rows: list[dict[str, object]]) -> None:
    for row in given_rows:
        row["note"] = None if row["note"] is None else "".join(filter(str.isalnum, str(row["note"]))) or None
    lines = [
        ",".join(
            "" if value is None else str(value).lower() if isinstance(value, bool) else str(shown(value))
            for value in (row[name] for name in COLUMNS)
        )
        for row in given_rows
    ]
    read, doubtful = CSV.rows("".join(f"{line}\r\n" for line in lines).encode(), COLUMNS)
    assert doubtful == b""
    assert read.to_pylist() == given_rows


DOUBTFUL = [
    "",
    " ",
    "no json",
    "[]",
    '{"id":1}{"id":2}',
    '{"id":1',
    '{"id":1,}',
    '{"id":01}',
    '{"id":-0}',
    '{"id":1.0}',
    '{"id":"1"}',
    '{"id":1,"id":2}',
    '{"id":1000000000000000000}',
    '{"small":128}',
    '{"amount":NaN}',
    '{"amount":1e999}',
    '{"amount":1.}',
    '{"note":5}',
    '{"note":{}}',
    "{'note':'x'}",
    '{"note":"\\ud800"}',
    '{"note":"\\x"}',
    '{"note":"a\tb"}',
    '{"yes":1}',
    '{"day":"2023-02-29"}',
    '{"day":"2023-2-9"}',
    '{"at":"2023-02-28T24:00:00Z"}',
    '{"at":"2023-02-28T10:00:00.1234567Z"}',
    '{"at":"noon"}',
    '{"other":[1,]}',
    '{"other":{"a":1 "b":2}}',
    '{"other":' + "[" * 70 + "]" * 70 + "}",
]


def test_lines_in_doubt_stay_as_they_are() -> None:
    plain = ['{"id": 1, "other": {"a": [1, {"b": []}], "c": {}}}', " { } ", '{"id":-2}']
    lines = [line for pair in zip(DOUBTFUL, plain * len(DOUBTFUL), strict=False) for line in pair]
    text = "".join(f"{line}\n" for line in lines).encode() + b'{"note":"\xff"}\n'
    read, doubtful = JSON.rows(text, ["id"])
    assert doubtful == "".join(f"{line}\n" for line in DOUBTFUL).encode() + b'{"note":"\xff"}\n'
    assert read["id"].to_pylist() == ([1, None, -2] * len(DOUBTFUL))[: len(DOUBTFUL)]


@pytest.mark.parametrize(
    "line",
    [
        "1",
        "1,2,3",
        '"a""b",1',
        'a"b,1',
        '"a"b,1',
        "a\\,1",
        '"",1',
        '"a,1',
        "a,x",
        "a,+1",
        "a, 1",
        "a\x00,1",
        " ",
    ],
)
def test_fields_in_doubt(line: str) -> None:
    two = TextFormat("csv", pa.schema({"note": pa.string(), "id": pa.int64()}))
    text = f"{line}\n".encode()
    read, doubtful = two.rows(text + b'"x,y",007\n', ["note", "id"])
    assert doubtful == text
    assert read.to_pylist() == [{"note": "x,y", "id": 7}]


def test_times_with_and_without_a_zone() -> None:
    at = datetime(2024, 2, 29, 23, 59, 58, 120_000, tzinfo=UTC)
    texts = ["2024-02-29T23:59:58.12Z", "2024-02-29 23:59:58.120", "2024-03-01T05:29:58.12+05:30"]
    lines = "".join(f'{{"at":"{text}"}}\n' for text in texts) + f'{{"at":{int(at.timestamp())}}}\n'
    read, doubtful = JSON.rows(lines.encode(), ["at"])
    assert doubtful == b""
    assert read["at"].to_pylist() == [at, at, at, at - timedelta(milliseconds=120)]


def test_each_line_is_in_one_block(tmp_path: Path) -> None:
    for end in ("\n", ""):
        lines = [f"{'x' * (n % 7)}\n".encode() for n in range(40)]
        text = b"".join(lines)[: None if end else -1]
        (tmp_path / "file").write_bytes(text)
        for size in range(1, 30):
            blocks = [block(str(tmp_path / "file"), at, size) for at in range(0, len(text), size)]
            assert b"".join(blocks) == b"".join(lines)
