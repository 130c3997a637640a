"""The first commits that a join may still need: a rebuild reads from there on, and retention keeps them."""

from __future__ import annotations

from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import LastRows
from dovetail.model.offset import JoinOffset


def with_floors(config: JoinConfig, end: JoinOffset, left: Category, right: Category) -> JoinOffset:
    """The offset with its floors moved up as far as possible."""
    needed = config.join_kind.needed(end)
    first = Category.first_of_last_rows if isinstance(needed, LastRows) else Category.first_with_time
    return end.moved(
        left_floor=first(left, end.left_floor, end.left, needed[0]),
        right_floor=first(right, end.right_floor, end.right, needed[1]),
    )
