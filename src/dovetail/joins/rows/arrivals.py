"""Law: a task reads its share of the rows of a commit, in log order, without touching payload. Rows of hot
keys from other tasks' buckets come after its own.

Why each pair of a hot key meets in exactly one task. Say the left rows of the key are dealt out. A left row
is in the task that its row number names, `row % tasks`, and in no other. A right row of the key is in every
task. So a pair meets where its left row is, and only there. Three things must hold for that:

- A row is dealt by its number in the log, which never changes. Every task, and every step that runs again,
  computes the same place without asking another task.
- Both sides decide in the same way whether a row has the key: by the tag and the bucket, `_has`. Both come
  from the hash, so the two rows of a pair always agree. A colliding key, with the same tag and bucket, is
  split along with the hot one, and its pairs meet once for the same reason.
- The home task of the key must not keep all of its rows besides: `_own` drops those that are dealt to others,
  and `_lent` skips keys that are at home.

`mine` repeats these rules for rows that come from a snapshot. The two must change together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Held
from dovetail.joins.emitted import AreCopies
from dovetail.joins.streams import Arrivals
from dovetail.kernels.ring import tag_of
from dovetail.log.category import Category
from dovetail.log.commit import Commit, PlacedSegment
from dovetail.log.segment import Segment
from dovetail.model.share import HotKey, Share, Side
from dovetail.model.time_codes import FIRST_TIME

HASH, TIME = "_hash", "_time"
Int64s = NDArray[np.int64]
_NONE = Arrivals(*(np.empty(0, np.int64) for _ in range(3)))


def arrivals(category: Category, commits: Sequence[Commit], share: Share, side: Side) -> Arrivals:
    """Hash, time and row number of a task's rows of a side."""
    return arrivals_in(category, [info for commit in commits for info in commit.segments], share, side)


def arrivals_in(category: Category, infos: Sequence[PlacedSegment], share: Share, side: Side) -> Arrivals:
    """The same, from some segments."""
    segments = [category.open_segment(info) for info in infos]
    if share.dealt is not None:
        parts = [_dealt(segment, share, side) for segment in segments]
    else:
        parts = [part for segment in segments for part in _own(segment, share, side)]
        parts += [part for segment in segments for part in _lent(segment, share, side)]
    if not parts:
        return _NONE
    return Arrivals(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def mine(share: Share, side: Side, held: Held, buckets: Int64s) -> NDArray[np.bool_]:
    """Which rows of a side belong to a task, given their buckets. Must agree with `arrivals`."""
    if share.dealt is not None:
        return share.holds(side, held.row)
    chosen: NDArray[np.bool_] = (buckets >= share.low) & (buckets < share.high)
    for key in share.hot:
        here = _has(share, key, held.tag, buckets)
        chosen[here] = held.row[here] % share.tasks == share.task if key.dealt == side else True
    return chosen


def copied_rows(share: Share, side: Side, buckets: Callable[[Int64s], Int64s]) -> AreCopies | None:
    """Which rows of a side are copies here, of hot keys. Their home task counts them, so that each row counts
    once. `buckets` gives the buckets of rows by their numbers."""
    keys = [key for key in share.hot if key.dealt != side and not share.is_home(key)]
    return _with_keys(share, keys, buckets) if keys else None


def _with_keys(share: Share, keys: Sequence[HotKey], buckets: Callable[[Int64s], Int64s]) -> AreCopies:
    tags = np.array([key.tag for key in keys], np.uint32)

    def copies(held: Held) -> NDArray[np.bool_]:
        chosen = np.isin(held.tag, tags)
        if chosen.any():
            tag, found = held.tag[chosen], buckets(held.row[chosen])
            chosen[chosen] = np.logical_or.reduce([_has(share, key, tag, found) for key in keys])
        return chosen

    return copies


def split_rows(share: Share, buckets: Callable[[Int64s], Int64s]) -> AreCopies | None:
    """Which left rows meet only some of their partners in each task: those of keys whose right rows are
    shared out among tasks."""
    keys = [key for key in share.hot if key.dealt == "right"]
    return _with_keys(share, keys, buckets) if keys else None


def _has(share: Share, key: HotKey, tags: NDArray[np.uint32], buckets: Int64s) -> NDArray[np.bool_]:
    """Which rows have a hot key. The tag is half of the hash; the bucket tells most keys with that tag
    apart."""
    found: NDArray[np.bool_] = (tags == key.tag) & (buckets == key.hash % share.buckets)
    return found


def _dealt(segment: Segment, share: Share, side: Side) -> Arrivals:
    """The rows that the task stores, of a join without keys. Their number takes the place of the hash."""
    rows = segment.first_row + np.arange(segment.mapped.num_rows, dtype=np.int64)
    times = segment.mapped.column(TIME).to_numpy()
    kept = share.holds(side, rows)
    if not kept.all():
        rows, times = rows[kept], times[kept]
    return Arrivals(rows << 32, times, rows)


def _own(segment: Segment, share: Share, side: Side) -> Iterator[Arrivals]:
    """Rows of the task's buckets, except those of hot keys that are dealt to others."""
    rows = _between(segment, share.low, share.high)
    if not len(rows.row):
        return
    dealt = [key for key in share.hot if key.dealt == side and share.is_home(key)]
    if dealt:
        tags, buckets = tag_of(rows.hash), rows.hash % share.buckets
        hot = np.zeros(len(tags), np.bool_)
        for key in dealt:
            hot |= _has(share, key, tags, buckets)
        kept = ~hot | (rows.row % share.tasks == share.task)
        rows = Arrivals(*(column[kept] for column in rows))
    yield rows


def _lent(segment: Segment, share: Share, side: Side) -> Iterator[Arrivals]:
    """Rows of hot keys from the buckets of other tasks: this task's part of the dealt side, all of the
    other."""
    for key in share.hot:
        if share.is_home(key):
            continue
        bucket = key.hash % share.buckets
        rows = _between(segment, bucket, bucket + 1)
        taken = tag_of(rows.hash) == key.tag
        if key.dealt == side:
            taken &= rows.row % share.tasks == share.task
        else:  # a row without a valid time matches nothing, so only the home task has it, and counts it
            taken &= rows.time >= FIRST_TIME
        if taken.any():
            yield Arrivals(*(column[taken] for column in rows))


def _between(segment: Segment, low: int, high: int) -> Arrivals:
    start, stop = segment.bucket_range(low, high)
    rows = np.arange(segment.first_row + start, segment.first_row + stop, dtype=np.int64)
    hashes, times = (segment.mapped.column(name).to_numpy()[start:stop] for name in (HASH, TIME))
    return Arrivals(hashes, times, rows)


def buckets_of(category: Category, start: int, stop: int, rows: Int64s) -> Int64s:
    """The bucket of each row, by its number; the rows are in commits `start` to `stop - 1`."""
    commits = category.range(start, stop)
    if not len(commits.segment_rows):
        return np.empty(0, np.int64)
    # Of every segment that has one of the rows: the first row of each of its buckets. They ascend, and a
    # segment has one edge per bucket even if the bucket is empty: so the position of the last edge at or
    # below a row, modulo the number of buckets, is the row's bucket. Of equal edges all but the last belong
    # to empty buckets, and "right" finds the last.
    edges = []
    owners = np.searchsorted(commits.segment_rows, rows, side="right") - 1
    for info in commits.infos(np.unique(np.maximum(owners, 0)).tolist()):
        counts = np.asarray(info.rows_per_bucket, np.int64)
        edges.append(info.first_row + np.cumsum(counts) - counts)
    if not edges:
        return np.empty(0, np.int64)
    return (np.searchsorted(np.concatenate(edges), rows, side="right") - 1) % category.buckets
