"""Steps that fill a join which begins afresh with the rows from before it: they put nothing out.

Law: the steps up to the commits in `config.filled` change only the state. The last of them ends exactly
there, and at the stream times of the join before it, where both go by the same times. So what comes out
begins with the first row after the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

if TYPE_CHECKING:
    from dovetail.joins.emitted import Emitted
    from dovetail.joins.state import JoinState


def filled_to(config: JoinConfig, end: JoinOffset, categories: tuple[Category, Category]) -> JoinOffset:
    """Where a step ends that was planned to end here. Windows do not join two rows again that the join before
    has joined."""
    filled = config.filled
    if len(filled) == 4:
        done = (end.left, end.right) == filled[:2]
        left, right = filled[2:] if done else map(min, filled[2:], (end.left_time, end.right_time))
        end = end.moved(left_time=left, right_time=right)
    if config.join_kind.windows is not None and not config.whole:
        rows = [category.first_row(stop) for category, stop in zip(categories, filled[:2], strict=True)]
        end = end.moved(paired=rows)
    return end


def in_silence(state: JoinState, emitted: Emitted, *, marks: bool) -> Emitted:
    """Nothing comes out, and nothing is counted. `marks`: rows that are held have been answered as far as
    they come out alone, and meet only rows that are still to come."""
    from dovetail.joins.emitted import NONE, Counts, Emitted

    if marks:
        for buffer in (state.left, state.right):
            buffer.mark(buffer.slots())
    return Emitted(NONE, NONE, NONE, NONE, Counts(), emitted.peak_rows, (NONE, NONE))
