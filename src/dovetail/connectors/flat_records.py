"""Rows as records of Avro or Protobuf, as a registry's clients read them.

0  number of the schema  (Protobuf: 0, the first message)  the record
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dovetail.connectors.flat_field import FORMS, FlatField, for_kernel
from dovetail.connectors.kernels import binary_rows as kernels
from dovetail.connectors.schema_registry import HEAD, MAGIC

FIRST_MESSAGE = b"\0"


def head_of(form: str, schema: int) -> bytes:
    return HEAD.pack(MAGIC, schema) + (FIRST_MESSAGE if form == "protobuf" else b"")


def records(form: str, fields: Sequence[FlatField], schema: int, batch: pa.RecordBatch) -> pa.Array:
    """A value for each row, in a schema that `flat_schema.schema_for` has made."""
    count, width = batch.num_rows, batch.num_columns
    columns = kernels.BinaryColumns(
        np.zeros((width, count), np.int64),
        np.zeros((width, count), np.int32),
        np.ones((width, count), np.bool_),
    )
    kept = [_fill(columns, number, column) for number, column in enumerate(batch.columns)]
    known, head = for_kernel(fields, range(width)), head_of(form, schema)
    ends = np.zeros(count + 1, np.int32)
    data = np.empty(kernels.encode(FORMS[form], known, columns, len(head), ends, 0), np.uint8)
    kernels.encode(FORMS[form], known, columns, len(head), ends, data.ctypes.data)
    for place, byte in enumerate(head):
        data[ends[:-1] + place] = byte
    del kept  # the texts were read from their memory
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(data)])


def _fill(columns: kernels.BinaryColumns, number: int, column: pa.Array) -> pa.Array:
    """One column; gives back what must stay in memory."""
    kind = column.type
    if column.null_count:
        columns.given[number] = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, ends_buffer, data = column.buffers()
        ends = np.frombuffer(ends_buffer, np.int32)[column.offset : column.offset + len(column) + 1]
        columns.words[number] = ends[:-1] + np.int64(data.address if data else 0)
        columns.sizes[number] = np.diff(ends)
        return column
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    values = column.fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        values = values.view(np.int64 if kind.bit_width == 64 else np.int32)
    columns.words[number] = values
    return column
