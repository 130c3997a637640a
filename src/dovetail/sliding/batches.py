"""Batches as users have them (Arrow tables and record batches, mappings of names to NumPy arrays or to single
values), as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.errors import InputError, SettingError

Batch = Any
"""A `pyarrow.RecordBatch` or `Table`, or a mapping of names to arrays or single values."""


Schema = Any
"""A `pyarrow.Schema`, or names with types."""

_COLUMNS = (np.ndarray, list, pa.Array, pa.ChunkedArray)


def as_record_batch(batch: Batch, schema: pa.Schema, side: str) -> pa.RecordBatch:
    """The batch with exactly the columns of the schema, in its order and types."""
    if isinstance(batch, pa.Table):
        batch = pa.RecordBatch.from_arrays([_whole(column) for column in batch.columns], schema=batch.schema)
    if isinstance(batch, Mapping):
        batch = _from_mapping(batch, schema, side)
    if not isinstance(batch, pa.RecordBatch):
        raise InputError(
            f"a batch cannot be a {type(batch).__name__}",
            where=f"pushed to the {side} stream",
            expected="a pyarrow RecordBatch or Table, or a mapping of names to arrays",
            hint="convert a pandas frame with pa.RecordBatch.from_pandas(frame)",
        )
    for name in schema.names:
        if (times := batch.schema.names.count(name)) != 1:
            raise InputError(
                f"a batch has {'no column' if not times else f'{times} columns'} {name}",
                where=f"pushed to the {side} stream, with {', '.join(batch.schema.names) or 'no column'}",
                expected=f"each of {', '.join(schema.names)} once",
                hint="every batch needs the columns that the join was made with",
            )
    chosen = batch.select(schema.names)
    if chosen.schema.equals(schema):
        return chosen
    try:
        return pa.RecordBatch.from_arrays(
            [column.cast(field.type) for column, field in zip(chosen.columns, schema, strict=True)],
            schema=schema,
        )
    except pa.ArrowException as error:
        raise InputError(
            f"a batch does not fit the types of the stream: {error}",
            where=f"pushed to the {side} stream",
            expected=str(schema).replace("\n", ", "),
            hint="cast the columns before the push",
        ) from error


def _from_mapping(batch: Mapping[str, Any], schema: pa.Schema, side: str) -> pa.RecordBatch:
    arrays, names = [], []
    for name, values in batch.items():
        field = schema.field(name) if name in schema.names else None
        column = values if isinstance(values, _COLUMNS) else [values]
        arrays.append(_array(column, None if field is None else field.type, name, side))
        names.append(name)
    try:
        return pa.RecordBatch.from_arrays(arrays, names=names)
    except (pa.ArrowException, ValueError) as error:
        lengths = ", ".join(f"{name}: {len(array)}" for name, array in zip(names, arrays, strict=True))
        raise InputError(
            "the columns of a batch are of unlike length",
            where=f"pushed to the {side} stream ({lengths})",
            expected="one value per row in each column",
            hint="check how the columns were made",
        ) from error


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _array(values: Any, kind: pa.DataType | None, name: str, side: str) -> pa.Array:
    try:
        if isinstance(values, np.ndarray) and not values.dtype.isnative:
            values = values.astype(values.dtype.newbyteorder("="))
        if kind is not None and pa.types.is_integer(kind) and _has_fractions(values):
            return _whole(pa.array(values)).cast(
                kind
            )  # as pa.array makes integers of these, it cuts them off
        return _whole(pa.array(_whole(values), kind))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"column {name} cannot be read: {error}",
            where=f"pushed to the {side} stream",
            expected=str(kind) if kind is not None else "an array",
            hint="one value per row, all of one type",
        ) from error


def _has_fractions(values: Any) -> bool:
    """Python objects some of which are floats or decimals."""
    if not isinstance(values, list) and not (isinstance(values, np.ndarray) and values.dtype == object):
        return False
    kind = pa.infer_type(values, from_pandas=True)
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


class RowForm:
    """What a schema says of single rows. Asking it again for each row would take longer than joining one."""

    def __init__(self, schema: pa.Schema) -> None:
        self.columns = [
            (field.name, field.type, pa.types.is_floating(field.type), _plain(field.type)) for field in schema
        ]
        self.nested = {field.name for field in schema if pa.types.is_nested(field.type)}


Plain = Callable[[Any], npt.NDArray[np.generic] | None]
"""A value of exactly the Python type that a column is made of, as an array; None for any other value."""


def _plain(kind: pa.DataType) -> Plain:
    """Arrow takes microseconds to make a column of one value, and looks at it in ways that these types do not
    need: whole numbers in range, floats that are finite in their type, booleans."""
    if pa.types.is_integer(kind):
        dtype = np.dtype(kind.to_pandas_dtype())
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return lambda value: (
            np.array([value], dtype) if type(value) is int and least <= value <= most else None
        )
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        dtype = np.dtype(kind.to_pandas_dtype())
        largest = float(np.finfo(dtype).max)
        return lambda value: (
            np.array([value], dtype) if type(value) is float and abs(value) <= largest else None
        )
    if pa.types.is_boolean(kind):
        return lambda value: np.array([value], np.bool_) if type(value) is bool else None
    return lambda value: None


def is_single(batch: Batch, form: RowForm) -> bool:
    """Whether it is one row, as a mapping of names to values. A list in a column of lists is a value, if any
    other column says that this is a row."""
    if not isinstance(batch, Mapping):
        return False
    flat = [value for name, value in batch.items() if name not in form.nested]
    return not any(isinstance(value, _COLUMNS) for value in flat or batch.values())


Cell = Any
"""A column of one value: a `pyarrow.Array`, or of a plain number a NumPy array."""


def single_row(row: Mapping[str, Any], form: RowForm, side: str) -> dict[str, Cell]:
    """One row as columns of one value. What it does not name is null, unless it names something else."""
    columns: dict[str, Cell] = {}
    for name, kind, floating, plain in form.columns:
        value = row.get(name)
        number = plain(value)
        if number is not None:
            columns[name] = number
            continue
        if value is None and name not in row:
            _check_names(row, form, side)
        try:
            columns[name] = pa.array([_as_arrow_takes_it(value, kind, floating)], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"column {name} cannot be {value!r}",
                where=f"pushed to the {side} stream",
                expected=str(kind),
                hint="one value of the type that the join was made with",
            ) from error
    return columns


def _as_arrow_takes_it(value: Any, kind: pa.DataType, floating: bool) -> Any:
    """Arrow refuses integers that a float32 does not hold exactly, and cuts numbers off to make integers of
    them. Python reads a number from a text, which no batch does."""
    if floating and value is not None:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError("a text is no number")
        return float(value)
    if isinstance(value, float | np.floating) or (isinstance(value, Decimal) and pa.types.is_integer(kind)):
        whole = int(value)
        if whole != value:
            raise ValueError("it is no whole number")
        return whole
    return value


def _check_names(row: Mapping[str, Any], form: RowForm, side: str) -> None:
    """A name that is written wrong would be a null."""
    names = [name for name, *_ in form.columns]
    missing = [name for name in names if name not in row]
    unknown = [str(name) for name in row if name not in names]
    if unknown:
        raise InputError(
            f"a row has no column {', '.join(missing)}, but {', '.join(unknown)}",
            where=f"pushed to the {side} stream",
            expected=f"columns {', '.join(names)}",
            hint="a column that is left out is null, if the row has no other names",
        )


def as_numbers(column: Cell) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_] | None]:
    """The values, and which of them are null (then they are zero here)."""
    if isinstance(column, np.ndarray):
        return column, None
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    if column.null_count:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        return column.fill_null(_zero(column.type)).to_numpy(zero_copy_only=False), nulls
    return column.to_numpy(zero_copy_only=False), None


def _zero(of: pa.DataType) -> object:
    return False if pa.types.is_boolean(of) else 0.0 if pa.types.is_floating(of) else 0


def dtypes_of(schema: pa.Schema) -> dict[str, np.dtype[Any]]:
    """The type of each column as numbers; what a predicate cannot read is `object`."""
    found: dict[str, np.dtype[Any]] = {}
    for field in schema:
        if pa.types.is_temporal(field.type):
            found[field.name] = np.dtype(np.int32 if field.type.bit_width == 32 else np.int64)
        else:
            try:
                found[field.name] = np.dtype(field.type.to_pandas_dtype())
            except NotImplementedError:
                found[field.name] = np.dtype(object)
    return found


def as_schema(given: Schema, side: str) -> pa.Schema:
    try:
        schema = (
            given
            if isinstance(given, pa.Schema)
            else pa.schema(
                [
                    (name, kind if isinstance(kind, pa.DataType) else _of_numpy(kind))
                    for name, kind in given.items()
                ]
            )
        )
    except (TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise SettingError(
            f"a schema cannot be read: {error}",
            where=f"{side}={given}",
            expected="a pyarrow schema, or names with types",
            hint='{"x": "int32", "y": "float32", "z": pa.string()}',
        ) from error
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise SettingError(
            f"two columns of the {side} stream are called {', '.join(twice)}",
            where=side,
            expected="names that differ",
            hint="rename one of them",
        )
    return schema


def _of_numpy(kind: Any) -> pa.DataType:
    if kind is None:
        raise TypeError("a column has no type")  # NumPy would take it for a float
    return pa.from_numpy_dtype(np.dtype(kind))


def result_names(left: pa.Schema, right: pa.Schema) -> list[str]:
    """The columns of results: those of the left stream, then those of the right one."""
    names = [
        *left.names,
        *(name if name not in left.names else f"right_{name}" for name in right.names),
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingError(
            f"two columns of the results would be called {', '.join(twice)}",
            where="left and right",
            expected="names that still differ when `right_` is put before those that both streams have",
            hint="rename one of them in its schema",
        )
    return names
