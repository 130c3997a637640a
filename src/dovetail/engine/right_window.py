"""The right window, read back from the log: what a rebuild does for as long as it takes.

Law: afterwards the buffer holds, of the commits from the offset's floor on, this task's right rows that are
not before the window's bound, as if it had held them all along.

The left rows of a theta join that only puts out pairs are read back in the same way: nothing is known of
them that the log does not say, so snapshots need not have them.

It should take no longer than reading the rows. So segments that end before the bound are not opened, room
for all rows is made once, from what the commits say of them, and rows go in by large pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.engine.replay_progress import ReplayProgress
from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.caps import beyond
from dovetail.joins.rows.arrivals import Int64s, arrivals_in
from dovetail.joins.rows.gather import Rows, key_hashes
from dovetail.joins.state import JoinState, open_bound, retain_bound
from dovetail.joins.streams import Arrivals
from dovetail.kernels.ring import tag_of
from dovetail.log.category import Category
from dovetail.log.commit import Commit, PlacedSegment
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share, Side
from dovetail.model.time_codes import FIRST_TIME
from dovetail.model.window_join import WindowJoin

PIECE_ROWS = 1 << 18
Wanted = Callable[[Held], NDArray[np.bool_]]


def replay_right(
    config: JoinConfig,
    share: Share,
    state: JoinState,
    offset: JoinOffset,
    matched: Int64s,
    wanted: Wanted | None = None,
) -> None:
    """Insert a task's right rows that are in the window. `matched` are the numbers of those that have had a
    partner; `wanted` picks some of the rows."""
    right = Category.open(config.home, config.right)
    commits = right.commits(offset.right_floor, offset.right)
    if config.theta is not None and config.theta.rows is not None:
        _replay_last_rows(config, share, "right", state.right, right, commits, config.theta.rows.right_rows)
        return
    bound = max(retain_bound(config.spec, state.times), FIRST_TIME)
    _replay(config, share, "right", state.right, right, commits, bound, matched, wanted)
    if config.spec.right_cap is not None:
        _cap(state, config.spec.right_cap, Rows(right, offset.right_floor, offset.right))


def replay_left(config: JoinConfig, share: Share, state: JoinState, offset: JoinOffset) -> None:
    """Insert a task's open left rows, where the log says all of them."""
    assert config.theta is not None
    left = Category.open(config.home, config.left)
    commits = left.commits(offset.left_floor, offset.left)
    if config.theta.rows is not None:
        _replay_last_rows(config, share, "left", state.left, left, commits, config.theta.rows.left_rows)
    else:
        bound = max(open_bound(config.spec, state.times), FIRST_TIME)
        _replay(config, share, "left", state.left, left, commits, bound, np.empty(0, np.int64), None)


def replay_windows(
    config: JoinConfig,
    window: WindowJoin,
    share: Share,
    state: JoinState,
    offset: JoinOffset,
    wanted: Mapping[Side, Wanted] | None = None,
) -> None:
    """Insert a task's rows of open windows, of both sides: those that are not before the first of them."""
    bound = max(window.needed_since(*state.times), FIRST_TIME)
    sides: tuple[tuple[Side, Buffer, str, int, int], ...] = (
        ("left", state.left, config.left, offset.left_floor, offset.left),
        ("right", state.right, config.right, offset.right_floor, offset.right),
    )
    for side, buffer, name, floor, stop in sides:
        category = Category.open(config.home, name)
        commits = category.commits(floor, stop)
        of_side = None if wanted is None else wanted[side]
        _replay(config, share, side, buffer, category, commits, bound, np.empty(0, np.int64), of_side)


def _replay(
    config: JoinConfig,
    share: Share,
    side: Side,
    buffer: Buffer,
    category: Category,
    commits: Sequence[Commit],
    bound: int,
    matched: Int64s,
    wanted: Wanted | None,
) -> None:
    segments = [info for commit in commits for info in commit.segments if info.sketch.share_from(bound)]
    read = [_rows_of(info, share) for info in segments]
    kept = sum(rows * info.sketch.share_from(bound) for rows, info in zip(read, segments, strict=True))
    kept /= share.tasks if side in (share.dealt or ()) else 1
    with ReplayProgress(config, share, sum(read)) as progress:
        pieces = _pieces(category, segments, share, side, bound, np.sort(matched), progress)
        if wanted is None:
            buffer.load(pieces, round(kept))
        else:
            for held in pieces:
                buffer.insert(held.where(wanted(held)))


def _replay_last_rows(
    config: JoinConfig,
    share: Share,
    side: Side,
    buffer: Buffer,
    category: Category,
    commits: Sequence[Commit],
    count: int,
) -> None:
    """Insert a task's part of the last rows, where the window counts rows. Their number is their time."""
    if not commits:
        return
    since = commits[-1].first_row + commits[-1].rows - count
    segments = [info for commit in commits for info in commit.segments if info.first_row + info.rows > since]
    with ReplayProgress(config, share, sum(info.rows for info in segments)) as progress:
        for info in segments:
            found = arrivals_in(category, [info], share, side)
            held = Held.fresh(tag_of(found.hash), found.row, found.row)
            buffer.insert(held.where(held.row >= since))
            progress.add(info.rows)


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
    progress: ReplayProgress,
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
        live = found.time >= bound
        if not live.all():
            found = Arrivals(*(column[live] for column in found))
        yield Held.fresh(tag_of(found.hash), found.time, found.row, _among(found.row, matched))
        progress.add(rows)
        start = stop


def _among(rows: Int64s, chosen: Int64s) -> NDArray[np.bool_] | None:
    """Which of the rows are among the chosen, which ascend; None: none is."""
    if not len(chosen) or not len(rows):
        return None
    low, high = np.searchsorted(chosen, (rows.min(), rows.max() + 1))
    return np.isin(rows, chosen[low:high])


def _cap(state: JoinState, cap: int, replayed: Rows) -> None:
    surplus = beyond(
        state.right,
        state.right.held().tag,
        cap,
        lambda side, numbers: key_hashes(replayed, replayed, side, numbers),
    )
    state.right.kill(surplus)
