"""Batches as people have them (Arrow tables and record batches, dictionaries of NumPy arrays or of single
values), as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dovetail.errors import InputError, SettingError

Batch = Any
"""A `pyarrow.RecordBatch` or `Table`, or a mapping of names to arrays or single values."""


Schema = Any
"""A `pyarrow.Schema`, or names with types."""


def as_record_batch(batch: Batch, schema: pa.Schema, side: str) -> pa.RecordBatch:
    """The batch with exactly the columns of the schema, in its order and types."""
    if isinstance(batch, pa.Table):
        batch = pa.RecordBatch.from_arrays(
            [column.combine_chunks() for column in batch.columns], schema=batch.schema
        )
    if isinstance(batch, Mapping):
        batch = _from_mapping(batch, schema, side)
    if not isinstance(batch, pa.RecordBatch):
        raise InputError(
            f"a batch cannot be a {type(batch).__name__}",
            where=f"pushed to the {side} stream",
            expected="a pyarrow RecordBatch or Table, or a mapping of names to arrays",
            hint="a pandas frame becomes one by pa.RecordBatch.from_pandas(frame)",
        )
    missing = [name for name in schema.names if name not in batch.schema.names]
    if missing:
        raise InputError(
            f"a batch has no column {', '.join(missing)}",
            where=f"pushed to the {side} stream, with {', '.join(batch.schema.names) or 'no column'}",
            expected=", ".join(schema.names),
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
    except pa.ArrowInvalid as error:
        raise InputError(
            f"a batch does not fit the stream's types: {error}",
            where=f"pushed to the {side} stream",
            expected=str(schema).replace("\n", ", "),
            hint="cast it before",
        ) from error


def _from_mapping(batch: Mapping[str, Any], schema: pa.Schema, side: str) -> pa.RecordBatch:
    arrays, names = [], []
    for name, values in batch.items():
        whole = values if isinstance(values, np.ndarray | list | pa.Array) else [values]
        field = schema.field(name) if name in schema.names else None
        try:
            arrays.append(pa.array(whole, field.type if field is not None else None))
        except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"column {name} cannot be read: {error}",
                where=f"pushed to the {side} stream",
                expected=str(field.type) if field is not None else "an array",
                hint="one value a row, all of one type",
            ) from error
        names.append(name)
    try:
        return pa.RecordBatch.from_arrays(arrays, names=names)
    except (pa.ArrowInvalid, ValueError) as error:
        lengths = ", ".join(f"{name}: {len(array)}" for name, array in zip(names, arrays, strict=True))
        raise InputError(
            "the columns of a batch are of unlike length",
            where=f"pushed to the {side} stream ({lengths})",
            expected="one value a row in each",
            hint="look how the columns were made",
        ) from error


def is_single(batch: Batch) -> bool:
    """Whether it is one row, as a mapping of names to values."""
    return isinstance(batch, Mapping) and not any(
        isinstance(value, np.ndarray | list | pa.Array) for value in batch.values()
    )


def single_columns(
    row: Mapping[str, Any], names: list[str], dtypes: dict[str, np.dtype[Any]], side: str
) -> tuple[dict[str, npt.NDArray[np.generic]], npt.NDArray[np.bool_] | None]:
    """Some columns of one row, and whether any is null."""
    columns: dict[str, npt.NDArray[np.generic]] = {}
    null = False
    for name in names:
        value = row.get(name)
        null |= value is None
        try:
            with np.errstate(over="ignore"):  # beyond float32 lies infinity, as for Arrow
                columns[name] = np.array([0 if value is None else value], dtypes[name])
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"column {name} cannot be {value!r}",
                where=f"pushed to the {side} stream",
                expected=str(dtypes[name]),
                hint="one value of the stream's type",
            ) from error
    return columns, np.ones(1, np.bool_) if null else None


def as_numbers(column: pa.Array) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_] | None]:
    """The values, and which of them are null (then they are zero here)."""
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    if column.null_count:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        return column.fill_null(_zero(column.type)).to_numpy(zero_copy_only=False), nulls
    return column.to_numpy(zero_copy_only=False), None


def _zero(of: pa.DataType) -> object:
    return False if pa.types.is_boolean(of) else 0.0 if pa.types.is_floating(of) else 0


def dtypes_of(schema: pa.Schema) -> dict[str, np.dtype[Any]]:
    """What predicates may look at, and what each is as numbers; others are there as objects."""
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


def as_schema(given: Schema) -> pa.Schema:
    if isinstance(given, pa.Schema):
        return given
    try:
        return pa.schema(
            [
                (name, kind if isinstance(kind, pa.DataType) else pa.from_numpy_dtype(np.dtype(kind)))
                for name, kind in given.items()
            ]
        )
    except (TypeError, pa.ArrowException) as error:
        raise SettingError(
            f"a schema cannot be read: {error}",
            where=str(given),
            expected="a pyarrow schema, or names with types",
            hint='{"x": "int32", "y": "float32", "z": pa.string()}',
        ) from error
