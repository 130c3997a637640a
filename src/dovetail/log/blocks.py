"""Payload in blocks: runs of rows, each an Arrow record batch that is compressed by itself.

    rows      0 ......... 43 | 44 ......... 90 | 91 ..      a run ends where 16 KiB of payload are full
    _hash, _time, _key_i     mapped as they are: what a join needs of rows that do not come out
    payload   [zstd frame]   [zstd frame]   [zstd frame]    what is gathered for rows that do

Law: the blocks laid end to end are the payload; and to read one row, one block is unpacked and no other.

Why blocks of this size: gathering a single row unpacks 16 KiB, about 20 µs. Blocks so small have little to
refer back to, which is what the dictionary makes up for. Why record batches and not rows: rows compress a
tenth better, but a record batch is read in place, by the same kernels as a mapped segment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.errors import CorruptFile
from dovetail.log.cache import BLOCKS
from dovetail.log.dictionary import Codec, CodecError
from dovetail.log.schema import seen

BLOCK_BYTES = 16 << 10
COLUMN = pa.field("_payload", pa.run_end_encoded(pa.int32(), pa.large_binary()), nullable=False)
"""A segment's last column, where its payload is compressed: for each row the block that holds it."""

_MAPPED = re.compile(r"_hash|_time|_(key|on)_\d+")

Int64s = NDArray[np.int64]


class Packed(NamedTuple):
    """Blocks on their way into a segment; `ends` are the rows where they end."""

    ends: Int64s
    frames: list[bytes]
    raw_bytes: int
    dictionary: str | None

    def column(self) -> pa.Array:
        ends = pa.array(self.ends.astype(np.int32))
        return pa.RunEndEncodedArray.from_arrays(ends, pa.array(self.frames, pa.large_binary()))


def is_mapped(name: str) -> bool:
    """Whether a column stays uncompressed."""
    return _MAPPED.fullmatch(name) is not None


def payload_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if not is_mapped(field.name)])


def mapped_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if is_mapped(field.name)])


def cut(payload: pa.RecordBatch) -> Int64s:
    """The rows where blocks end: each has about BLOCK_BYTES, or one huge row."""
    widths = np.zeros(payload.num_rows)
    for column in payload.columns:
        widths += _widths(column)
    block = (np.cumsum(widths) - widths) // BLOCK_BYTES  # by where a row begins
    return np.append(np.flatnonzero(np.diff(block)) + 1, payload.num_rows)


def serialized(payload: pa.RecordBatch, ends: Int64s) -> Iterator[pa.Buffer]:
    start = 0
    for end in ends.tolist():
        yield payload.slice(start, end - start).serialize()
        start = end


class Blocks:
    """The compressed payload of an open segment. `codec` finds the dictionary when it is first needed."""

    def __init__(
        self,
        name: str,
        packed: pa.RunEndEncodedArray,
        schema: pa.Schema,
        codec: Callable[[], Codec],
        where: str,
    ) -> None:
        self.schema = self._stored = schema
        self._name = name
        self._ends: Int64s = packed.run_ends.to_numpy().astype(np.int64)
        self._frames = packed.values
        self._codec = codec
        self._where = where
        sound = len(self._ends) == len(self._frames) and bool((np.diff(self._ends, prepend=0) > 0).all())
        if not sound or self._frames.null_count or len(packed) != (self._ends[-1] if len(self._ends) else 0):
            raise self._corrupt("the runs do not add up")

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def starts(self) -> Int64s:
        """The first row of every block."""
        return np.concatenate(([0], self._ends[:-1]))

    def seen_as(self, schema: pa.Schema) -> Blocks:
        """The same payload in other columns."""
        other = copy(self)
        other.schema = schema
        return other

    def block(self, number: int) -> pa.RecordBatch:
        """One block unpacked; those used last are kept."""
        return self._seen(self._block(number))

    def _seen(self, stored: pa.RecordBatch) -> pa.RecordBatch:
        return stored if self.schema is self._stored else seen(stored, self.schema, where=self._where)

    def _block(self, number: int) -> pa.RecordBatch:
        key = self._name, number
        found = BLOCKS.get(key)
        if found is None:
            found, size = self._unpack(number)
            BLOCKS.put(key, found, size)
        return found

    def all(self) -> pa.RecordBatch:
        """All rows, unpacked for this once."""
        return self._seen(pa.concat_batches([self._unpack(number)[0] for number in range(len(self))]))

    def _unpack(self, number: int) -> tuple[pa.RecordBatch, int]:
        """A block, and the bytes of memory it takes."""
        codec = self._codec()
        try:
            data = codec.decompress(self._frames[number].as_buffer())
            batch = pa.ipc.read_record_batch(pa.py_buffer(data), self._stored)
            batch.validate()
        except (CodecError, pa.ArrowException, OSError) as error:
            raise self._corrupt(f"block {number} cannot be unpacked: {error}") from error
        start = self._ends[number - 1] if number else 0
        if batch.num_rows != self._ends[number] - start:
            raise self._corrupt(f"block {number} holds {batch.num_rows} rows")
        return batch, len(data)

    def _corrupt(self, what: str) -> CorruptFile:
        return CorruptFile(
            f"the compressed payload of a segment cannot be read: {what}",
            where=self._where,
            expected=f"{len(self)} blocks up to row {self._ends[-1] if len(self._ends) else 0}",
            hint="restore the file from a copy; without it readers can only start after its commit",
        )


def _widths(column: pa.Array) -> Any:
    """Bytes of each value: exactly for texts, where rows differ most, and on average otherwise."""
    if (pa.types.is_string(column.type) or pa.types.is_binary(column.type)) and column.buffers()[1]:
        offsets = np.frombuffer(column.buffers()[1], np.int32)
        return np.diff(offsets[column.offset : column.offset + len(column) + 1])
    return column.nbytes / max(1, len(column))
