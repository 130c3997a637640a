"""A column in pieces, gathered, against Arrow's `take` of the pieces laid end to end."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.joins.rows.pieces import PiecedColumn, Places

KINDS = {
    "byte": (pa.int8(), st.integers(-128, 127)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "date": (pa.date32(), st.dates()),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "moment": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(datetime.UTC))),
    "decimal": (pa.decimal128(38, 3), st.decimals(-(10**30), 10**30, places=3)),
    "code": (pa.binary(16), st.binary(min_size=16, max_size=16)),
    "triple": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "flag": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(max_size=40)),
    "bytes": (pa.binary(), st.binary(max_size=40)),
    "list": (pa.list_(pa.int32()), st.lists(st.integers(-9, 9), max_size=4)),
    "struct": (
        pa.struct({"a": pa.int64(), "b": pa.string()}),
        st.fixed_dictionaries({"a": st.none() | st.integers(-9, 9), "b": st.text(max_size=3)}),
    ),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[pa.Array], list[int]]:
    """Pieces of one column, some of them without nulls or slices of longer ones, and elements to take."""
    kind, value = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    pieces = []
    for _ in range(draw(st.integers(1, 5))):
        values = draw(st.lists(value if draw(st.booleans()) else st.none() | value, min_size=1, max_size=12))
        array = pa.array(values, kind)
        pieces.append(
            array.slice(draw(st.integers(0, len(array) - 1))) if draw(st.integers(0, 9)) == 0 else array
        )
    total = sum(map(len, pieces))
    return pieces, draw(st.lists(st.integers(-1, total - 1), max_size=70))


@given(columns())
def test_gathers_what_arrow_takes(drawn: tuple[list[pa.Array], list[int]]) -> None:
    pieces, wanted = drawn
    whole = pa.concat_arrays(pieces)
    expected = whole.take(pa.array([None if at < 0 else at for at in wanted], pa.int64()))

    taken = gathered(pieces, wanted)

    taken.validate(full=True)
    assert taken.equals(expected)
    assert taken.null_count == expected.null_count


def gathered(pieces: list[pa.Array], wanted: list[int]) -> pa.Array:
    starts = np.cumsum([0, *map(len, pieces)])
    at = np.array(wanted, np.int64)
    piece = np.where(at < 0, -1, np.searchsorted(starts, at, side="right") - 1).astype(np.int32)
    touched = np.unique(piece[piece >= 0]).astype(np.int64)
    column = PiecedColumn(pieces[0].type, len(pieces))
    for number in touched:
        column.learn(number, pieces[number])
    return column.take(Places(piece, at - starts[piece], touched))


def test_pieces_that_are_not_touched_need_not_be_known() -> None:
    column = PiecedColumn(pa.int64(), 1000)
    column.learn(700, pa.array([1, 2, 3]))
    places = Places(np.array([700, -1], np.int32), np.array([2, 0]), np.array([700]))
    assert column.take(places).to_pylist() == [3, None]


@pytest.mark.parametrize("kind", [pa.decimal128(10, 2), pa.binary(16)])
def test_elements_wider_than_a_word(kind: pa.DataType) -> None:
    values = (
        [decimal.Decimal("1.25"), decimal.Decimal("-7.00")]
        if pa.types.is_decimal(kind)
        else [b"a" * 16, b"b" * 16]
    )
    assert gathered([pa.array(values, kind), pa.array(values[:1], kind)], [2, 1, 0]).to_pylist() == [
        values[0],
        values[1],
        values[0],
    ]
