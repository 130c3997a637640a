"""A row that is pushed alone becomes what it would be in a batch."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dovetail.errors import InputError
from dovetail.sliding.batches import RowForm, as_numbers, single_row
from dovetail.sliding.payload import Payload

SCHEMA = pa.schema(
    [
        ("small", pa.int8()),
        ("large", pa.uint64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("flag", pa.bool_()),
        ("fixed", pa.binary(3)),
        ("text", pa.string()),
        ("day", pa.date32()),
    ]
)
VALUES: dict[str, list[Any]] = {
    "small": [1, -128, 127, None, 2.0, np.int8(3), Decimal(5)],
    "large": [0, 2**64 - 1, None],
    "single": [0.1, 1, None, math.inf, math.nan, 1e-50, np.float64(2.5), True],
    "double": [0.1, 10**300, None, math.nan],
    "flag": [True, False, None],
    "fixed": [b"abc", None],
    "text": ["x", "é", None],
    "day": [datetime.date(2020, 1, 2), None, 7],
}


def test_single_rows_become_the_batch_that_arrow_makes_of_them() -> None:
    rng, form, payload = random.Random(1), RowForm(SCHEMA), Payload(SCHEMA)
    rows = [{name: rng.choice(values) for name, values in VALUES.items()} for _ in range(600)]
    for row in rows:
        payload.add_row(single_row(row, form, "left"), 0)
    found = payload.gather(np.arange(600))
    for name in ("single", "double"):  # floats first: Arrow refuses integers that a float32 does not hold
        for row in rows:
            row[name] = None if row[name] is None else float(row[name])
    for row in rows:
        row["small"] = None if row["small"] is None else int(row["small"])
    expected = pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    for name in SCHEMA.names:
        assert repr(found.column(name).to_pylist()) == repr(expected.column(name).to_pylist()), name


def test_a_plain_number_has_the_type_of_its_column() -> None:
    cells = single_row({"small": 5, "single": 0.1, "flag": True}, RowForm(SCHEMA), "left")
    values = {name: as_numbers(cells[name])[0] for name in ("small", "single", "flag")}
    assert {name: value.dtype for name, value in values.items()} == {
        "small": np.int8,
        "single": np.float32,
        "flag": np.bool_,
    }
    assert values["single"][0] == np.float32(0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("small", 128),
        ("small", True),
        ("small", 1.5),
        ("small", Decimal("1.5")),
        ("small", Decimal("NaN")),
        ("small", math.inf),
        ("single", "0.5"),
        ("double", b"0.5"),
        ("flag", 1),
        ("fixed", b"toolong"),
    ],
)
def test_what_arrow_refuses_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"column {name} cannot be"):
        single_row({name: value}, RowForm(SCHEMA), "left")


@pytest.mark.parametrize("row", [{"smal": 1}, {"small": 1, "Flag": True}, {1: 2}])
def test_a_name_that_is_written_wrong_is_no_null(row: Any) -> None:
    with pytest.raises(InputError, match="a row has no column"):
        single_row(row, RowForm(SCHEMA), "left")
    whole = dict.fromkeys(SCHEMA.names)
    assert len(single_row({**whole, "besides": 1}, RowForm(SCHEMA), "left")) == len(SCHEMA)
