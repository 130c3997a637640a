"""Reads the rows of a join's window back from the log. A rebuild spends nearly all of its time here.

Law: afterwards the buffer holds the task's rows of a side with times from the bound on, out of the commits
from the offset's floor on, as if it had held them all along.

It should take no longer than reading the rows. So segments that end before the bound are not opened, room for
all rows is made once, from what the commits say about them, and rows are inserted in large pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.kind import Wanted
from dovetail.joins.rebuild_progress import RebuildProgress
from dovetail.joins.rows.arrivals import Int64s, arrivals_in
from dovetail.joins.streams import ENDED, Arrivals
from dovetail.kernels.ring import tag_of
from dovetail.log.category import Category
from dovetail.log.commit import Commit, PlacedSegment
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share, Side
from dovetail.model.time_codes import FIRST_TIME

PIECE_ROWS = 1 << 18


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
    category, commits = _commits(config, side, offset)
    bound = max(since, FIRST_TIME)  # rows without a valid time match nothing, and no buffer ever held them
    # Skipping is safe: a share of 0 is exact, from the segment's newest time. The commits below the floor
    # hold nothing from the bound on, or the coordinator would have kept the floor lower.
    segments = [info for commit in commits for info in commit.segments if info.sketch.share_from(bound)]
    read = [_rows_of(info, share) for info in segments]
    kept = sum(rows * info.sketch.share_from(bound) for rows, info in zip(read, segments, strict=True))
    kept /= share.tasks if side in (share.dealt or ()) else 1
    # `kept` is an estimate and decides only how much room is made: a buffer that is too small grows.
    with RebuildProgress(config, share, sum(read)) as progress:
        pieces = _pieces(category, segments, share, side, bound, np.sort(matched), progress)
        if wanted is None:
            buffer.load(pieces, round(kept))
        else:
            for held in pieces:
                buffer.insert(held.where(wanted(side, held)))


def read_again(
    config: JoinConfig, share: Share, side: Side, buffer: Buffer, offset: JoinOffset, since: int, until: int
) -> None:
    """Insert a task's rows of a side that the buffer had let go, or never held: with event times from `since`
    on, up to those from `until` on, of which it has all. They count as having matched: what becomes of them
    alone has been decided."""
    category, commits = _commits(config, side, offset)
    bound = max(since, FIRST_TIME)
    if bound >= until:
        return
    segments = [info for commit in commits for info in commit.segments if info.sketch.share_from(bound)]
    read = [_rows_of(info, share) for info in segments]
    shares = [info.sketch.share_from(bound) - info.sketch.share_from(until) for info in segments]
    kept = sum(rows * part for rows, part in zip(read, shares, strict=True))
    kept /= share.tasks if side in (share.dealt or ()) else 1
    held = np.sort(buffer.held().row) if until == ENDED else None
    with RebuildProgress(config, share, sum(read)) as progress:
        pieces = _pieces(category, segments, share, side, bound, np.empty(0, np.int64), progress)
        buffer.load((_missing(piece, held, until) for piece in pieces), round(kept))


def _missing(piece: Held, held: Int64s | None, until: int) -> Held:
    """Those of the rows that are not held, or that are before `until`."""
    if held is None:
        found = piece.where(piece.time < until)
    else:
        there = _among(piece.row, held)
        found = piece if there is None else piece.where(~there)
    return found._replace(matched=np.ones(len(found.row), np.bool_))


def read_last_rows(
    config: JoinConfig, share: Share, side: Side, buffer: Buffer, offset: JoinOffset, count: int
) -> None:
    """Insert a task's part of the last `count` rows, for windows that count rows. Their number is their
    time."""
    category, commits = _commits(config, side, offset)
    if not commits:
        return
    since = commits[-1].first_row + commits[-1].rows - count
    segments = [info for commit in commits for info in commit.segments if info.first_row + info.rows > since]
    with RebuildProgress(config, share, sum(info.rows for info in segments)) as progress:
        for info in segments:
            found = arrivals_in(category, [info], share, side)
            held = Held.fresh(tag_of(found.hash), found.row, found.row)
            buffer.insert(held.where(held.row >= since))
            progress.add(info.rows)


def _commits(config: JoinConfig, side: Side, offset: JoinOffset) -> tuple[Category, Sequence[Commit]]:
    if side == "left":
        category = Category.open(config.home, config.left)
        return category, category.commits(offset.left_floor, offset.left)
    category = Category.open(config.home, config.right)
    return category, category.commits(offset.right_floor, offset.right)


def _rows_of(info: PlacedSegment, share: Share) -> int:
    if share.dealt is not None:
        return info.rows
    return sum(info.rows_per_bucket[share.low : share.high])


def _pieces(
    category: Category,
    segments: Sequence[PlacedSegment],
    share: Share,
    side: Side,
    bound: int,
    matched: Int64s,
    progress: RebuildProgress,
) -> Iterator[Held]:
    start = 0
    while start < len(segments):
        stop, rows = start, 0
        while stop < len(segments) and (
            stop == start or rows + _rows_of(segments[stop], share) <= PIECE_ROWS
        ):
            rows += _rows_of(segments[stop], share)
            stop += 1
        found = arrivals_in(category, segments[start:stop], share, side)
        # A segment that reaches the bound may also have rows before it: those were evicted, or never
        # buffered.
        live = found.time >= bound
        if not live.all():
            found = Arrivals(*(column[live] for column in found))
        yield Held.fresh(tag_of(found.hash), found.time, found.row, _among(found.row, matched))
        progress.add(rows)
        start = stop


def _among(rows: Int64s, chosen: Int64s) -> NDArray[np.bool_] | None:
    """Which of the rows are among `chosen`, which is sorted. None: none of them."""
    if not len(chosen) or not len(rows):
        return None
    # Only the part of `chosen` within the range of these rows: `isin` would sort all of it for every piece.
    low, high = np.searchsorted(chosen, (rows.min(), rows.max() + 1))
    return np.isin(rows, chosen[low:high])
