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
from dovetail.joins.rows.pieces import Int64s, PiecedColumn, Places
from dovetail.joins.rows.unpacked import Unpacked
from dovetail.kernels.gather import locate
from dovetail.log.blocks import BLOCK_BYTES, is_mapped
from dovetail.log.category import Category
from dovetail.log.segment import Segment


class Rows:
    """Rows of a category by number, out of commits `start` to `stop - 1`. Segments are opened when a row of
    theirs is wanted. Columns of earlier generations can be taken too: a step that is run again takes what it
    took when it was new."""

    def __init__(self, category: Category, start: int, stop: int) -> None:
        self.category = category = category.with_dropped()
        self._range = start, stop
        self._commits = category.range(start, stop)
        self._starts = self._commits.segment_rows
        self.first = int(self._starts[0]) if len(self._starts) else 0
        self._end = self._commits.next_row if len(self._starts) else 0
        self.packed = self._commits.packed
        self.row_bytes = self._commits.row_bytes
        """Bytes of an average row, uncompressed."""
        # Only what is met gets a piece, so a wide window costs nothing: zeroed memory is not touched before
        # it is written.
        self._numbers = np.zeros(len(self._starts), np.int32)
        self._met = np.empty(0, np.int64)
        self._known = 0
        self._columns: dict[str, PiecedColumn] = {}
        self._opened: list[Segment] = []

    def places(self, rows: Int64s) -> Places:
        """Where the rows are; a negative number is no row. Row numbers come from files, so they are checked:
        the kernels would follow one that the log does not have to any address."""
        piece, at = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
        most = min(len(self._starts), self._known + len(rows))
        if most > len(self._met):
            self._met = np.concatenate([self._met, np.empty(most - len(self._met), np.int64)])
        touched = np.zeros(most, np.bool_)
        unknown, self._known = locate(
            self._starts,
            self._end,
            np.ascontiguousarray(rows),
            piece,
            at,
            self._numbers,
            self._met,
            self._known,
            touched,
        )
        if unknown >= 0:
            raise StateError(
                f"the state of the join names row {rows[unknown]}, which the log does not have",
                where=self.category.where,
                expected=f"rows {self.first} to {self._end - 1}",
                hint="restore log and state from the same copy of the home, or start in a new home",
            )
        return Places(piece, at, np.flatnonzero(touched))

    def buckets(self, rows: Int64s) -> Int64s:
        return buckets_of(self.category, *self._range, rows)

    def take(self, name: str, places: Places) -> pa.Array:
        """A mapped column's values at places; null where there is no row."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = PiecedColumn(self.category.schema.field(name).type)
        for piece in places.touched:
            if not column.knows(piece):
                column.learn(piece, self._segment(piece).mapped.column(name))
        return column.take(places)

    def at(self, places: Places) -> Batch:
        """The rows at these places, to take any columns of."""
        if not self.packed:
            return Batch(self, places, None)
        opened = {int(piece): self._segment(piece) for piece in places.touched}
        return Batch(self, places, Unpacked(opened, self.category.schema, places))

    def _segment(self, piece: int) -> Segment:
        if piece >= len(self._opened):  # all that were met since: their commits are read together
            new = self._met[len(self._opened) : self._known].tolist()
            self._opened += [self.category.open_segment(info) for info in self._commits.infos(new)]
        return self._opened[piece]


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
