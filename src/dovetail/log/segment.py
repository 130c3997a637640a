"""A segment: one Arrow IPC file with one record batch, its rows grouped by bucket. On a home that keeps
messages, it is one Arrow stream for each bucket (`bucket_messages.py`), and the same batch when it is read.

Law: a segment is immutable, and what is read back is byte for byte what was written: the whole file is
checked against the checksum in its commit, once per process. Reading maps the file and slices: it parses
nothing and copies nothing, but for payload that was compressed (`blocks.py`), which is unpacked block by
block.

The schema's metadata carries `dovetail.format`, `dovetail.version`, `dovetail.rows_per_bucket` (JSON) and,
where payload is compressed, `dovetail.dictionary`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.kernels.grouping import group_by_bucket
from dovetail.log import bucket_messages
from dovetail.log.blocks import COLUMN, Blocks, Packed, mapped_schema, payload_schema
from dovetail.log.commit import Packing, PlacedSegment, SegmentInfo
from dovetail.log.dictionary import Codec
from dovetail.log.document import checksum
from dovetail.log.homes.filesystem import Output, Write
from dovetail.log.schema import fit, seen
from dovetail.model.frequent_key import FrequentKey, most_frequent
from dovetail.model.sketch import EventTimeSketch
from dovetail.model.time_codes import FIRST_TIME

KIND, PLAIN, PACKED = b"dovetail.segment", b"1", b"2"
"""The format, and its version without and with compressed payload."""
_FILE = b"ARROW1"

MAX_ROWS = 1 << 18
MAX_BYTES = 64 << 20
"""Small enough that a writer fills the same memory again and again: fresh pages cost more than the work."""
FREQUENT_SHARE = 0.01
FREQUENT_KEYS = 8

BucketOf = Callable[[pa.RecordBatch], "npt.NDArray[np.integer[Any]]"]
TimeOf = Callable[[pa.RecordBatch], "npt.NDArray[np.int64] | None"]
HashOf = Callable[[pa.RecordBatch], "npt.NDArray[np.int64]"]
Pack = Callable[[pa.RecordBatch, "npt.NDArray[np.int64] | None"], Packed | None]
CodecOf = Callable[[str | None], Codec]


@dataclass(frozen=True)
class Segment:
    """An open segment. `mapped` has the columns that are in the file as they are: all of them, unless the
    payload is in `blocks`. `first_row` is the number of its first row in the category (0 while
    uncommitted)."""

    info: SegmentInfo
    mapped: pa.RecordBatch
    starts: npt.NDArray[np.int64]
    schema: pa.Schema
    blocks: Blocks | None = None

    @property
    def batch(self) -> pa.RecordBatch:
        """All rows in all columns. Payload in blocks is unpacked for each call."""
        if self.blocks is None:
            return self.mapped
        parts = self.mapped, self.blocks.all()
        columns = {
            name: column
            for part in parts
            for name, column in zip(part.schema.names, part.columns, strict=True)
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)

    @property
    def first_row(self) -> int:
        return self.info.first_row if isinstance(self.info, PlacedSegment) else 0

    def seen_as(self, schema: pa.Schema, where: str) -> Segment:
        """The same rows in other columns. Payload stays in its blocks."""
        if self.schema.equals(schema):
            return self
        payload = payload_schema(schema)
        blocks = self.blocks.seen_as(payload) if self.blocks is not None and payload.names else None
        kept = schema if blocks is None else mapped_schema(schema)
        return replace(self, mapped=seen(self.mapped, kept, where=where), schema=schema, blocks=blocks)

    def bucket_range(self, lo: int, hi: int) -> tuple[int, int]:
        """The rows of buckets `lo..hi-1`, as positions `start, stop` in `batch`."""
        return int(self.starts[lo]), int(self.starts[hi])


def chunks(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, max_rows: int, max_bytes: int, where: str
) -> Iterator[pa.RecordBatch]:
    """The same rows in `schema` as few large batches, each within both limits (but for one huge row)."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for piece in _pieces(batches, max_rows, max_bytes):
        if gathered and (rows + piece.num_rows > max_rows or size + piece.nbytes > max_bytes):
            yield _combine(gathered, schema, where)
            gathered, rows, size = [], 0, 0
        gathered.append(piece)
        rows += piece.num_rows
        size += piece.nbytes
    if gathered:
        yield _combine(gathered, schema, where)


def _pieces(batches: Iterable[pa.RecordBatch], max_rows: int, max_bytes: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows == 0:
            continue
        parts = max(-(-batch.num_rows // max_rows), min(batch.num_rows, -(-batch.nbytes // max_bytes)))
        step = -(-batch.num_rows // parts)
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)


def _combine(batches: list[pa.RecordBatch], schema: pa.Schema, where: str) -> pa.RecordBatch:
    table = fit(pa.Table.from_batches(batches), schema, where=where).combine_chunks()
    columns = [column.chunk(0) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def write_segment(
    write: Write,
    folder: str,
    batch: pa.RecordBatch,
    *,
    bucket: npt.NDArray[np.integer[Any]],
    buckets: int,
    times: npt.NDArray[np.int64] | None,
    hashes: npt.NDArray[np.int64] | None = None,
    pack: Pack = lambda batch, apart: None,
    generation: int = 0,
    message_bytes: int | None = None,
) -> SegmentInfo:
    """Write rows as one file, sorted by bucket; its checksum is taken of the bytes on their way out. `pack`
    is given the sorted rows, and may compress their payload. With `message_bytes` each bucket is written by
    itself, in pieces up to that size."""
    order, counts = group_by_bucket(bucket, buckets)
    if order is not None:
        batch = batch.take(pa.array(order))
    rows, rows_per_bucket = batch.num_rows, tuple(counts.tolist())
    metadata = {"dovetail.format": KIND.decode(), "dovetail.version": bucket_messages.VERSION.decode()}
    if message_bytes is None:
        shown = json.dumps(rows_per_bucket, separators=(",", ":"))
        metadata |= {"dovetail.version": PLAIN.decode(), "dovetail.rows_per_bucket": shown}
    packing = None
    apart = None if message_bytes is None else np.cumsum(counts)[counts > 0]
    if (packed := pack(batch, apart)) is not None:
        version = {"dovetail.version": PACKED.decode()} if message_bytes is None else {}
        metadata |= {**version, "dovetail.dictionary": packed.dictionary or ""}
        packing = Packing(packed.raw_bytes, sum(map(len, packed.frames)), packed.dictionary)
        schema = mapped_schema(batch.schema)
        columns = [batch.column(name) for name in schema.names]
        batch = pa.RecordBatch.from_arrays([*columns, packed.column()], schema=schema.append(COLUMN))
    # A name that nobody used before: a task that Spark runs twice writes two files, and one is committed.
    name, tally = f"{uuid.uuid4().hex}.arrow", _Tally()

    def fill(output: Output) -> None:
        tally.output = output
        if message_bytes is not None:
            ends = None if packed is None else packed.ends
            for message in bucket_messages.messages(batch, rows_per_bucket, metadata, ends, message_bytes):
                tally.write(message)
            return
        sink = pa.PythonFile(tally, mode="w")
        with pa.ipc.new_file(sink, batch.schema.with_metadata(metadata)) as writer:
            writer.write_batch(batch)

    write(f"{folder}/{name}", fill)
    sketch = EventTimeSketch.without_times(rows) if times is None else EventTimeSketch.of(times)
    often = () if hashes is None else _frequent(hashes, times, order)
    digest = tally.hash.hexdigest()
    return SegmentInfo(name, rows, tally.bytes, digest, rows_per_bucket, sketch, often, packing, generation)


def _frequent(
    hashes: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64] | None,
    order: npt.NDArray[np.int64] | None,
) -> tuple[FrequentKey, ...]:
    """Keys with a share of the rows that is worth a line in a commit; rows without a time do not count. The
    positions are those in the segment, after the rows were brought into `order`."""
    from dovetail.kernels.frequent import frequent  # Numba, which those who only read need not wait for

    usable = hashes if times is None or times.min(initial=0) >= FIRST_TIME else hashes[times >= FIRST_TIME]
    values, counts = frequent(usable)
    often = counts >= max(2, len(hashes) * FREQUENT_SHARE)
    if not often.any():
        return ()
    placed = hashes if order is None else hashes[order]
    found = [
        FrequentKey(int(value), int(count), int(np.argmax(placed == value)))
        for value, count in zip(values[often], counts[often], strict=True)
    ]
    return tuple(most_frequent(found, FREQUENT_KEYS))


class _Tally:
    """A file object that counts and hashes what passes through it."""

    closed = False

    def __init__(self) -> None:
        self.hash = xxhash.xxh3_64()
        self.bytes = 0
        self.output: Output | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.hash.update(view)
        self.bytes += view.nbytes
        assert self.output is not None
        self.output.write(data)
        return view.nbytes

    def tell(self) -> int:
        return self.bytes

    def flush(self) -> None:
        """The store flushes and syncs when the file is whole."""

    def close(self) -> None:
        """The store closes its file itself."""


def read_segment(
    pieces: Sequence[pa.Buffer],
    info: SegmentInfo,
    schema: pa.Schema,
    *,
    codec_of: CodecOf,
    where: str,
    verified: bool,
) -> Segment:
    """The segment in a file's bytes, checked against what its commit says of it and the schema of its
    generation. `verified`: this process has seen its checksum match before, of the same file. `codec_of` is
    asked for a dictionary when a block is first unpacked."""
    # Size and checksum before anything is parsed: Arrow trusts the offsets in a file, and a wrong one reads
    # memory that is not the file's. A segment never changes, so one look per process is enough. The size is
    # looked at each time: a mapped file that was cut short ends the process at the first page that is gone.
    size = sum(piece.size for piece in pieces)
    if size != info.bytes or not (verified or checksum(*pieces) == info.checksum):
        raise _corrupt("the file is corrupt: its bytes are not those that were written", where, info)
    joined, reader = None, cast(Any, None)
    try:
        if len(pieces) == 1 and pieces[0][: len(_FILE)].to_pybytes() == _FILE:
            reader = pa.ipc.open_file(pieces[0])
            metadata = reader.schema.metadata or {}
        else:
            joined = bucket_messages.joined(pieces, len(info.rows_per_bucket))
            metadata = joined.metadata
    except (pa.ArrowException, OSError, ValueError, StopIteration) as error:
        raise _corrupt(f"the file is not an Arrow file: {error}", where, info) from error
    if metadata.get(b"dovetail.format") != KIND:
        raise _corrupt("the file is an Arrow file, but not a segment", where, info)
    known = (PLAIN, PACKED) if joined is None else (bucket_messages.VERSION,)
    if (version := metadata.get(b"dovetail.version", b"?")) not in known:
        raise UnknownVersion(
            f"the segment has format version {version.decode(errors='replace')}",
            where=where,
            expected=f"version {PLAIN.decode()}, {PACKED.decode()} or {bucket_messages.VERSION.decode()}",
            hint="read this home with the release of Dovetail that wrote it, or a newer one",
        )
    try:
        if joined is not None:
            batch, counts, single = joined.batch, joined.rows_per_bucket, True
        else:
            counts = tuple(json.loads(metadata[b"dovetail.rows_per_bucket"]))
            batch = reader.get_batch(0).replace_schema_metadata(None)
            single = reader.num_record_batches == 1
        batch.validate()  # not `full`: that would read every row, and the checksum has vouched for them
    except (pa.ArrowException, OSError, TypeError, ValueError, KeyError, IndexError) as error:
        raise _corrupt(f"the segment cannot be read: {error}", where, info) from error
    packed = version == PACKED if joined is None else b"dovetail.dictionary" in metadata
    if not batch.schema.equals(mapped_schema(schema).append(COLUMN) if packed else schema):
        raise _corrupt("the segment has another schema than its category in this generation", where, info)
    if not single or counts != info.rows_per_bucket or batch.num_rows != info.rows:
        raise _corrupt("the segment holds other rows than its commit says", where, info)
    starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    named = metadata.get(b"dovetail.dictionary", b"").decode(errors="replace") or None
    if packed != (info.packing is not None) or (info.packing and named != info.packing.dictionary):
        raise _corrupt("the segment is not compressed as its commit says", where, info)
    if not packed:
        return Segment(info, batch, starts, schema)
    blocks = Blocks(info.name, batch.column(-1), payload_schema(schema), lambda: codec_of(named), where)
    mapped = batch.select(range(batch.num_columns - 1))
    return Segment(info, mapped, starts, schema, blocks)


def _corrupt(what: str, where: str, info: SegmentInfo) -> CorruptFile:
    return CorruptFile(
        what,
        where=where,
        expected=f"{info.rows} rows, {info.bytes} bytes, checksum {info.checksum}",
        hint="restore the file from a copy; without it readers can only start after its commit",
    )
