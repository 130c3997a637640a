"""Law: payload is read only for rows that come out, from their segments, one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.errors import StateError
from dovetail.joins.rows.arrivals import buckets_of
from dovetail.joins.rows.pieces import Column, Int64s, Places
from dovetail.joins.rows.unpacked import Unpacked
from dovetail.kernels.gather import locate
from dovetail.log.blocks import BLOCK_BYTES, is_mapped
from dovetail.log.category import Category
from dovetail.log.segment import Segment


class Rows:
    """Rows of a category by number, out of commits `start` to `stop - 1`. Segments are opened when a row of
    theirs is wanted."""

    def __init__(self, category: Category, start: int, stop: int) -> None:
        self._category = category
        self._range = start, stop
        self._segments = [info for commit in category.commits(start, stop) for info in commit.segments]
        self._starts = np.array([info.first_row for info in self._segments], np.int64)
        self.first = self._segments[0].first_row if self._segments else 0
        self._end = self._segments[-1].first_row + self._segments[-1].rows if self._segments else 0
        self._columns: dict[str, Column] = {}
        self._opened: dict[int, Segment] = {}
        self.packed = any(info.packing for info in self._segments)

    @property
    def row_bytes(self) -> float:
        """Bytes of an average row, uncompressed."""
        rows = sum(info.rows for info in self._segments)
        saved = sum(
            info.packing.raw_bytes - info.packing.stored_bytes for info in self._segments if info.packing
        )
        return (sum(info.bytes for info in self._segments) + saved) / max(1, rows)

    def places(self, rows: Int64s) -> Places:
        """Where the rows are; a negative number is no row. Row numbers come from files, so they are checked:
        the kernels would follow one that the log does not have to any address."""
        piece, at = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
        touched = np.zeros(len(self._starts), np.bool_)
        unknown = locate(self._starts, self._end, np.ascontiguousarray(rows), piece, at, touched)
        if unknown >= 0:
            raise StateError(
                f"the state of the join names row {rows[unknown]}, which the log does not have",
                where=self._category.where,
                expected=f"rows {self.first} to {self._end - 1}",
                hint="restore log and state from the same copy of the home, or start in a new home",
            )
        return Places(piece, at, np.flatnonzero(touched))

    def buckets(self, rows: Int64s) -> Int64s:
        return buckets_of(self._category, *self._range, rows)

    def take(self, name: str, places: Places) -> pa.Array:
        """A mapped column's values at places; null where there is no row."""
        column = self._columns.get(name)
        if column is None:
            column = Column(self._category.schema.field(name).type, len(self._segments))
            self._columns[name] = column
        for segment in places.touched:
            if not column.knows(segment):
                column.learn(segment, self._open(segment).mapped.column(name))
        return column.take(places)

    def at(self, places: Places) -> Batch:
        """The rows at these places, to take any columns of."""
        if not self.packed:
            return Batch(self, places, None)
        opened = {int(segment): self._open(segment) for segment in places.touched}
        return Batch(self, places, Unpacked(opened, self._category.schema, places))

    def _open(self, number: int) -> Segment:
        if (opened := self._opened.get(number)) is None:
            opened = self._opened[number] = self._category.open_segment(self._segments[number])
        return opened


@dataclass(frozen=True)
class Batch:
    """Rows that come out together: mapped columns are read in place, the others from unpacked blocks."""

    rows: Rows
    places: Places
    unpacked: Unpacked | None

    def __len__(self) -> int:
        return len(self.places.at)

    @property
    def unpacked_bytes(self) -> int:
        """Memory that their blocks take, about."""
        return 0 if self.unpacked is None else len(self.unpacked) * BLOCK_BYTES

    def take(self, name: str) -> pa.Array:
        if self.unpacked is None or is_mapped(name):
            return self.rows.take(name, self.places)
        return self.unpacked.take(name)


def same_keys(
    left: Rows, right: Rows, keys: tuple[str, ...], left_rows: Int64s, right_rows: Int64s
) -> NDArray[np.bool_]:
    """Whether all key columns are equal, pair by pair. Keys of buffered rows are never null."""
    at_left, at_right = left.places(left_rows), right.places(right_rows)
    equal = np.ones(len(left_rows), np.bool_)
    for key in keys:
        equal &= equal_values(left.take(key, at_left), right.take(key, at_right))
    return equal


def key_hashes(left: Rows, right: Rows, side: str, rows: Int64s) -> Int64s:
    """The full hash of the keys of rows of one side: good enough to count rows by key."""
    of = left if side == "left" else right
    hashes: Int64s = of.take("_hash", of.places(rows)).to_numpy(zero_copy_only=False)
    return hashes


def key_numbers(
    left: Rows, right: Rows, keys: tuple[str, ...], left_rows: Int64s, right_rows: Int64s
) -> Int64s:
    """A number for each row, the left ones before the right ones: equal where the keys are."""
    at = left.places(left_rows), right.places(right_rows)

    def both(name: str) -> pa.Array:
        return pa.concat_arrays([left.take(name, at[0]), right.take(name, at[1])])

    return equal_numbers(both("_hash").to_numpy(), [both(key) for key in keys])


def equal_numbers(hashes: Int64s, columns: Sequence[pa.Array]) -> Int64s:
    """A number for each row: equal where all columns are. `hashes` are equal where the columns are."""
    _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
    while True:
        chosen, others = pa.array(first[number]), np.zeros(len(number), np.bool_)
        for column in columns:
            others |= ~equal_values(column, column.take(chosen))
        if not others.any():
            return number
        # Another key has the same hash: those that are not the first row's get a number of their own.
        _, next_first, next_number = np.unique(number[others], return_index=True, return_inverse=True)
        number[others] = len(first) + next_number
        first = np.append(first, np.flatnonzero(others)[next_first])


def equal_values(first: pa.Array, second: pa.Array) -> NDArray[np.bool_]:
    """Equality as a join has it: NaN equals NaN, -0.0 equals 0.0; inside nested values null equals null."""
    kind = first.type
    if pa.types.is_struct(kind):
        same = np.ones(len(first), np.bool_)
        for number in range(kind.num_fields):
            same &= equal_values(first.field(number), second.field(number))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        same = _equal_lists(first, second)
    else:
        equal = pc.equal(first, second)
        if pa.types.is_floating(kind):
            equal = pc.or_(equal, pc.and_(pc.is_nan(first), pc.is_nan(second)))
        same = equal.fill_null(False).to_numpy(zero_copy_only=False)
    present, there = (array.is_valid().to_numpy(zero_copy_only=False) for array in (first, second))
    verdict: NDArray[np.bool_] = np.where(present & there, same, present == there)
    return verdict


def _equal_lists(first: pa.Array, second: pa.Array) -> NDArray[np.bool_]:
    """Lists of one length are laid end to end, compared element by element, and folded back."""
    lengths = [pc.list_value_length(array).fill_null(0).to_numpy() for array in (first, second)]
    same: NDArray[np.bool_] = lengths[0] == lengths[1]
    rows = np.flatnonzero(same & (lengths[0] > 0))
    if len(rows):
        elements = equal_values(first.take(pa.array(rows)).flatten(), second.take(pa.array(rows)).flatten())
        ends = np.cumsum(lengths[0][rows])
        same[rows] = np.logical_and.reduceat(elements, ends - lengths[0][rows])
    return same
