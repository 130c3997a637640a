"""The rows of one key, as far as the log still has them.

Law: all of them and no others. If the hash of the key can be computed, only one bucket of each segment is
read; the key columns decide which of its rows have the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.errors import LogTruncated
from dovetail.joins.rows.arrivals import HASH, TIME
from dovetail.joins.rows.gather import equal_values
from dovetail.joins.rows.key_hash import hash_keys, hashable
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.log.segment import Segment

Key = Sequence[pa.Array]
"""A value for each key column, as arrays of length 1."""

_ATTEMPTS = 5
_SAMPLE_ROWS = 2_000


class KeyRow(NamedTuple):
    """A row, the commit it came with and when that was written. `values`: its columns but hash and time."""

    row: int
    hash: int
    time_us: int
    commit: int
    written_at_us: int
    values: dict[str, Any]


class KeyRows(NamedTuple):
    """In log order, from `first_commit` on: retention has removed what was before. `since_us`: when the first
    commit was written (None: there is none)."""

    rows: tuple[KeyRow, ...]
    first_commit: int
    since_us: int | None


def key_rows(category: Category, names: Sequence[str], key: Key) -> KeyRows:
    """What the log has of a key in the columns `names`."""
    for attempt in range(_ATTEMPTS):
        first = category.first_commit()
        try:
            commits = category.commits(first, category.next_commit())
            rows = tuple(row for commit in commits for row in _rows(category, commit, names, key))
        except LogTruncated:  # removed while it was being read
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return KeyRows(rows, first, commits[0].written_at_us if commits else None)
    raise AssertionError("unreachable")


def rows_at(category: Category, numbers: Sequence[int]) -> list[KeyRow]:
    """Rows by their numbers, which ascend; those that the log does not have are left out."""
    wanted = np.array(numbers, np.int64)
    rows = []
    for commit in category.commits(category.first_commit(), category.next_commit()):
        for info in commit.segments:
            low, high = np.searchsorted(wanted, (info.first_row, info.first_row + info.rows)).tolist()
            if low < high:
                segment = category.open_segment(info)
                rows += [_row(segment, commit, at - info.first_row) for at in wanted[low:high].tolist()]
    return rows


def row_numbers(category: Category) -> tuple[int, int]:
    """The first row that the log has, and the one after its last."""
    first, stop = category.first_commit(), category.next_commit()
    if first == stop:
        return 0, 0
    last = category.commit(stop - 1)
    return category.commit(first).first_row, last.first_row + last.rows


def similar_keys(category: Category, names: Sequence[str], key: Key, count: int) -> list[tuple[Any, ...]]:
    """Keys of the newest rows, the most similar ones first."""
    wanted = tuple(value[0].as_py() for value in key)
    seen: dict[tuple[Any, ...], None] = {}
    for segment in _newest_segments(category):
        some = segment.mapped.slice(max(0, segment.info.rows - _SAMPLE_ROWS))
        for found in zip(*(some.column(name).to_pylist() for name in names), strict=True):
            if None not in found:
                seen.setdefault(found)
        if len(seen) >= _SAMPLE_ROWS:
            break
    return sorted(seen, key=lambda found: _unlike(found, wanted))[:count]


def _rows(category: Category, commit: Commit, names: Sequence[str], key: Key) -> Iterator[KeyRow]:
    bucket = None
    if all(hashable(value.type) for value in key):
        bucket = int(np.mod(hash_keys(key)[0], category.buckets))
    for info in commit.segments:
        if bucket is not None and not info.rows_per_bucket[bucket]:
            continue
        segment = category.open_segment(info)
        start, stop = (
            segment.bucket_range(0, category.buckets)
            if bucket is None
            else segment.bucket_range(bucket, bucket + 1)
        )
        part = segment.mapped.slice(start, stop - start)
        same = np.ones(len(part), np.bool_)
        for name, value in zip(names, key, strict=True):
            same &= equal_values(part.column(name), value.take(pa.array(np.zeros(len(part), np.int64))))
        for at in np.flatnonzero(same).tolist():
            yield _row(segment, commit, start + at)


def _row(segment: Segment, commit: Commit, at: int) -> KeyRow:
    """One row whole: payload may have to be unpacked for it."""
    (values,) = segment.batch.slice(at, 1).to_pylist()
    return KeyRow(
        segment.first_row + at,
        values.pop(HASH, 0),  # a join without an equality has none
        values.pop(TIME),
        commit.number,
        commit.written_at_us,
        values,
    )


def _newest_segments(category: Category) -> Iterator[Segment]:
    for number in range(category.next_commit() - 1, category.first_commit() - 1, -1):
        for info in reversed(category.commit(number).segments):
            yield category.open_segment(info)


def _unlike(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> tuple[float, ...]:
    return tuple(_distance(one, other) for one, other in zip(found, wanted, strict=True))


def _distance(found: Any, wanted: Any) -> float:
    """For numbers and times their difference, for other values how different their texts are."""
    try:
        between = abs(found - wanted)
        return float(between.total_seconds() if hasattr(between, "total_seconds") else between)
    except TypeError:
        return 1.0 - SequenceMatcher(None, str(found), str(wanted)).ratio()
