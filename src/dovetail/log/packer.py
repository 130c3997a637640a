"""Whether a segment's payload is compressed, and with which dictionary: decided by its writer, segment by
segment.

    1. width     narrow rows stay as they are: mapping them is worth more than what they would shrink
    2. trial     some blocks are compressed: below MIN_RATIO the segment stays plain
    3. train     if there is no dictionary yet and enough rows are known, here or in the last commits
    4. retrain   if the last segments shrank clearly less than the dictionary promised when it was new

A category made with `compression = "zstd"` skips 1 and 2, one with "none" everything.

Law: the decision changes sizes and never rows. So a file that cannot be read here is ignored, and writers in
several processes may decide differently: they look at the same commits, and the newest dictionary wins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.errors import DovetailError
from dovetail.log import dictionary as dictionaries
from dovetail.log.blocks import Int64s, Packed, cut, payload_schema, serialized
from dovetail.log.commit import Packing, SegmentInfo
from dovetail.log.dictionary import PLAIN, Codec, Dictionary, train

if TYPE_CHECKING:
    from dovetail.log.category import Category

WIDE_BYTES = 128
"""Payload of a row that is worth compressing."""
MIN_RATIO = 1.5
DRIFT = 0.8
"""A dictionary is old when the last segments reach less than this part of the ratio it had when new."""
DRIFT_SEGMENTS = 4
RECENT_COMMITS, SAMPLED_COMMITS = 16, 256
"""How far back a dictionary is looked for; and rows to train one on."""
TRIAL_BLOCKS = 16
MIN_SAMPLE_BYTES, MAX_SAMPLE_BYTES = 256 << 10, 2 << 20
DICTIONARY_BYTES = 64 << 10


class _Block(NamedTuple):
    """`recent`: from one of the segments that drift is measured by. Older ones may be larger."""

    data: bytes
    raw_bytes: int
    recent: bool = True


class Packer:
    """Packs the segments of one writer. Commits are looked at when the first wide row comes."""

    def __init__(self, category: Category) -> None:
        self._category = category
        self._payload = payload_schema(category.schema).names
        self._looked = False
        self._dictionary: Dictionary | None = None
        self._packings: deque[Packing] = deque(maxlen=DRIFT_SEGMENTS)  # of this dictionary

    def pack(self, batch: pa.RecordBatch, apart: Int64s | None = None) -> Packed | None:
        """The payload of a segment in compressed blocks; None to leave it as it is. `apart`: rows at which a
        block has to end."""
        chosen = self._category.definition.compression
        if chosen == "none" or not self._payload:
            return None
        payload = batch.select(self._payload)
        if chosen == "auto" and payload.nbytes < WIDE_BYTES * payload.num_rows:
            return None
        self._look()
        ends = cut(payload) if apart is None else np.union1d(cut(payload), apart)
        outdated = self._dictionary is None or self._drifted()
        trained = outdated and self._train(payload, ends, always=chosen == "zstd")
        codec = self._dictionary.codec if self._dictionary else PLAIN
        if chosen == "auto" and not trained and _ratio(_some(payload, ends, TRIAL_BLOCKS), codec) < MIN_RATIO:
            return None
        frames = [codec.compress(block) for block in serialized(payload, ends)]
        named = self._dictionary.id if self._dictionary else None
        self._packings.append(Packing(payload.nbytes, sum(map(len, frames)), named))
        return Packed(ends, frames, payload.nbytes, named)

    def _look(self) -> None:
        """The last segments, and the dictionary that the newest compressed one names."""
        if self._looked:
            return
        self._looked = True
        named = [
            info.packing
            for info in self._last_segments(RECENT_COMMITS)
            if info.packing and info.packing.dictionary
        ]
        if named and named[0].dictionary:
            with suppress(DovetailError):
                self._dictionary = dictionaries.read(self._category, named[0].dictionary)
                same = [packing for packing in named if packing.dictionary == self._dictionary.id]
                self._packings.extend(reversed(same[:DRIFT_SEGMENTS]))

    def _last_segments(self, commits: int) -> list[SegmentInfo]:
        """The newest first."""
        category = self._category
        try:
            end = category.next_commit()
            last = category.commits(max(category.first_commit(), end - commits), end)
        except DovetailError:
            return []
        return [info for commit in reversed(last) for info in reversed(commit.segments)]

    def _drifted(self) -> bool:
        """The last segments together fall short of what the dictionary promised."""
        if self._dictionary is None or len(self._packings) < DRIFT_SEGMENTS:
            return False
        raw = sum(packing.raw_bytes for packing in self._packings)
        stored = sum(packing.stored_bytes for packing in self._packings)
        return raw < DRIFT * self._dictionary.ratio * stored

    def _train(self, payload: pa.RecordBatch, ends: Int64s, *, always: bool) -> bool:
        """Train on every other block, and take the others to see what the dictionary is worth."""
        older = self._last_segments(SAMPLED_COMMITS) if payload.nbytes < MAX_SAMPLE_BYTES else []
        if payload.nbytes + sum(map(_raw_bytes, older)) < MIN_SAMPLE_BYTES:
            return False
        blocks = list(_upto(self._sample(payload, ends, older), MAX_SAMPLE_BYTES))
        size = sum(block.raw_bytes for block in blocks)
        if size < MIN_SAMPLE_BYTES or not (always or _ratio(blocks[:TRIAL_BLOCKS], PLAIN) >= MIN_RATIO):
            return False
        content = train([block.data for block in blocks[::2]], min(DICTIONARY_BYTES, size // 16))
        if content is None:
            return False
        ratio = _ratio((block for block in blocks[1::2] if block.recent), Codec(content))
        self._dictionary = Dictionary(content, ratio)
        dictionaries.write(self._category, self._dictionary)
        self._packings.clear()
        return True

    def _sample(self, payload: pa.RecordBatch, ends: Int64s, older: list[SegmentInfo]) -> Iterator[_Block]:
        """Blocks of this segment, then of older ones, as they are or would have been cut."""
        yield from _some(payload, ends, max(1, MAX_SAMPLE_BYTES * len(ends) // max(1, payload.nbytes)))
        for number, info in enumerate(older):
            try:
                rows = self._category.open_segment(info).batch.select(self._payload)
            except DovetailError:
                return
            for block in _some(rows, cut(rows), rows.num_rows):
                yield block._replace(recent=number < DRIFT_SEGMENTS)


def _raw_bytes(info: SegmentInfo) -> int:
    return info.packing.raw_bytes if info.packing else info.bytes


def _some(payload: pa.RecordBatch, ends: Int64s, count: int) -> Iterator[_Block]:
    """Up to `count` blocks, spread evenly."""
    starts = np.append(0, ends[:-1])
    for number in np.unique(np.linspace(0, len(ends) - 1, min(count, len(ends))).astype(np.int64)):
        rows = payload.slice(starts[number], ends[number] - starts[number])
        yield _Block(rows.serialize().to_pybytes(), rows.nbytes)


def _upto(blocks: Iterable[_Block], size: int) -> Iterator[_Block]:
    for block in blocks:
        if size <= 0:
            return
        size -= block.raw_bytes
        yield block


def _ratio(blocks: Iterable[_Block], codec: Codec) -> float:
    raw = stored = 0
    for block in blocks:
        raw += block.raw_bytes
        stored += len(codec.compress(block.data))
    return raw / max(1, stored)
