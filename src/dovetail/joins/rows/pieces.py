"""Law: what is gathered from a column in many pieces is what Arrow's `take` gives for the pieces laid end to
end.

Columns of one width and texts are gathered by our kernels; other types (booleans, nested ones) by Arrow,
piece by piece, and put in order afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.kernels import gather

Int64s = NDArray[np.int64]


class Places(NamedTuple):
    """Elements of a column in pieces: the number of the piece (-1: there is no element), the position in it,
    and which pieces that are."""

    piece: NDArray[np.int32]
    at: Int64s
    touched: Int64s

    def slice(self, start: int, length: int) -> Places:
        return Places(self.piece[start : start + length], self.at[start : start + length], self.touched)


class PiecedColumn:
    """A column whose pieces become known one by one."""

    def __init__(self, kind: pa.DataType, pieces: int = 0) -> None:
        self.kind = kind
        self._arrays: list[pa.Array | None] = [None] * pieces
        self._validity, self._first, self._second = np.zeros((3, pieces), np.int64)  # addresses of buffers
        self._width = kind.byte_width if _fixed_width(kind) else 0
        self._text = pa.types.is_string(kind) or pa.types.is_binary(kind)
        self._nulls = False

    def knows(self, piece: int) -> bool:
        return piece < len(self._arrays) and self._arrays[piece] is not None

    def learn(self, piece: int, array: pa.Array) -> None:
        if piece >= len(self._arrays):
            self._make_room(2 * int(piece) + 8)
        self._arrays[piece] = array
        if array.offset:  # not as it was written: Arrow knows how to read it
            self._width, self._text = 0, False
        buffers = array.buffers()
        addresses = [buffer.address if buffer else 0 for buffer in buffers]
        if array.null_count:
            self._validity[piece] = addresses[0]
            self._nulls = True
        if self._width or self._text:
            self._first[piece] = addresses[1]
            self._second[piece] = addresses[2] if self._text else 0

    def _make_room(self, pieces: int) -> None:
        more = pieces - len(self._arrays)
        self._arrays += [None] * more
        addresses = np.stack([self._validity, self._first, self._second])
        self._validity, self._first, self._second = np.pad(addresses, ((0, 0), (0, more)))

    def take(self, places: Places) -> pa.Array:
        """The elements at these places, whose pieces are all known; null where there is none."""
        if self._width:
            data = [self._fixed(places)]
        elif self._text:
            data = self._texts(places)
        else:
            return self._by_arrow(places)
        nulls, valid = self._valid(places)
        return pa.Array.from_buffers(self.kind, len(places.at), [valid, *data], null_count=nulls)

    def _fixed(self, places: Places) -> pa.Buffer:
        piece, at, width = places.piece, places.at, self._width
        if width > 8:  # as several elements of eight bytes
            parts = width // 8
            piece = np.repeat(piece, parts)
            at = (at[:, np.newaxis] * parts + np.arange(parts)).ravel()
            width = 8
        buffer = pa.allocate_buffer(len(at) * width)
        gather.fixed(self._first, piece, at, np.frombuffer(buffer, f"u{width}"))
        return buffer

    def _texts(self, places: Places) -> list[pa.Buffer]:
        piece, at = places.piece, places.at
        ends = np.empty(len(at), np.int64)
        gather.text_ends(self._first, piece, at, ends)
        total = int(ends[-1]) if len(ends) else 0
        if total > np.iinfo(np.int32).max:
            raise pa.ArrowInvalid(f"{total} bytes of text in {len(at)} rows: more than one Arrow array holds")
        offsets, data = pa.allocate_buffer((len(at) + 1) * 4), pa.allocate_buffer(total)
        view = np.frombuffer(offsets, np.int32)
        view[0] = 0
        view[1:] = ends
        gather.texts(self._first, self._second, piece, at, ends, data.address)
        return [offsets, data]

    def _valid(self, places: Places) -> tuple[int, pa.Buffer | None]:
        if not self._nulls and (len(places.piece) == 0 or places.piece.min() >= 0):
            return 0, None
        bits = np.zeros(-(-len(places.at) // 8), np.uint8)
        nulls = gather.validity(self._validity, places.piece, places.at, bits)
        return nulls, pa.py_buffer(bits)

    def _by_arrow(self, places: Places) -> pa.Array:
        order = np.argsort(places.piece, kind="stable")
        edges = np.searchsorted(places.piece[order], np.arange(len(self._arrays) + 1))
        taken = [
            self._arrays[piece].take(pa.array(places.at[order[edges[piece] : edges[piece + 1]]]))
            for piece in places.touched
        ]
        if not taken:
            return pa.nulls(len(order), self.kind)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order)) - edges[0]
        return pa.concat_arrays(taken).take(pa.array(back, mask=places.piece < 0))


def _fixed_width(kind: pa.DataType) -> bool:
    return (
        pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind)
    ) and kind.bit_width in (8, 16, 32, 64, 128)
