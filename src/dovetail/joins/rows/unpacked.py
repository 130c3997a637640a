"""Payload of rows in compressed blocks, a batch of rows at a time.

Law: each block with at least one of the rows is unpacked once, and no other block is.

The blocks are laid end to end first. That copies them, which is still far cheaper than finding the columns of
each block from Python. A segment whose payload is mapped is read in place.

    piece 0    all unpacked blocks, end to end
    piece 1..  segments without compression, as they are mapped
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from dovetail.joins.rows.pieces import Int64s, PiecedColumn, Places
from dovetail.log.segment import Segment


class Unpacked:
    """`segments` are those that `places` may touch, by their number."""

    def __init__(self, segments: dict[int, Segment], schema: pa.Schema, places: Places) -> None:
        self._schema = schema
        # Which block each row is in: touched segments laid end to end, and their blocks numbered through.
        there = places.piece >= 0
        numbers, rank = np.unique(places.piece[there], return_inverse=True)
        touched = [segments[number] for number in numbers.tolist()]
        starts = [_starts(segment) for segment in touched]
        edges, first = _numbered_through(starts, [segment.info.rows for segment in touched])
        position = first[rank] + places.at[there]
        used, nth = np.unique(np.searchsorted(edges, position, side="right") - 1, return_inverse=True)
        owner = np.searchsorted(first, edges[used], side="right") - 1
        packed = np.array([segment.blocks is not None for segment in touched], np.bool_)[owner]
        # Where each used block will be: its piece, and its first row there.
        lengths = np.where(packed, np.append(edges[1:], first[-1])[used] - edges[used], 0)
        laid_at = np.where(packed, np.cumsum(lengths) - lengths, 0)
        piece, at = np.full(len(there), -1, np.int32), np.zeros(len(there), np.int64)
        piece[there] = np.where(packed, 0, np.cumsum(~packed))[nth]
        at[there] = (laid_at - edges[used])[nth] + position
        self._places = Places(piece, at, np.unique(piece[there]).astype(np.int64))
        within = used - np.searchsorted(edges, first[owner])
        self._blocks = [
            (touched[segment], number)
            for segment, number in zip(owner[packed].tolist(), within[packed].tolist(), strict=True)
        ]
        self._mapped = [touched[segment].mapped for segment in owner[~packed].tolist()]

    def __len__(self) -> int:
        """How many compressed blocks the rows are in."""
        return len(self._blocks)

    @cached_property
    def _pieces(self) -> list[pa.RecordBatch | None]:
        unpacked = [segment.blocks.block(number) for segment, number in self._blocks if segment.blocks]
        return [pa.concat_batches(unpacked) if unpacked else None, *self._mapped]

    def take(self, name: str) -> pa.Array:
        """A column's values; null where there is no row."""
        column = PiecedColumn(self._schema.field(name).type, len(self._pieces))
        for number, batch in enumerate(self._pieces):
            if batch is not None:
                column.learn(number, batch.column(name))
        return column.take(self._places)


def _starts(segment: Segment) -> Int64s:
    return np.zeros(1, np.int64) if segment.blocks is None else segment.blocks.starts


def _numbered_through(starts: list[Int64s], rows: list[int]) -> tuple[Int64s, Int64s]:
    """The first row of every block, if all segments are laid end to end; and where each segment begins."""
    first = np.cumsum([0, *rows], dtype=np.int64)
    edges = [start + begin for start, begin in zip(starts, first[:-1], strict=True)]
    return np.concatenate(edges) if edges else np.empty(0, np.int64), first
