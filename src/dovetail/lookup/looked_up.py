"""A table in memory, and what it has for the rows of a stream.

    as of now          every row of the table with the key
    as of a time       the version of the key that holds at that time: the one with the largest `valid_from`
                       that is not after it, unless its `valid_to` is

Law: the rows that come out are those of SQL's JOIN, or of an ASOF JOIN, in the order of the stream. Versions
without `valid_from` hold never; of two with the same one the later in the table wins. A row without a time
has no match.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.lookup.key_index import KeyIndex, Numbers
from dovetail.model.lookup import LookupSpec

MOMENT = pa.timestamp("us", "UTC")
_NEVER = np.iinfo(np.int64).max


class TableInMemory:
    """`rows` has the columns that the spec reads. `types`: of the keys, in their order."""

    def __init__(self, rows: pa.Table, spec: LookupSpec, types: list[pa.DataType]) -> None:
        self._spec, self._types = spec, types
        rows = rows.combine_chunks()
        if spec.valid_from is not None:
            rows = rows.filter(pc.is_valid(rows.column(spec.valid_from)))
        self.rows = rows
        keys = [self._array(rows, key.table, kind) for key, kind in zip(spec.keys, types, strict=True)]
        since = None if spec.valid_from is None else _microseconds(rows.column(spec.valid_from))
        self._index = KeyIndex(keys, since)
        self._columns = {one.name: _one(rows.column(one.column)) for one in spec.columns}
        if since is not None:
            self._order_versions(since)

    @staticmethod
    def _array(rows: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
        return _one(rows.column(name)).cast(kind)

    def _order_versions(self, since: Numbers) -> None:
        """Versions as one ascending sequence: the number of the key, then that of the time among all
        times."""
        index, spec = self._index, self._spec
        self._times = np.unique(since)
        number = np.repeat(np.arange(len(index)), np.diff(index.starts))
        self._versions = number * len(self._times) + np.searchsorted(self._times, since[index.order])
        until = np.full(len(self.rows), _NEVER)
        if spec.valid_to is not None:
            column = self.rows.column(spec.valid_to)
            until = np.where(column.is_valid().to_numpy(zero_copy_only=False), _microseconds(column), _NEVER)
        self._until = until

    def matches(self, rows: pa.Table) -> tuple[Numbers, Numbers]:
        """Pairs of rows, of the stream and of the table; in a LEFT lookup -1 stands for no row."""
        keys = [
            self._array(rows, key.stream, kind)
            for key, kind in zip(self._spec.keys, self._types, strict=True)
        ]
        number = self._index.find(keys)
        if self._spec.as_of is not None:
            pairs = self._version_at(number, rows.column(self._spec.as_of))
        else:
            pairs = self._all_of(number)
        if self._spec.how == "inner":
            return pairs
        alone = np.setdiff1d(np.arange(len(number)), pairs[0], assume_unique=False)
        mine = np.concatenate((pairs[0], alone))
        theirs = np.concatenate((pairs[1], np.full(len(alone), -1)))
        by = np.argsort(mine, kind="stable")
        return mine[by], theirs[by]

    def _all_of(self, number: Numbers) -> tuple[Numbers, Numbers]:
        known = np.flatnonzero(number >= 0)
        first = self._index.starts[number[known]]
        counts = self._index.starts[number[known] + 1] - first
        mine = np.repeat(known, counts)
        within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
        return mine, self._index.order[np.repeat(first, counts) + within]

    def _version_at(self, number: Numbers, times: pa.ChunkedArray) -> tuple[Numbers, Numbers]:
        at = _microseconds(times)
        rank = np.searchsorted(self._times, at, side="right") - 1
        timed = times.is_valid().to_numpy(zero_copy_only=False)
        known = np.flatnonzero((number >= 0) & (rank >= 0) & timed)
        wanted = number[known] * len(self._times) + rank[known]
        place = np.searchsorted(self._versions, wanted, side="right") - 1
        theirs = np.where(place >= self._index.starts[number[known]], self._index.order[place], -1)
        holds = (theirs >= 0) & (at[known] < self._until[theirs])
        return known[holds], theirs[holds]

    def add_to(self, rows: pa.Table, picked: Mapping[str, str]) -> pa.Table:
        """The stream's rows with what the table has for them. `picked`: the columns of the stream that are
        passed on, by their new names."""
        mine, theirs = self.matches(rows)
        passed = rows.select(list(picked.values())).rename_columns(list(picked))
        made = passed.combine_chunks().take(pa.array(mine))
        taken = pa.array(theirs, mask=theirs < 0)
        for name, column in self._columns.items():
            made = made.append_column(name, column.take(taken))
        return made


def _one(column: pa.ChunkedArray) -> pa.Array:
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    )


def _microseconds(column: pa.ChunkedArray) -> Numbers:
    """Nulls become zero: the caller knows where they are."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = pc.floor_temporal(column, 1, "microsecond")
    moments = _one(column).cast(
        pa.timestamp("us", column.type.tz) if pa.types.is_timestamp(column.type) else pa.timestamp("us")
    )
    found: Numbers = pc.fill_null(moments.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found
