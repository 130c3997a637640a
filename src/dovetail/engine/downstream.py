"""Law: a join does not run ahead of the joins that read its output, unless one of them has nothing to read.

With pacing, a join lets the stream that is ahead wait in the log. If that stream is another join's output, it
would pile up in the middle of a chain while the inputs race on. So a join whose output waits in a reader for
more than a step's worth of rows plans nothing, and its own inputs wait in turn, back to the first ones.

Why this cannot deadlock: a reader with nothing to read goes first. In a diamond, whose branches meet again,
one reader may wait for the other, and then the other has read everything there is.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engine.step_log import StepLog
from dovetail.errors import CategoryNotFound, DovetailError
from dovetail.log.category import Category
from dovetail.model.join_config import Feed
from dovetail.model.step_record import SideRecord


def runs_ahead(home: str, feeds: Sequence[Feed], most_rows: int) -> bool:
    """Whether a join must wait for the readers of its output."""
    if not any(feed.paced for feed in feeds):
        return False  # they take whatever there is
    return must_wait([unread_rows(home, feed) for feed in feeds], most_rows)


def must_wait(unread: Sequence[int], most_rows: int) -> bool:
    return bool(unread) and min(unread) > 0 and max(unread) > most_rows


def unread_rows(home: str, feed: Feed) -> int:
    """Rows that one reader has not taken: not sliced yet, or sliced and not joined."""
    try:
        side = Category.open(home, feed.side_category)
        return _not_sliced(home, feed) + _rows_from(side, _taken(home, feed, side))
    except CategoryNotFound:
        return 0  # it has not begun


def _not_sliced(home: str, feed: Feed) -> int:
    if feed.output is None or feed.slicer is None:
        return 0
    output = Category.open(home, feed.output)
    return _rows_from(output, output.readers().get(feed.slicer, output.first_commit()))


def _taken(home: str, feed: Feed, side: Category) -> int:
    """The next commit that the reading join will take."""
    try:
        records = next(StepLog(home, feed.state_path).newest_first(), [])
    except DovetailError:
        records = []  # records are for people: one that cannot be read must not stop a join
    if not records:
        return side.first_commit()
    taken: SideRecord = getattr(records[-1], feed.side)
    return max(taken.stop, side.first_commit())


def _rows_from(category: Category, start: int) -> int:
    """By two commits: each says how many rows came before it."""
    first, stop = category.first_commit(), category.next_commit()
    start = max(start, first)
    return category.commit(stop - 1).next_row - category.commit(start).first_row if start < stop else 0
