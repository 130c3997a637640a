"""Flat JSON objects as Arrow columns, by a kernel (`kernels/json_rows.py`).

Law: a row that is not odd has what `formats.Json` would read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.kafka.kernels import json_rows as kernels

SCALES = {"milliseconds": 1_000, "microseconds": 1}
_WIDEST = 2**63 - 1


class FlatReader:
    """For columns of types that the kernel knows; `reader_of` finds out."""

    def __init__(self, schema: pa.Schema, fields: kernels.JsonFields) -> None:
        self._schema, self._fields = schema, fields

    def rows(self, values: pa.Array) -> tuple[pa.Table, NDArray[np.bool_]]:
        """And which of the rows are odd: they have no values here."""
        count, width = len(values), len(self._schema)
        present = np.ones(count, np.bool_) if not values.null_count else values.is_valid().to_numpy(False)
        _, ends_buffer, data_buffer = values.buffers()
        ends = np.frombuffer(ends_buffer, np.int32)[values.offset : values.offset + count + 1]
        data = np.frombuffer(data_buffer, np.uint8) if data_buffer else np.empty(0, np.uint8)
        words = np.empty((width, count), np.int64)
        columns = kernels.JsonColumns(
            words,
            words.view(np.float64),
            np.zeros((width, count), np.int32),
            np.zeros((width, count), np.bool_),
        )
        odd = np.empty(count, np.bool_)
        kernels.parse(data.ctypes.data, ends, present, self._fields, columns, odd)
        made = [self._column(field, columns, data, odd) for field in range(width)]
        return pa.Table.from_arrays(made, schema=self._schema), odd

    def _column(
        self, field: int, columns: kernels.JsonColumns, data: NDArray[np.uint8], odd: NDArray[np.bool_]
    ) -> pa.Array:
        kind, count = self._schema.field(field).type, len(odd)
        given, words = columns.given[field] & ~odd, columns.words[field]
        bits = None if given.all() else pa.py_buffer(np.packbits(given, bitorder="little"))
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            ends = np.empty(count + 1, np.int32)
            texts = np.empty(kernels.text_ends(columns.sizes[field], odd, ends), np.uint8)
            kernels.texts(data.ctypes.data, words, ends, texts.ctypes.data)
            return pa.Array.from_buffers(kind, count, [bits, pa.py_buffer(ends), pa.py_buffer(texts)])
        if pa.types.is_boolean(kind):
            return pa.array(words == 1, kind, mask=~given)
        if pa.types.is_integer(kind) and kind.bit_width < words.itemsize * 8:
            words = np.where(given, words, 0).astype(kind.to_pandas_dtype())
        return pa.Array.from_buffers(kind, count, [bits, pa.py_buffer(words)])


def reader_of(schema: pa.Schema, times: str) -> FlatReader | None:
    """None where a column has a type that only a whole JSON parser reads."""
    described = [_described(column.type, times) for column in schema]
    if not 0 < len(described) <= kernels.MOST_FIELDS or None in described:
        return None
    named = [column.name.encode() for column in schema]
    known: Any = np.array(described, np.int64).reshape(-1, 4)
    return FlatReader(
        schema,
        kernels.JsonFields(
            np.frombuffer(b"".join(named), np.uint8),
            np.cumsum([0, *map(len, named)]),
            known[:, 0].astype(np.int8),
            known[:, 1].copy(),
            known[:, 2].copy(),
            known[:, 3].copy(),
        ),
    )


def _described(kind: pa.DataType, times: str) -> tuple[int, int, int, int] | None:
    """How it is read, and for whole numbers: from, to, and what they are multiplied by."""
    if pa.types.is_signed_integer(kind):
        most = 2 ** (kind.bit_width - 1) - 1
        return kernels.WHOLE, -most - 1, most, 1
    if pa.types.is_timestamp(kind):
        if kind.unit != "us":
            return None
        if times in SCALES:
            most = _WIDEST // SCALES[times]
            return kernels.WHOLE, -most, most, SCALES[times]
        return (kernels.SECONDS if times == "seconds" else kernels.ISO), 0, 0, 1
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return kernels.TEXT, 0, 0, 1
    if pa.types.is_float64(kind):
        return kernels.REAL, 0, 0, 1
    return (kernels.TRUTH, 0, 0, 1) if pa.types.is_boolean(kind) else None
