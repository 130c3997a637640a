"""A segment as messages: each one Arrow batch of one bucket, for a home that keeps messages and not files.

    bucket 0 ── bucket 1 ── bucket 1 ── bucket 5      ascending; a bucket without rows has no message, one
                                                      with many has several

Law: the messages laid end to end are the segment's bytes, and its rows are those of the messages in their
order, as one batch. A message is an Arrow stream that any Arrow library reads by itself. The metadata of its
schema carries `dovetail.format`, `dovetail.version` (3), `dovetail.bucket` and, where payload is compressed,
`dovetail.dictionary`.

Compressed payload is in blocks of rows (`blocks.py`). A block belongs to one bucket here, so that a message
needs no other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.log.blocks import Int64s

VERSION = b"3"
BUCKET = b"dovetail.bucket"


class WholeSegment(NamedTuple):
    """A segment's rows, put together again."""

    batch: pa.RecordBatch
    rows_per_bucket: tuple[int, ...]
    metadata: Mapping[bytes, bytes]


def messages(
    batch: pa.RecordBatch,
    rows_per_bucket: tuple[int, ...],
    metadata: Mapping[str, str],
    block_ends: Int64s | None,
    most_bytes: int,
) -> Iterator[pa.Buffer]:
    """The messages of a segment whose rows are grouped by bucket. `block_ends`: the rows where blocks end, if
    the payload is in blocks; a message then ends with one. A row, or a block, that is larger than
    `most_bytes` is a message all the same."""
    at = 0
    for bucket, rows in enumerate(rows_per_bucket):
        if rows:
            schema = batch.schema.with_metadata({**metadata, "dovetail.bucket": str(bucket)})
            ends = None
            if block_ends is not None:
                ends = block_ends[(block_ends > at) & (block_ends <= at + rows)] - at
            yield from _cut(batch.slice(at, rows), schema, ends, most_bytes)
        at += rows


def _cut(
    rows: pa.RecordBatch, schema: pa.Schema, ends: Int64s | None, most_bytes: int
) -> Iterator[pa.Buffer]:
    """Rows of one bucket, halved until each message is small enough, or can be halved no more."""
    message = _stream(rows, schema)
    if message.size <= most_bytes:
        yield message
        return
    places = np.arange(1, rows.num_rows + 1) if ends is None else ends
    if len(places) == 1:
        yield message  # the home splits it
        return
    half = len(places) // 2
    at = int(places[half - 1])
    yield from _cut(rows.slice(0, at), schema, None if ends is None else ends[:half], most_bytes)
    yield from _cut(rows.slice(at), schema, None if ends is None else ends[half:] - at, most_bytes)


def _stream(rows: pa.RecordBatch, schema: pa.Schema) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(rows.replace_schema_metadata(schema.metadata))
    return sink.getvalue()


def bucket_of(message: pa.Buffer) -> str:
    """The bucket of a message; empty if Dovetail did not write it."""
    try:
        metadata = pa.ipc.read_schema(message).metadata or {}
    except (pa.ArrowException, OSError):
        return ""
    return str(metadata.get(BUCKET, b"").decode(errors="replace"))


def joined(pieces: Sequence[pa.Buffer], buckets: int) -> WholeSegment:
    """The rows of messages, each a piece by itself or several of them laid end to end in one. Raises
    ValueError or Arrow's errors if they are none."""
    counts = [0] * buckets
    batches: list[pa.RecordBatch] = []
    metadata: Mapping[bytes, bytes] = {}
    last = 0
    for stream in _streams(pieces):
        said = dict(stream.schema.metadata or {})
        bucket = int(said.pop(BUCKET, b"-1"))
        if not last <= bucket < buckets or (batches and said != metadata):
            raise ValueError(f"a message of bucket {bucket} is not in its place")
        metadata, last = said, bucket
        batches.append(stream.read_next_batch().replace_schema_metadata(None))
        if next(iter(stream), None) is not None:
            raise ValueError("a message has more than one batch")
        counts[bucket] += batches[-1].num_rows
    if not batches:
        raise ValueError("there is no message")
    return WholeSegment(_as_one(batches), tuple(counts), metadata)


def _streams(pieces: Sequence[pa.Buffer]) -> Iterator[pa.RecordBatchStreamReader]:
    for piece in pieces:
        source = pa.BufferReader(piece)
        while source.tell() < piece.size:
            yield pa.ipc.open_stream(source)


def _as_one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    schema = batches[0].schema
    columns = [
        _runs([batch.column(number) for batch in batches])
        if pa.types.is_run_end_encoded(schema.field(number).type)
        else pa.concat_arrays([batch.column(number) for batch in batches])
        for number in range(len(schema))
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _runs(arrays: list[pa.Array]) -> pa.Array:
    starts = np.cumsum([0, *(len(array) for array in arrays)])
    ends = [
        array.run_ends.to_numpy().astype(np.int64) + start
        for array, (start, _) in zip(arrays, pairwise(starts), strict=True)
    ]
    return pa.RunEndEncodedArray.from_arrays(
        pa.array(np.concatenate(ends).astype(np.int32)), pa.concat_arrays([array.values for array in arrays])
    )
