"""Reads the rows of a join's window back from the log. A rebuild spends nearly all of its time here.

Law: afterwards the buffer holds the task's rows of a side with times from the bound on, out of the commits
from the offset's floor on, as if it had held them all along.

It should take no longer than reading the rows. So commits and segments that end before the bound are not
opened, room for all rows is made once, and rows are inserted in large pieces. A window may have very many
commits, and a parsed one takes about ten kilobytes: so they are read some at a time, each once, and what the
room is made from are the columns of the ledger and a sample of the commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.kind import Wanted
from dovetail.joins.rebuild_progress import RebuildProgress
from dovetail.joins.rows.arrivals import Int64s, arrivals_in
from dovetail.joins.streams import ENDED, Arrivals
from dovetail.kernels.ring import more_of, tag_of
from dovetail.log.category import Category
from dovetail.log.commit import Commit, PlacedSegment
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share, Side
from dovetail.model.time_codes import FIRST_TIME

PIECE_ROWS = 1 << 18
AT_ONCE = 1024
"""Commits that are parsed at a time."""
SAMPLED, PRIOR_ROWS = 256, 1024


def read_since(
    config: JoinConfig,
    share: Share,
    side: Side,
    buffer: Buffer,
    offset: JoinOffset,
    since: int,
    matched: Int64s,
    wanted: Wanted | None = None,
) -> None:
    """Insert a task's rows of a side with event times from `since` on. `matched` are the numbers of those
    that have had a partner; `wanted` picks some of the rows."""
    bound = max(since, FIRST_TIME)  # rows without a valid time match nothing, and no buffer ever held them
    window = WindowRows(config, share, side, offset, bound)
    read, kept = window.expected(lambda info: info.sketch.share_from(bound))
    # `kept` is an estimate and decides only how much room is made: a buffer that is too small grows.
    with RebuildProgress(config, share, read) as progress:
        pieces = window.pieces(np.sort(matched), progress)
        if wanted is None:
            buffer.load(pieces, kept)
        else:
            for held in pieces:
                buffer.insert(held.where(wanted(side, held)))


def read_again(
    config: JoinConfig, share: Share, side: Side, buffer: Buffer, offset: JoinOffset, since: int, until: int
) -> None:
    """Insert a task's rows of a side that the buffer had let go, or never held: with event times from `since`
    on, up to those from `until` on, of which it has all. They count as having matched: what becomes of them
    alone has been decided."""
    bound = max(since, FIRST_TIME)
    if bound >= until:
        return
    window = WindowRows(config, share, side, offset, bound)
    read, kept = window.expected(lambda info: info.sketch.share_from(bound) - info.sketch.share_from(until))
    held = np.sort(buffer.held().row) if until == ENDED else None
    with RebuildProgress(config, share, read) as progress:
        pieces = window.pieces(np.empty(0, np.int64), progress, until)
        buffer.load((_missing(piece, held, until) for piece in pieces), kept)


def _missing(piece: Held, held: Int64s | None, until: int) -> Held:
    """Those of the rows that are not held, or that are before `until`."""
    if held is None:
        found = piece.where(piece.time < until)
    else:
        there = _among(piece.row, held)
        found = piece if there is None else piece.where(~there)
    return found._replace(matched=np.ones(len(found.row), np.bool_))


def read_last_rows(
    config: JoinConfig,
    share: Share,
    side: Side,
    buffer: Buffer,
    offset: JoinOffset,
    count: int,
    matched: Int64s,
) -> None:
    """Insert a task's part of the last `count` rows, for windows that count rows. Their number is their time.
    `matched` are the numbers of those that have had a partner."""
    category, start, stop = _commits(config, side, offset)
    if start >= stop:
        return
    since = category.range(start, stop).next_row - count
    first = category.first_of_last_rows(start, stop, count)
    matched = np.sort(matched)
    with RebuildProgress(config, share, count) as progress:
        for commits in _some_at_a_time(category, np.arange(first, stop)):
            for info in (info for commit in commits for info in commit.segments):
                if info.first_row + info.rows > since:
                    found = arrivals_in(category, [info], share, side)
                    among = _among(found.row, matched)
                    held = Held.fresh(tag_of(found.hash), found.row, found.row, among)
                    buffer.insert(held.where(held.row >= since))
                    progress.add(info.rows)


class WindowRows:
    """A side's commits from an offset's floor on that have rows from the bound on, and what of them is a
    task's. Those without are never read: their newest time is in the ledger, and it is exact. The commits
    below the floor hold nothing from the bound on, or the coordinator would have kept the floor lower."""

    def __init__(self, config: JoinConfig, share: Share, side: Side, offset: JoinOffset, bound: int) -> None:
        self._category, start, stop = _commits(config, side, offset)
        self._share, self._side, self._bound = share, side, bound
        self._numbers, self._rows = self._category.with_time(start, stop, bound)

    def expected(self, part: Callable[[PlacedSegment], float]) -> tuple[int, int]:
        """About how many rows will be read, and how many of these are kept: `part` says which part of a
        segment's. Exact counts by bucket where all commits are looked at."""
        share, every = self._share, -(-len(self._numbers) // SAMPLED)
        if not every:
            return 0, 0
        sample = [
            info for one in self._category.picked(self._numbers[::every].tolist()) for info in one.segments
        ]
        mine = np.array([_rows_of(info, share) for info in sample if part(info)], np.float64)
        parts = np.array([part(info) for info in sample if part(info)])
        rows = sum(info.rows for info in sample)
        if every > 1:  # few rows say little of how many are the task's: the buckets count as many more
            of_task = 1 if share.dealt is not None else (share.high - share.low) / share.buckets
            mine += PRIOR_ROWS * of_task / max(1, len(mine))
            rows += PRIOR_ROWS
        read = self._rows * float(mine.sum()) / max(1, rows)
        kept = self._rows * float((mine * parts).sum()) / max(1, rows)
        return round(read), round(kept / (share.tasks if self._side in (share.dealt or ()) else 1))

    def pieces(self, matched: Int64s, progress: RebuildProgress, until: int = ENDED) -> Iterator[Held]:
        """The task's rows from the bound on, in log order. `matched`: numbers of rows, ascending. Segments
        with no row before `until` are left out; shares of none and of all are exact."""
        for commits in _some_at_a_time(self._category, self._numbers):
            segments = [info for commit in commits for info in commit.segments]
            segments = [
                info
                for info in segments
                if info.sketch.share_from(self._bound) and info.sketch.share_from(until) < 1
            ]
            yield from self._of_segments(segments, matched, progress)

    def _of_segments(
        self, segments: Sequence[PlacedSegment], matched: Int64s, progress: RebuildProgress
    ) -> Iterator[Held]:
        share, start = self._share, 0
        while start < len(segments):
            stop, rows = start, 0
            while stop < len(segments) and (
                stop == start or rows + _rows_of(segments[stop], share) <= PIECE_ROWS
            ):
                rows += _rows_of(segments[stop], share)
                stop += 1
            found = arrivals_in(self._category, segments[start:stop], share, self._side)
            # A segment that reaches the bound may also have rows before it: those were evicted, or never
            # buffered.
            live = found.time >= self._bound
            if not live.all():
                found = Arrivals(*(column[live] for column in found))
            among, more = _among(found.row, matched), more_of(found.hash)
            yield Held.fresh(tag_of(found.hash), found.time, found.row, among, more)
            progress.add(rows)
            start = stop


def _commits(config: JoinConfig, side: Side, offset: JoinOffset) -> tuple[Category, int, int]:
    """A side's category, and which commits of it the state at an offset may need."""
    if side == "left":
        return Category.open(config.home, config.left), offset.left_floor, offset.left
    return Category.open(config.home, config.right), offset.right_floor, offset.right


def _some_at_a_time(category: Category, numbers: Int64s) -> Iterator[list[Commit]]:
    for start in range(0, len(numbers), AT_ONCE):
        yield category.picked(numbers[start : start + AT_ONCE].tolist())


def _rows_of(info: PlacedSegment, share: Share) -> int:
    if share.dealt is not None:
        return info.rows
    return sum(info.rows_per_bucket[share.low : share.high])


def _among(rows: Int64s, chosen: Int64s) -> NDArray[np.bool_] | None:
    """Which of the rows are among `chosen`, which is sorted. None: none of them."""
    if not len(chosen) or not len(rows):
        return None
    # Only the part of `chosen` within the range of these rows: `isin` would sort all of it for every piece.
    low, high = np.searchsorted(chosen, (rows.min(), rows.max() + 1))
    return np.isin(rows, chosen[low:high])
