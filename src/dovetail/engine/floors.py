"""The first commits that a join may still need: a rebuild reads from there on, and retention keeps them."""

from __future__ import annotations

from dovetail.errors import LogTruncated
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import JoinKind, LastRows, Since
from dovetail.model.kind_change import read_back
from dovetail.model.offset import JoinOffset


def with_floors(config: JoinConfig, end: JoinOffset, left: Category, right: Category) -> JoinOffset:
    """The offset with its floors moved up as far as possible."""
    needed = config.join_kind.needed(end)
    return end.moved(
        left_floor=_first(left, end.left_floor, end.left, needed, 0),
        right_floor=_first(right, end.right_floor, end.right, needed, 1),
    )


def with_changed_floors(
    old: JoinKind, config: JoinConfig, end: JoinOffset, left: Category, right: Category
) -> JoinOffset:
    """The end of a step that changes a join, with the floors that this takes: lower ones where the new kind
    needs older rows, as far as the log reaches. Rows from before the streams last ended stay gone."""
    before, needed = old.needed(end), read_back(old, config.join_kind, end)
    begun = end.begun or [0, 0]
    lows = [end.left_floor, end.right_floor]
    for side, category in enumerate((left, right)):
        reads = side == 1 or config.join_kind.reads_left
        if reads and not end.ended and _more(needed, before, side):
            lows[side] = max(begun[side], _reach(config, category, lows[side]))
    return end.moved(
        left_floor=_first(left, lows[0], end.left, needed, 0),
        right_floor=_first(right, lows[1], end.right, needed, 1),
    )


def reach_us(category: Category, since_us: int) -> int | None:
    """The newest event time of what the log has lost of the rows from an event time on, for `exact_since`, as
    far as rows came in order; None: it has lost none of them."""
    first = category.first_commit()
    if first == 0 or first == category.next_commit():
        return None
    sketch = category.commit(first).sketch
    return sketch.max_us if sketch.count and sketch.max_us >= since_us else None


def _more(needed: Since | LastRows, before: Since | LastRows, side: int) -> bool:
    return needed[side] > before[side] if isinstance(needed, LastRows) else needed[side] < before[side]


def _reach(config: JoinConfig, category: Category, floor: int) -> int:
    """The first commit that the log has, held there for this join until the step is done. The mark is written
    before the log is believed to reach there: then either retention sees the mark, or we see what it took
    (`log/retention.py`)."""
    while (first := category.first_commit()) < floor:
        try:
            category.set_reader(config.reader, first, application=config.application)
            return first
        except LogTruncated:
            continue
    return floor


def _first(category: Category, low: int, stop: int, needed: Since | LastRows, side: int) -> int:
    first = Category.first_of_last_rows if isinstance(needed, LastRows) else Category.first_with_time
    return first(category, low, stop, needed[side])
