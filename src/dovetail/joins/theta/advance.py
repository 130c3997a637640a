"""One step of a theta join over the log: which rows a task looks at, in which turns, and where their columns
are.

The columns that conditions read are those that the slicers wrote for them (`_on_0`, ...). They are mapped
from the log and gathered by row number when rows come. So join state stays what it is for other joins,
references, and the runs beside it (`runs.py`) can be made again from both.
"""

from __future__ import annotations

import pyarrow as pa

from dovetail.joins.emitted import Emitted
from dovetail.joins.kind import counted_totals
from dovetail.joins.rows.gather import Rows
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.streams import Int64s
from dovetail.joins.theta.condition import comparable
from dovetail.joins.theta.runs import SortedRun
from dovetail.joins.theta.step import Means, Turn, step
from dovetail.joins.worth import worth_in
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.share import SIDES, Side


def advance(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    kind, share = given.config.join_kind, given.share
    assert isinstance(kind, ThetaJoin)
    looks = share.every_row if share.dealt == SIDES else share
    new = given.new("left", looks), given.new("right", looks)
    emitted = step(at.state, *new, given.until, _turns(given), means_of(kind, given, at.runs))
    # Where both sides are shared out, each task sees only some of a left row's partners.
    return emitted, counted_totals(at, emitted, left_matched=share.dealt != SIDES)


def means_of(kind: ThetaJoin, given: StepInput, runs: dict[Side, list[SortedRun]]) -> Means:
    rows: dict[Side, Rows] = {"left": given.left, "right": given.right}

    def operands(side: Side, numbers: Int64s) -> dict[str, pa.Array]:
        of, places = rows[side], rows[side].places(numbers)
        return {name: comparable(of.take(name, places)) for name in kind.theta.columns(side)}

    first: dict[Side, int] = {side: rows[side].first for side in SIDES}
    worth = worth_in(kind.spec, given.left, given.right)
    return Means(kind.theta, operands, given.share, runs, first, worth)


def _turns(given: StepInput) -> list[Turn]:
    """The rows of a step in the order in which they entered."""
    at = {"left": given.start.left, "right": given.start.right}
    turns = []
    for side, count in given.end.turns_of():
        category = (given.left if side == "left" else given.right).category
        commits = category.commits(at[side], at[side] + count)
        at[side] += count
        if rows := sum(commit.rows for commit in commits):
            turns.append(Turn(side, commits[0].first_row, commits[0].first_row + rows))
    return turns
