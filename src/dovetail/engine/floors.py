"""From which commits on a join may still need rows: what a rebuild reads, and retention keeps."""

from __future__ import annotations

from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import ENDED, JoinOffset
from dovetail.time.coordinator import needed_since


def with_floors(config: JoinConfig, end: JoinOffset, left: Category, right: Category) -> JoinOffset:
    """The offset with its floors, from those that it has on."""
    if config.theta is not None and config.theta.rows is not None:
        rows = config.theta.rows
        return end.moved(
            left_floor=_last_rows(left, end.left_floor, end.left, 0 if end.ended else rows.left_rows),
            right_floor=_last_rows(right, end.right_floor, end.right, 0 if end.ended else rows.right_rows),
        )
    if config.window is not None:
        since = config.window.needed_since(end.left_time, end.right_time)
        left_since = right_since = ENDED if end.ended else since
    else:
        left_since, right_since = needed_since(config.spec, end)
    return end.moved(
        left_floor=_recent(left, end.left_floor, end.left, left_since),
        right_floor=_recent(right, end.right_floor, end.right, right_since),
    )


def _recent(category: Category, floor: int, stop: int, since_us: int) -> int:
    """The first commit, from `floor` on, with a row at or after `since_us`."""
    while floor < stop:
        sketch = category.commit(floor).sketch
        if sketch.count and sketch.max_us >= since_us:
            break
        floor += 1
    return floor


def _last_rows(category: Category, floor: int, stop: int, count: int) -> int:
    """The first commit, from `floor` on, with one of the last `count` rows before commit `stop`."""
    if floor < stop:
        last = category.commit(stop - 1)
        since = last.first_row + last.rows - count
        while floor < stop and (commit := category.commit(floor)).first_row + commit.rows <= since:
            floor += 1
    return floor
