"""Keys of any type, encoded as integers: both sides together, so that equal keys get equal integers.

Law: two rows have equal integers exactly if their keys are equal, column by column; a row with a null in any
column is left out, so it matches nothing.

A side is one column or several: NumPy and Arrow arrays, pandas and Polars Series, everything with the Arrow
PyCapsule interface; a sequence of these, a struct, a table or a data frame for several columns. Integers,
booleans, dates and times are used as they are stored. Strings, binary and decimals are numbered with one
Arrow dictionary over both sides. Integers of several columns are the digits of one number.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.errors import InputError
from dovetail.intra_window.kernels.packed import UInt32s

Integers = NDArray[Any]
Valid = NDArray[np.bool_] | None
ACCEPTED = "integers, strings, binary, booleans, dates, times, timestamps, durations or decimals"
_REFUSED_BY_ARROW = (pa.ArrowException, OverflowError, TypeError, ValueError)


class Keys(NamedTuple):
    """Integers to join by, and the rows they belong to where rows with nulls were left out."""

    values: Integers
    rows: UInt32s | None

    def rows_of(self, at: UInt32s) -> UInt32s:
        return at if self.rows is None else self.rows[at]


class _Column(NamedTuple):
    """One column of both sides as integers of one type. `valid`: None if no row is null."""

    values: tuple[Integers, Integers]
    valid: tuple[Valid, Valid]


def encoded(left: Any, right: Any) -> tuple[Keys, Keys]:
    sides = _columns(left, "left"), _columns(right, "right")
    widths = [len(columns) for columns in sides]
    if widths[0] != widths[1]:
        raise InputError(
            f"the left keys have {widths[0]} columns and the right keys {widths[1]}",
            expected="as many columns on both sides",
        )
    names = [[name for name, _ in columns] for columns in sides]
    if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
        raise InputError(
            f"the columns of the left keys, {', '.join(names[0])}, are on the right in another order: "
            f"{', '.join(names[1])}",
            expected="the same order on both sides: columns are compared by position",
        )
    columns = [_column(a, b) for (_, a), (_, b) in zip(*sides, strict=True)]
    kept = [_all([column.valid[side] for column in columns]) for side in (0, 1)]
    known = [_kept(column.values, kept) for column in columns]
    values = known[0] if len(known) == 1 else _one_number(known)
    return Keys(values[0], _rows(kept[0])), Keys(values[1], _rows(kept[1]))


def _all(masks: list[Valid]) -> Valid:
    known = [mask for mask in masks if mask is not None]
    return np.logical_and.reduce(known) if known else None


def _kept(values: tuple[Integers, Integers], masks: list[Valid]) -> tuple[Integers, Integers]:
    left, right = (side if mask is None else side[mask] for side, mask in zip(values, masks, strict=True))
    return left, right


def _rows(mask: Valid) -> UInt32s | None:
    return None if mask is None else np.flatnonzero(mask).astype(np.uint32)


# What a side is made of


def _columns(keys: Any, side: str) -> list[tuple[str, Any]]:
    """The columns of one side with their names ("" where there are none), structs taken apart: a NumPy array
    for plain integers, else a ChunkedArray."""
    if isinstance(keys, (list, tuple)):
        columns = [column for part in keys for column in _columns_of_part(part, keys, side)]
    else:
        columns = _parts("", _arrow(keys, side))
    if not columns:
        raise InputError(f"the {side} keys have no columns", expected="one column or more")
    lengths = dict.fromkeys(len(column) for _, column in columns)
    if len(lengths) > 1:
        raise InputError(
            f"the columns of the {side} keys have {' and '.join(map(str, lengths))} rows",
            expected="as many rows in each column",
        )
    return columns


def _columns_of_part(part: Any, keys: Sequence[Any], side: str) -> list[tuple[str, Any]]:
    if np.isscalar(part) or part is None:
        raise InputError(
            f"the {side} keys are a {type(keys).__name__} of {type(part).__name__}",
            expected="an array, or a sequence of arrays: one for each column",
            hint="make an array of the values first, with pyarrow.array or numpy.array",
        )
    return _parts("", _arrow(part, side))


def _parts(name: str, column: Any) -> list[tuple[str, Any]]:
    """Structs are taken apart. `flatten` makes the fields of a null struct null."""
    if isinstance(column, np.ndarray) or not pa.types.is_struct(column.type):
        return [(name, column)]
    fields = [column.type.field(n).name for n in range(column.type.num_fields)]
    return [part for field in zip(fields, column.flatten(), strict=True) for part in _parts(*field)]


def _arrow(keys: Any, side: str) -> Any:
    """A NumPy array of native integers as it is, everything else as a ChunkedArray."""
    pandas = sys.modules.get("pandas")  # who passes its objects has imported it
    try:
        if isinstance(keys, np.ndarray):
            return _of_numpy(keys, side)
        if pandas is not None and isinstance(keys, pandas.DataFrame):
            return pa.chunked_array(pa.Table.from_pandas(keys, preserve_index=False))
        if pandas is not None and isinstance(keys, (pandas.Series, pandas.Index)):
            return _chunked(pa.array(keys))
        if hasattr(keys, "__arrow_c_stream__"):
            return pa.chunked_array(keys)
        if hasattr(keys, "__arrow_c_array__"):
            return _chunked(pa.array(keys))
    except _REFUSED_BY_ARROW as error:
        kind = getattr(keys, "dtype", type(keys).__name__)
        raise InputError(
            f"the {side} keys are {kind}, which Arrow refuses: {error}", expected=ACCEPTED
        ) from None
    raise InputError(
        f"the {side} keys are a {type(keys).__name__}",
        expected="a NumPy or Arrow array, a Series, or several of these: a sequence, a table or a data frame",
    )


def _chunked(array: Any) -> Any:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}
"""Units of NumPy times that Arrow lacks, and the next finer one that it has."""


def _of_numpy(keys: NDArray[Any], side: str) -> Any:
    if keys.ndim != 1:
        raise InputError(
            f"the {side} keys have {keys.ndim} dimensions",
            expected="one dimension, or a sequence of such arrays: one for each column",
        )
    if not keys.dtype.isnative:
        keys = keys.astype(keys.dtype.newbyteorder("="))
    if keys.dtype.kind in "iu" and not isinstance(keys, np.ma.MaskedArray):
        return keys
    if keys.dtype.kind in "mM":
        unit = np.datetime_data(keys.dtype)[0]
        keys = keys.astype(f"{keys.dtype.kind}8[{_UNITS.get(unit, unit)}]")
    return _chunked(pa.array(keys, from_pandas=True))


# One column of both sides


def _column(left: Any, right: Any) -> _Column:
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        left, right = _plain(left, "left"), _plain(right, "right")
        if not (pa.types.is_integer(left.type) and pa.types.is_integer(right.type)):
            kind = _common(left.type, right.type)
            left, right, stored = _cast(left, kind), _cast(right, kind), _stored(kind)
            if stored is None:
                left, right = _numbered(left, right)
            else:
                left, right = left.cast(stored), right.cast(stored)
    left, left_valid = _numpy(left)
    right, right_valid = _numpy(right)
    return _one_width(left, right, left_valid, right_valid)


def _plain(column: Any, side: str) -> Any:
    """Encodings and zones undone, which say nothing about equality; what has no equality is refused."""
    if isinstance(column, np.ndarray):
        return pa.chunked_array([pa.array(column)])
    kind = column.type
    if pa.types.is_dictionary(kind):
        values = [_plain(_chunked(chunk.dictionary), side).combine_chunks() for chunk in column.chunks]
        taken = [own.take(chunk.indices) for own, chunk in zip(values, column.chunks, strict=True)]
        return pa.chunked_array(taken) if taken else _plain(pa.chunked_array([], kind.value_type), side)
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(column), side)
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(_cast(column, kind.storage_type), side)
    if pa.types.is_string_view(kind):
        return _cast(column, pa.large_string())
    if pa.types.is_binary_view(kind):
        return _cast(column, pa.large_binary())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _cast(column, pa.timestamp(kind.unit, "UTC"))
    if pa.types.is_floating(kind):
        raise InputError(
            f"the {side} keys are {kind}",
            expected=ACCEPTED,
            hint="floats are seldom equal: cast them to integers or decimals (pandas: to Int64)",
        )
    if pa.types.is_nested(kind):
        raise InputError(f"the {side} keys are {kind}", expected=ACCEPTED)
    return column


def _common(left: Any, right: Any) -> Any:
    """The type in which values of both can be compared."""
    if left == right:
        return left
    text = {_is_text(kind) for kind in (left, right) if not pa.types.is_null(kind)}
    try:
        if len(text) == 1:
            schemas = [pa.schema([("key", kind)]) for kind in (left, right)]
            return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        pass
    raise InputError(
        f"the keys are of unlike types: {left} and {right}",
        expected="the same type on both sides, or types that differ in width or unit only",
        hint="cast one side to the type of the other",
    )


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cast(column: Any, kind: Any) -> Any:
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowException as error:
        raise InputError(
            f"keys of type {column.type} cannot be compared as {kind}: {error}",
            hint="cast both sides to one type that holds all values",
        ) from None


def _stored(kind: Any) -> Any:
    """The integers that values of a type are stored as; None for strings and the like."""
    if pa.types.is_integer(kind):
        return kind
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return pa.int8()
    if pa.types.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return None


def _numbered(left: Any, right: Any) -> tuple[Any, Any]:
    """One dictionary over the chunks of both sides: equal values have equal indices."""
    try:
        coded = pa.chunked_array([*left.chunks, *right.chunks], left.type).dictionary_encode()
    except pa.ArrowException as error:
        raise InputError(f"keys of type {left.type} cannot be numbered: {error}", expected=ACCEPTED) from None
    # Arrow drops chunks without rows: the sides are cut by their rows.
    indices = pa.chunked_array([chunk.indices for chunk in coded.chunks], pa.int32())
    return indices.slice(0, len(left)), indices.slice(len(left))


def _numpy(column: Any) -> tuple[Integers, Valid]:
    if isinstance(column, np.ndarray):
        return column, None
    valid = column.is_valid().to_numpy() if column.null_count else None
    whole = (column.fill_null(0) if valid is not None else column).combine_chunks()
    return whole.to_numpy(zero_copy_only=False), valid


def _one_width(left: Integers, right: Integers, left_valid: Valid, right_valid: Valid) -> _Column:
    """Both sides as integers of 32 or 64 bits, of one type."""
    kind = np.result_type(left, right)
    if kind.kind == "f":
        # uint64 with a signed type: no integer type holds both. A negative key equals no unsigned one, so
        # such rows are left out like nulls; all others are the same in 64 unsigned bits.
        kind = np.dtype(np.uint64)
        left_valid, right_valid = _not_negative(left, left_valid), _not_negative(right, right_valid)
    elif kind.itemsize < 4:
        kind = np.dtype(np.int32)
    return _Column((left.astype(kind, copy=False), right.astype(kind, copy=False)), (left_valid, right_valid))


def _not_negative(values: Integers, valid: Valid) -> Valid:
    if values.dtype.kind == "u":
        return valid
    return _all([valid, values >= 0])


# Several columns


def _one_number(columns: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Columns as the digits of one number of 64 bits. Those that span too many values are numbered first,
    and so is the number itself if the next digit does not fit."""
    limit = 1 << 63
    number, size = _digits(columns[0], limit)
    for column in columns[1:]:
        digits, base = _digits(column, limit // size)
        if size * base > limit:
            number, size = _digits(number, limit // base)
        number = (
            number[0] * np.uint64(base) + digits[0],
            number[1] * np.uint64(base) + digits[1],
        )
        size *= base
    return number


def _digits(values: tuple[Integers, Integers], most: int) -> tuple[tuple[Integers, Integers], int]:
    """Values from 0 on, and how many there may be: at most `most`, if that is possible."""
    ends = [int(end) for side in values if len(side) for end in (side.min(), side.max())]
    least, size = min(ends, default=0), max(ends, default=0) - min(ends, default=0) + 1
    if size > most:
        left, right = _numbered(*(pa.chunked_array([pa.array(side)]) for side in values))
        return _digits((_numpy(left)[0], _numpy(right)[0]), 1 << 63)
    base = np.uint64(least % (1 << 64))
    left, right = (side.astype(np.int64 if side.dtype.kind == "i" else np.uint64) for side in values)
    return (left.view(np.uint64) - base, right.view(np.uint64) - base), size
