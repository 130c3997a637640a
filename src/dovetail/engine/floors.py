"""The first commits that a join may still need: a rebuild reads from there on, and retention keeps them."""

from __future__ import annotations

from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import LastRows
from dovetail.model.offset import JoinOffset


def with_floors(config: JoinConfig, end: JoinOffset, left: Category, right: Category) -> JoinOffset:
    """The offset with its floors moved up as far as possible."""
    needed = config.join_kind.needed(end)
    first = _last_rows if isinstance(needed, LastRows) else _recent
    return end.moved(
        left_floor=first(left, end.left_floor, end.left, needed[0]),
        right_floor=first(right, end.right_floor, end.right, needed[1]),
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
