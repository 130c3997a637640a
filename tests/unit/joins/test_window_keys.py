"""Keys of every type that `dovetail.window_join` takes, and clear errors for those that it does not."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
import oracle
from dovetail.errors import DovetailError, InputError, SettingError
from dovetail.intra_window.join import ALGORITHMS
from dovetail.intra_window.knobs import Knobs
from laws.effort import examples

DAY, LATER = dt.date(1969, 12, 31), dt.date(2026, 3, 1)
NOON, NIGHT = dt.datetime(1960, 1, 1, 12), dt.datetime(2026, 3, 1)
PARIS = pa.timestamp("us", "Europe/Paris")


def pairs(left: Any, right: Any, **options: Any) -> list[tuple[int, int]]:
    found = dovetail.window_join(left, right, **options)
    assert dovetail.window_join_count(left, right, **options) == len(found.left)
    chunks = list(dovetail.window_join_chunks(left, right, **options))
    in_chunks = sorted(
        pair for chunk in chunks for pair in zip(chunk.left.tolist(), chunk.right.tolist(), strict=True)
    )
    at_once = sorted(zip(found.left.tolist(), found.right.tolist(), strict=True))
    assert in_chunks == at_once
    return at_once


# Two values that differ, of each type: left is (a, b, null, a), right (b, null, a).
VALUES: dict[str, tuple[Any, pa.DataType]] = {
    "string": (("ä", ""), pa.string()),
    "large string": (("b" * 40, "b"), pa.large_string()),
    "string view": (("a", "b"), pa.string_view()),
    "binary": ((b"\0", b"\0\0"), pa.binary()),
    "fixed binary": ((b"ab", b"ba"), pa.binary(2)),
    "boolean": ((False, True), pa.bool_()),
    "int8": ((-128, 127), pa.int8()),
    "uint8": ((0, 255), pa.uint8()),
    "int16": ((-1, 1), pa.int16()),
    "uint16": ((0, 65_535), pa.uint16()),
    "uint64": ((0, 2**64 - 1), pa.uint64()),
    "date": ((DAY, LATER), pa.date32()),
    "date64": ((DAY, LATER), pa.date64()),
    "time": ((dt.time(1), dt.time(2)), pa.time32("s")),
    "time of day in µs": ((dt.time(1), dt.time(2)), pa.time64("us")),
    "timestamp": ((NOON, NIGHT), pa.timestamp("us")),
    "timestamp with a zone": ((NOON, NIGHT), PARIS),
    "duration": ((dt.timedelta(-1), dt.timedelta(1)), pa.duration("ms")),
    "decimal": ((Decimal("-1.50"), Decimal("1.50")), pa.decimal128(20, 2)),
    "dictionary": (("a", "b"), pa.dictionary(pa.int8(), pa.string())),
    "run-end encoded": ((1, 2), pa.run_end_encoded(pa.int16(), pa.int64())),
    "UUID": ((b"a" * 16, b"b" * 16), pa.uuid()),
}


@pytest.mark.parametrize("name", VALUES)
def test_equal_values_match_and_nulls_do_not(name: str) -> None:
    (a, b), kind = VALUES[name]
    left, right = pa.array([a, b, None, a], kind), pa.array([b, None, a], kind)
    expected = [(0, 2), (1, 0), (3, 2)]
    assert pairs(left, right) == expected
    chunked = pa.chunked_array([left.slice(0, 1), left.slice(1, 0), left.slice(1)])
    assert pairs(chunked, right, algorithm="shj_jm", threads=2) == expected
    assert pairs(left.slice(1), right) == [(0, 0), (2, 2)]
    assert pairs(pa.nulls(3), right) == []
    assert pairs(left.slice(0, 0), right) == []


def test_dictionaries_are_compared_by_value_not_by_index() -> None:
    left = pa.array(["x", "y"]).dictionary_encode()
    right = pa.array(["y", "z", "x"]).dictionary_encode()
    assert pairs(left, right) == [(0, 2), (1, 0)]
    other_chunk = pa.array(["z"]).dictionary_encode()
    assert pairs(pa.chunked_array([left, other_chunk]), right) == [(0, 2), (1, 0), (2, 1)]
    null_inside = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", None]))
    assert pairs(null_inside, pa.array(["x", None])) == [(0, 0)]


UNLIKE = [
    (pa.array([1, 2], pa.int8()), pa.array([2, 1], pa.int64())),
    (np.array([1, 2], np.int32), np.array([2, 1], np.int64)),
    (np.array([1, 2], np.int16), np.array([2, 1], np.uint16)),
    (np.array([1, 2], np.uint64), np.array([2, 1], np.int8)),
    (pa.array(["a", "b"]), pa.array(["b", "a"], pa.large_string())),
    (pa.array(["a", "b"], pa.string_view()), pa.array(["b", "a"]).dictionary_encode()),
    (pa.array([NOON, NIGHT], pa.timestamp("s")), pa.array([NIGHT, NOON], pa.timestamp("us"))),
    (pa.array([NOON, NIGHT], PARIS), pa.array([NIGHT, NOON], pa.timestamp("ns", "UTC"))),
    (pa.array([DAY, LATER], pa.date32()), pa.array([LATER, DAY], pa.date64())),
    (pa.array([Decimal("1.5"), Decimal(2)]), pa.array([Decimal(2), Decimal("1.5000")])),
]


@pytest.mark.parametrize(
    ("left", "right"), UNLIKE, ids=lambda keys: str(keys.dtype if isinstance(keys, np.ndarray) else keys.type)
)
def test_types_that_differ_only_in_width_match(left: Any, right: Any) -> None:
    assert pairs(left, right) == [(0, 1), (1, 0)]


def test_int64_with_uint64() -> None:
    left = np.array([-1, 5, 2**63 - 1, -(2**63)], np.int64)
    right = np.array([2**64 - 1, 5, 2**63 - 1, 2**63], np.uint64)
    assert pairs(left, right) == [(1, 1), (2, 2)]
    assert pairs(right, left) == [(1, 1), (2, 2)]
    assert pairs([left, left], [right, right]) == [(1, 1), (2, 2)]


def test_big_endian_and_masked_arrays() -> None:
    left, right = np.array([1, 256, 3], ">i4"), np.array([3, 1, 256], np.int32)
    assert pairs(left, right) == [(0, 1), (1, 2), (2, 0)]
    assert pairs(left.astype(">u8"), right) == [(0, 1), (1, 2), (2, 0)]
    masked = np.ma.masked_array(left, [False, True, False])
    assert pairs(masked, right) == [(0, 1), (2, 0)]
    assert pairs(np.ma.masked_array(["a", "b"], [True, False]), np.array(["a", "b"])) == [(1, 1)]


def test_numpy_strings_objects_and_times() -> None:
    assert pairs(np.array(["a", "bc"]), np.array(["bc", "a", "b"])) == [(0, 1), (1, 0)]
    assert pairs(np.array(["a", None, "b"], object), np.array(["b", None], object)) == [(2, 0)]
    assert pairs(np.array([True, False]), np.array([False])) == [(1, 0)]
    hours = np.array(["2026-03-01T00", "NaT", "2026-03-01T01"], "datetime64[h]")
    assert pairs(hours, np.array(["2026-03-01T01:00:00", "NaT"], "datetime64[us]")) == [(2, 0)]
    assert pairs(np.array([5, 6], "timedelta64[s]"), np.array([6000], "timedelta64[ms]")) == [(1, 0)]


def test_series_and_frames() -> None:
    names, days = ["a", "b", None, "a"], [1, 2, 3, 4]
    for left in (
        pd.Series(names),
        pd.Series(names, dtype="category"),
        pd.Series(names, dtype="string[pyarrow]"),
        pl.Series(names),
        pl.Series(names, dtype=pl.Categorical),
    ):
        assert pairs(left, pa.array(["b", None, "a"])) == [(0, 2), (1, 0), (3, 2)], type(left)
    assert pairs(pd.Series([1, None, 3], dtype="Int64"), pl.Series([3, 1], dtype=pl.Int16)) == [
        (0, 1),
        (2, 0),
    ]
    right = pa.table({"name": ["a", "b", "a"], "day": [4, 2, 9]})
    frame = pd.DataFrame({"name": names, "day": days}, index=pd.Index([5, 6, 7, 8], name="not a key"))
    assert pairs(frame, right) == [(1, 1), (3, 0)]
    assert pairs(pl.DataFrame({"name": names, "day": days}), right) == [(1, 1), (3, 0)]


class Exported:
    """An object that is known by the Arrow PyCapsule interface alone."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._array.__arrow_c_array__(requested_schema)


def test_anything_that_exports_arrow() -> None:
    names = Exported(pa.array(["a", None, "b"]))
    assert pairs(names, Exported(pa.array(["b", None]))) == [(2, 0)]
    assert pairs([names, names], [pa.array(["b"]), pa.array(["b"])]) == [(2, 0)]


def test_several_columns() -> None:
    left = [pa.array(["a", "a", "b", None]), np.array([1, 2, 1, 1])]
    right = [np.array(["b", "a"]), pa.array([1, 1], pa.int8())]
    expected = [(0, 1), (2, 0)]
    assert pairs(left, right) == expected
    assert pairs(tuple(left), pa.table({"name": right[0], "n": right[1]})) == expected
    struct = pa.StructArray.from_arrays(
        [left[0], pa.array(left[1])], ["name", "n"], mask=pa.array([True, False, False, False])
    )
    assert pairs(struct, right) == [(2, 0)]  # a null struct matches nothing
    assert pairs(pa.record_batch({"x": left[0], "y": left[1]}), right) == expected
    nested = pa.StructArray.from_arrays([struct, pa.array([7, 7, 7, 7])], ["inner", "other"])
    assert pairs(nested, [*right, np.array([7, 8])]) == [(2, 0)]


WIDE = [-(2**63), -1, 0, 1, 2**62, 2**63 - 1]
rows_of_three = st.lists(
    st.tuples(st.sampled_from(WIDE), st.sampled_from([None, "", "a", "b"]), st.sampled_from(WIDE)),
    max_size=30,
)


@examples(usual=60, thorough=2000)
@given(left=rows_of_three, right=rows_of_three, algorithm=st.sampled_from(ALGORITHMS))
def test_columns_that_do_not_fit_64_bits_together(left: list[Any], right: list[Any], algorithm: str) -> None:
    kinds = (pa.int64(), pa.string(), pa.int64())
    sides = [
        [pa.array([row[n] for row in rows], kind) for n, kind in enumerate(kinds)] for rows in (left, right)
    ]
    # The oracle matches equal keys: rows with a null get keys that no other row has.
    known = [[row if row[1] is not None else (side, n) for n, row in enumerate(rows)] for side, rows in
             enumerate((left, right))]  # fmt: skip
    assert pairs(*sides, algorithm=algorithm, threads=2) == oracle.window_pairs(*known)


INTS = np.zeros(2, np.int32)
REFUSED = {
    "a Python list": ([1, 2], "the left keys are a list of int"),
    "an empty list": ([], "the left keys have no columns"),
    "a string": ("ab", "the left keys are a str"),
    "nothing": (None, "the left keys are a NoneType"),
    "two dimensions": (np.zeros((2, 2), np.int32), "the left keys have 2 dimensions"),
    "no dimension": (np.array(1), "the left keys have 0 dimensions"),
    "floats": (np.zeros(2), "the left keys are double"),
    "lists": (pa.array([[1]]), "the left keys are list"),
    "complex numbers": (np.zeros(2, complex), "the left keys are complex128"),
    "objects": (np.array([object()]), "the left keys are object"),
    "integers beyond 64 bits": (np.array([2**70], object), "the left keys are object"),
    "unlike values": (np.array(["a", 1], object), "the left keys are object"),
    "strings for integers": (np.array(["a"]), "the keys are of unlike types: string and int32"),
    "booleans for integers": (np.array([True]), "the keys are of unlike types: bool and int32"),
    "several columns for one": ([INTS, INTS], "the left keys have 2 columns and the right keys 1"),
    "columns of unlike lengths": ([INTS, INTS[:1]], "the columns of the left keys have 2 and 1 rows"),
    "a table without columns": (pa.table({}), "the left keys have no columns"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_keys_that_are_refused(name: str) -> None:
    keys, says = REFUSED[name]
    for join in (dovetail.window_join, dovetail.window_join_count, dovetail.window_join_chunks):
        with pytest.raises(InputError, match=says):
            join(keys, INTS)


def test_more_that_is_refused() -> None:
    day, night = pa.array([DAY], pa.date32()), pa.array([NIGHT], pa.timestamp("us"))
    with pytest.raises(InputError, match=r"unlike types: date32.* and timestamp"):
        dovetail.window_join(day, night)
    with pytest.raises(InputError, match=r"unlike types: timestamp\[us\] and timestamp\[us, tz=UTC\]"):
        dovetail.window_join(night, night.cast(pa.timestamp("us", "UTC")))
    with pytest.raises(InputError, match="unlike types: string and binary"):
        dovetail.window_join(pa.array(["a"]), pa.array([b"a"]))
    far = pa.array([dt.datetime(9999, 1, 1)], pa.timestamp("s"))
    with pytest.raises(InputError, match="cannot be compared"):
        dovetail.window_join(far, pa.array([NIGHT], pa.timestamp("ns")))
    named, turned = pa.table({"a": [1], "b": [2]}), pa.table({"b": [2], "a": [1]})
    with pytest.raises(InputError, match="in another order"):
        dovetail.window_join(named, turned)
    assert pairs(named, turned.select(["a", "b"])) == [(0, 0)]


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "bogus"},
        {"algorithm": None},
        {"algorithm": ["npj"]},
        {"threads": "2"},
        {"threads": 1.5},
        {"threads": 0},
        {"threads": 2**70},
        {"knobs": {"ways": 2}},
    ],
    ids=str,
)
def test_options_that_are_refused(options: dict[str, Any]) -> None:
    for join in (dovetail.window_join, dovetail.window_join_count, dovetail.window_join_chunks):
        with pytest.raises(SettingError):
            join(INTS, INTS, **options)


def test_memory_is_memory() -> None:
    for join in (dovetail.window_join, dovetail.window_join_count):
        with pytest.raises(SettingError, match="memory is a int"):
            join(INTS, INTS, memory=1 << 30)  # type: ignore[arg-type]


@pytest.mark.parametrize("knob", ["radix_bits", "sorting_step", "ways", "chunk_pairs"])
def test_knobs_that_are_refused(knob: str) -> None:
    for value in ("4", [4], float("nan"), 2**70, None if knob != "radix_bits" else -1):
        with pytest.raises(SettingError, match=knob):
            Knobs(**{knob: value})


def test_a_count_of_rows_is_whole() -> None:
    with pytest.raises(DovetailError, match="block_rows"):
        Knobs(block_rows=1.5)  # type: ignore[arg-type]
