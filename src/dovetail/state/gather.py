"""Law: payload is read only for rows that come out, from the mapped segments, a column at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dovetail.log.category import Category

Int64s = NDArray[np.int64]


class Rows:
    """Rows of a category by number, out of commits `start` to `stop - 1`."""

    def __init__(self, category: Category, start: int, stop: int) -> None:
        self._category = category
        segments = [info for commit in category.commits(start, stop) for info in commit.segments]
        self._first_row = segments[0].first_row if segments else 0
        self._batches = [category.open_segment(info).batch for info in segments]
        self._columns: dict[str, pa.ChunkedArray] = {}

    def column(self, name: str) -> pa.ChunkedArray:
        if name not in self._columns:
            kind = self._category.schema.field(name).type
            chunks = [batch.column(name) for batch in self._batches]
            self._columns[name] = pa.chunked_array(chunks, kind)
        return self._columns[name]

    def take(self, name: str, rows: pa.Array) -> pa.Array:
        """A column's values at positions (see `positions`); null where the position is null."""
        taken = self.column(name).take(rows)
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken

    def positions(self, rows: Int64s) -> pa.Array:
        return pa.array(rows - self._first_row)


def same_keys(
    left: Rows, right: Rows, keys: tuple[str, ...], left_rows: Int64s, right_rows: Int64s
) -> NDArray[np.bool_]:
    """Whether all key columns are equal, pair by pair. Keys of buffered rows are never null."""
    at_left, at_right = left.positions(left_rows), right.positions(right_rows)
    equal = np.ones(len(left_rows), np.bool_)
    for key in keys:
        first, second = left.take(key, at_left), right.take(key, at_right)
        equal &= equal_values(first, second)
    return equal


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
