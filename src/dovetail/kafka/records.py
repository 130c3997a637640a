"""Records of a topic, as columns: one element for each record.

values       [0] {"id": 1}   [1] {"id": 2}   ...        one buffer and where each value ends
partitions   [0] 3           [1] 3           ...
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.kafka import librdkafka
from dovetail.kafka.kernels import messages as kernels

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """`keys`, `headers` (a map of names and bytes) and `timestamps` (milliseconds) are None where nobody asks
    for them."""

    values: pa.Array
    partitions: NDArray[np.int32]
    offsets: Int64s
    keys: pa.Array | None = None
    headers: pa.Array | None = None
    timestamps: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    def cut(self, start: int, stop: int) -> Records:
        def piece(part: Any) -> Any:
            return None if part is None else part[start:stop]

        return Records(*(piece(getattr(self, part.name)) for part in fields(self)))

    @property
    def bytes(self) -> int:
        return int(self.values.nbytes)


def records_of(
    values: Sequence[bytes | None], partitions: Sequence[int] = (), offsets: Sequence[int] = ()
) -> Records:
    """Records made for tests, without a broker."""
    count = len(values)
    return Records(
        pa.array(values, pa.binary()),
        np.array(partitions or [0] * count, np.int32),
        np.array(offsets or range(count), np.int64),
    )


def gathered(messages: Int64s, wanted: Collection[str]) -> Records:
    """For messages in the client's memory, by their addresses. `wanted`: which of key, headers, timestamp."""
    count = len(messages)
    errors, partitions = np.empty(count, np.int32), np.empty(count, np.int32)
    offsets = np.empty(count, np.int64)
    kernels.heads(messages, errors, partitions, offsets)
    return Records(
        _bytes(messages, kernels.PAYLOAD),
        partitions,
        offsets,
        _bytes(messages, kernels.KEY) if "key" in wanted else None,
        _headers(messages) if "headers" in wanted else None,
        _timestamps(messages) if "timestamp" in wanted else None,
    )


def _bytes(messages: Int64s, part: int) -> pa.Array:
    ends, given = np.empty(len(messages) + 1, np.int32), np.empty(len(messages), np.bool_)
    data = np.empty(kernels.lengths(messages, part, ends, given), np.uint8)
    kernels.gather(messages, part, ends, data.ctypes.data)
    return pa.Array.from_buffers(
        pa.binary(), len(messages), [_bits(given), pa.py_buffer(ends), pa.py_buffer(data)]
    )


def _timestamps(messages: Int64s) -> pa.Array:
    times, given = np.empty(len(messages), np.int64), np.empty(len(messages), np.bool_)
    kernels.timestamps(messages, librdkafka.address("message_timestamp"), np.zeros(1, np.int64), times, given)
    return pa.Array.from_buffers(pa.int64(), len(messages), [_bits(given), pa.py_buffer(times)])


def _headers(messages: Int64s) -> pa.Array:
    """Few topics have headers, and few tables ask for them: texts are made one by one."""
    find, get = librdkafka.address("message_headers"), librdkafka.address("header_get_all")
    ends, given = np.zeros(len(messages) + 1, np.int32), np.empty(len(messages), np.bool_)
    words = np.zeros(4, np.int64)
    found = np.zeros((kernels.count_headers(messages, find, get, words, ends, given), 3), np.int64)
    kernels.header_places(messages, find, get, words, ends, found)
    names = [ctypes.string_at(name) for name, _, _ in found.tolist()]
    values = [ctypes.string_at(value, size) if value else None for _, value, size in found.tolist()]
    keys = pa.array(names, pa.binary()).cast(pa.string())
    made = pa.MapArray.from_arrays(pa.array(ends), keys, pa.array(values, pa.binary()))
    if given.all():
        return made
    buffers: list[Any] = [_bits(given), *made.buffers()[1:2]]
    entries = pa.StructArray.from_arrays(
        [made.keys, made.items], fields=[made.type.key_field, made.type.item_field]
    )
    return pa.Array.from_buffers(made.type, len(made), buffers, children=[entries])


def _bits(given: NDArray[np.bool_]) -> pa.Buffer | None:
    return None if given.all() else pa.py_buffer(np.packbits(given, bitorder="little"))
