"""One step of a theta join's state: which rows a task looks at, in which turns, and where their columns are.

The columns that conditions read are those that the slicers wrote for it (`_on_0`, ...): they lie mapped in
the log, and are gathered by row number when rows come. So join state stays what it is for other joins,
references, and the index beside it (`joins/theta/runs.py`) can be made anew from both.
"""

from __future__ import annotations

import pyarrow as pa

from dovetail.joins.emitted import Emitted
from dovetail.joins.rows.arrivals import Int64s, arrivals
from dovetail.joins.rows.gather import Rows
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.joins.theta.condition import comparable
from dovetail.joins.theta.step import Indexed, Task, Turn, step
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, Share, Side
from dovetail.model.theta import Theta


def theta_step(
    config: JoinConfig,
    theta: Theta,
    share: Share,
    state: JoinState,
    indexed: Indexed,
    start: JoinOffset,
    end: JoinOffset,
    left_rows: Rows,
    right_rows: Rows,
) -> Emitted:
    left, right = (Category.open(config.home, name) for name in (config.left, config.right))
    looks = share.every_row if share.dealt == SIDES else share
    new_left = arrivals(left, left.commits(start.left, end.left), looks, "left")
    new_right = arrivals(right, right.commits(start.right, end.right), looks, "right")
    rows: dict[Side, Rows] = {"left": left_rows, "right": right_rows}

    def operands(side: Side, numbers: Int64s) -> dict[str, pa.Array]:
        of, places = rows[side], rows[side].places(numbers)
        return {name: comparable(of.take(name, places)) for name in theta.columns(side)}

    until = Times(end.left_time, end.right_time)
    turns = _turns(left, right, start, end)
    first: dict[Side, int] = {side: rows[side].first for side in SIDES}
    return step(state, new_left, new_right, until, turns, Task(theta, operands, share, indexed, first))


def _turns(left: Category, right: Category, start: JoinOffset, end: JoinOffset) -> list[Turn]:
    """The rows of a step in the order in which they entered."""
    at = {"left": start.left, "right": start.right}
    turns = []
    for side, count in end.turns_of():
        category = left if side == "left" else right
        commits = category.commits(at[side], at[side] + count)
        at[side] += count
        if rows := sum(commit.rows for commit in commits):
            turns.append(Turn(side, commits[0].first_row, commits[0].first_row + rows))
    return turns
