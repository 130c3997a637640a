"""The order in which the commits of a step entered, from its record: for joins whose windows count rows.

Law: it is the coordinator's order (`time/coordinator.py`). While both streams have commits, the next one
comes from the stream of which fewer rows have entered, or from the left one if they are equal. Then the rest
follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.joins.theta.step import Turn
from dovetail.log.category import Category
from dovetail.model.share import Side
from dovetail.model.step_record import SideRecord, StepRecord


def turns_of(records: Sequence[StepRecord], left: Category, right: Category) -> list[list[Turn]]:
    """For every step, as far as the log has its rows. What came before the first step on record is taken as
    having come with it."""
    return [
        _turns(_stretches(record.left, left, at == 0), _stretches(record.right, right, at == 0))
        for at, record in enumerate(records)
    ]


def _turns(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[Turn]:
    turns: list[Turn] = []
    while left or right:
        goes: Side = "left" if left and (not right or left[0][0] <= right[0][0]) else "right"
        first, stop = (left if goes == "left" else right).pop(0)
        if turns and turns[-1].side == goes:
            turns[-1] = turns[-1]._replace(stop=stop)
        else:
            turns.append(Turn(goes, first, stop))
    return turns


def _stretches(record: SideRecord, category: Category, first: bool) -> list[tuple[int, int]]:
    """First row and the one after the last, of every commit that was taken."""
    start = category.first_commit() if first else max(record.start, category.first_commit())
    commits = category.commits(start, record.stop) if start < record.stop else []
    return [(commit.first_row, commit.first_row + commit.rows) for commit in commits if commit.rows]
