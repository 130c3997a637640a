"""Law: what is reported about a left row of a theta join is what `theta.step` did with it: the recorded steps
run again for this row, and for the right rows in its window for which the condition holds.

No other row matters: left rows do not affect each other, and rows for which the condition fails never match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from dovetail.joins.interval.replay import Outcome, due, with_everything_out
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.state import JoinState
from dovetail.joins.streams import ENDED, Arrivals, Times
from dovetail.joins.tactics import Worth
from dovetail.joins.theta.candidates import Candidates, Int64s
from dovetail.joins.theta.condition import Columns
from dovetail.joins.theta.step import Means, Turn, step
from dovetail.model.interval import IntervalSpec
from dovetail.model.share import Share, Side
from dovetail.model.step_record import StepRecord
from dovetail.model.theta import Theta


def theta_replay(
    spec: IntervalSpec,
    theta: Theta,
    records: Sequence[StepRecord],
    turns: Sequence[Sequence[Turn]],
    left: KeyRow,
    found: Candidates,
    worth: Worth | None = None,
) -> Outcome:
    """What became of a left row. `worth` compares partners that are picked by value."""
    right = found.fitting
    taken = int(np.searchsorted([record.left.stop for record in records], left.commit, side="right"))
    came = np.searchsorted([record.right.stop for record in records], right.commits, side="right")
    if taken == len(records):
        return Outcome()
    outcome = Outcome(taken)
    state = JoinState.empty(with_everything_out(spec))
    share = Share(0, 1, 1, (), ("left",))
    task = Means(theta, _Operands(left, found), share, {}, {"left": 0, "right": 0}, worth)
    nobody = _arrivals(np.empty(0, np.int64), np.empty(0, np.int64))
    for at in range(min(taken, int(came.min(initial=taken))), len(records)):
        record = records[at]
        here = came == at
        until = Times(record.left.time_us, record.right.time_us)
        entering = turns[at] if theta.rows else ()
        if at == taken or here.any() or _due(state, theta, until, entering):
            new_left = _arrivals(np.array([left.row]), np.array([left.time_us])) if at == taken else nobody
            new_right = _arrivals(right.rows[here], right.times[here])
            emitted = step(state, new_left, new_right, until, entering, task)
            outcome.partners += [(partner, at) for partner in emitted.right.tolist()]
        else:
            state.times = until.after(state.times)
        if at >= taken and left.row not in state.left.held().row:
            outcome.closed = at
            return outcome
        if record.ended:
            state = JoinState.empty(with_everything_out(spec))
            task.indexed.clear()
    return outcome


def _due(state: JoinState, theta: Theta, until: Times, turns: Sequence[Turn]) -> bool:
    """A row that is held leaves: other steps without new rows change nothing."""
    if theta.rows is None or until.right == ENDED:
        return due(state, until)
    for turn in turns:
        held = (state.left if turn.side == "left" else state.right).held().row
        if (held < turn.stop - theta.rows.of(turn.side)).any():
            return True
    return False


class _Operands:
    """The columns that the condition reads, by row number."""

    def __init__(self, left: KeyRow, found: Candidates) -> None:
        self._rows = {"left": np.array([left.row]), "right": found.fitting.rows}
        self._columns: dict[str, Columns] = {"left": found.left, "right": found.fitting.columns}

    def __call__(self, side: Side, rows: Int64s) -> Columns:
        places = pa.array(np.searchsorted(self._rows[side], rows), mask=rows < 0)
        return {name: column.take(places) for name, column in self._columns[side].items()}


def _arrivals(rows: Int64s, times: Int64s) -> Arrivals:
    return Arrivals(rows << 32, times, rows)
