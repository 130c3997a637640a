"""What is compared where partners are picked by value: types that have an order, and those that have none."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.errors import PlanError
from dovetail.joins.rows.gather import Rows
from dovetail.joins.worth import check_order, ranks, worth_in
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.theta import Operand, Operation
from wide_rows import SCHEMA, put, wide_rows

LEFT, RIGHT = Operand("left", "_on_0"), Operand("right", "_on_0")
DIFFERENCE = Operation("-", (RIGHT, LEFT))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [-(2**63), -1, 0, 2**63 - 1]),
        (pa.int8(), [-128, 0, 127]),
        (pa.float64(), [-np.inf, -1.5, 0.0, 5e-324, 1e300, np.inf, np.nan]),
        (pa.float32(), [-1.5, 0.0, np.nan]),
        (pa.bool_(), [False, True]),
        (pa.string(), ["", "A", "a", "ab", "ä", "\uffff", "\U0001f600"]),
        (pa.binary(), [b"", b"\x00", b"\xff"]),
        (pa.decimal128(20, 4), [Decimal("-1.5"), Decimal(0), Decimal("0.0001")]),
        (pa.duration("us"), [timedelta(microseconds=-1), timedelta(0), timedelta(days=1)]),
    ],
    ids=str,
)
def test_every_value_is_above_the_one_before_and_null_below_all(kind: pa.DataType, values: list[Any]) -> None:
    largest = ranks(pa.array([None, *values], kind), largest=True)
    assert (np.sort(largest) == largest).all()
    assert len(set(largest.tolist())) == len(values) + 1
    smallest = ranks(pa.array([None, *reversed(values)], kind), largest=False)
    assert (np.sort(smallest) == smallest).all()
    assert len(set(smallest.tolist())) == len(values) + 1


def test_zeros_and_nans_are_equal() -> None:
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    zero, negative, one, other = ranks(pa.array([0.0, -0.0, *odd]), largest=True).tolist()
    assert zero == negative
    assert one == other > zero


def test_a_column_of_nulls_decides_nothing() -> None:
    assert len(set(ranks(pa.nulls(3), largest=True).tolist())) == 1
    assert len(set(ranks(pa.nulls(3, pa.string()), largest=False).tolist())) == 1


def schemas(left: pa.DataType, right: pa.DataType) -> tuple[pa.Schema, pa.Schema]:
    return pa.schema([("_on_0", left)]), pa.schema([("_on_0", right)])


@pytest.mark.parametrize(
    "kind", [pa.int32(), pa.float64(), pa.timestamp("us", "UTC"), pa.date32(), pa.decimal128(10, 2)], ids=str
)
def test_differences_have_an_order(kind: pa.DataType) -> None:
    check_order(DIFFERENCE, *schemas(kind, kind))


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())], ids=str
)
def test_nested_values_have_none(kind: pa.DataType) -> None:
    with pytest.raises(PlanError, match="cannot be evaluated") as refused:
        check_order(RIGHT, *schemas(pa.int64(), kind))
    assert "a value that has an order" in str(refused.value)


def test_a_text_less_a_number_is_nothing() -> None:
    with pytest.raises(PlanError, match="cannot be evaluated"):
        check_order(DIFFERENCE, *schemas(pa.string(), pa.int64()))


def test_columns_that_are_packed_in_the_log_are_compared_too(tmp_path: Path) -> None:
    """Those that a query compares are kept apart from the packed ones. A join that is given others picks all
    the same."""
    wide = wide_rows(500)
    sides = []
    for name in ("left", "right"):
        category = Category.create(str(tmp_path), name, SCHEMA, buckets=4, compression="zstd")
        put(category, wide)
        sides.append(Rows(category, 0, category.next_commit()))
    assert sides[1].packed
    numbers = np.arange(500, dtype=np.int64)
    scores = sides[1].at(sides[1].places(numbers)).take("score")
    spec = IntervalSpec(0, 0, "inner", "one", "max", picked_by=Operand("right", "score"))
    worth = worth_in(spec, sides[0], sides[1])
    assert worth is not None
    assert np.argsort(worth(numbers, numbers)).tolist() == np.argsort(scores.to_numpy()).tolist()
