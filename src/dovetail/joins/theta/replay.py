"""Law: what is reported about a left row of a theta join is what `theta.step` did with it: the recorded steps
run again for this row, and for the right rows in its window for which the condition holds.

No other row matters: left rows do not affect each other, and rows for which the condition fails never match.
Each step runs as the join was then, and so does each change in between: with the right rows that one of the
conditions finds in one of the windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.emitted import Emitted
from dovetail.joins.interval.replay import Outcome, due, with_everything_out
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.state import JoinState
from dovetail.joins.streams import ENDED, NEVER, Arrivals, Times, usable
from dovetail.joins.tactics import Worth
from dovetail.joins.theta.candidates import Candidates, Int64s
from dovetail.joins.theta.change import Kinds, changed, changed_empty
from dovetail.joins.theta.condition import Columns
from dovetail.joins.theta.step import Means, Turn, step
from dovetail.kernels.ring import tag_of
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.share import Share, Side
from dovetail.model.step_record import StepRecord
from dovetail.model.theta import Theta


def theta_replay(
    kinds: Sequence[ThetaJoin],
    records: Sequence[StepRecord],
    turns: Sequence[Sequence[Turn]],
    left: KeyRow,
    rows: OperandRows,
    worths: Mapping[IntervalSpec, Worth] = MappingProxyType({}),
) -> Outcome:
    """What became of a left row. `kinds`: what the join was in each step. `rows`: the right rows for which
    one of their conditions holds. `worths` compare partners, for those that pick them by value."""
    taken = int(np.searchsorted([record.left.stop for record in records], left.commit, side="right"))
    came = np.searchsorted([record.right.stop for record in records], rows.commits, side="right")
    if taken == len(records):
        return Outcome()
    outcome = Outcome(taken)
    state = JoinState.empty(with_everything_out(kinds[0].spec))
    means: dict[ThetaJoin, Means] = {}
    nobody = arrivals(np.empty(0, np.int64), np.empty(0, np.int64))
    # A change may read back what had come before it, and give a row that was done another chance.
    changes = [at for at in range(1, len(records)) if records[at].query != records[at - 1].query]
    last_change = max(changes, default=0)
    first = min(taken, int(came.min(initial=taken)))
    state.spec = with_everything_out(kinds[first].spec)
    for at in range(first, len(records)):
        record, kind = records[at], kinds[at]
        here = came == at
        until = Times(record.left.time_us, record.right.time_us)
        entering = turns[at] if kind.theta.rows else ()
        task = means.setdefault(kind, _means(kind.theta, rows, worths.get(kind.spec)))
        if at in changes and at > first:
            task.indexed.clear()
            before = Before(left if taken < at else None, rows, came < at, record, turns[:at])
            emitted = _changed(state, kinds[at - 1], kind, before, records[at - 1], means, task)
            outcome.partners += [(partner, at) for partner in emitted.right.tolist()]
        elif at == taken or here.any() or _due(state, kind.theta, until, entering):
            new_left = arrivals(np.array([left.row]), np.array([left.time_us])) if at == taken else nobody
            new_right = arrivals(rows.right[here], rows.times[here])
            emitted = step(state, new_left, new_right, until, entering, task)
            outcome.partners += [(partner, at) for partner in emitted.right.tolist()]
        else:
            state.times = until.after(state.times)
        if at >= taken:
            is_open = left.row in state.left.held().row
            outcome.closed = None if is_open else at if outcome.closed is None else outcome.closed
            if not is_open and at >= last_change:
                return outcome
        if record.ended:
            state = JoinState.empty(with_everything_out(kind.spec))
            task.indexed.clear()
    return outcome


def _means(theta: Theta, rows: OperandRows, worth: Worth | None) -> Means:
    return Means(theta, rows, Share(0, 1, 1, (), ("left",)), {}, {"left": 0, "right": 0}, worth)


def _changed(
    state: JoinState,
    old: ThetaJoin,
    new: ThetaJoin,
    before: Before,
    last: StepRecord,
    means: Mapping[ThetaJoin, Means],
    task: Means,
) -> Emitted:
    """The step of a change. Only what it reads of the log depends on what the kinds let out."""
    was, now = (replace(kind, spec=with_everything_out(kind.spec)) for kind in (old, new))
    kinds = Kinds(was, now, (old.reads_left, new.reads_left))
    if last.ended:
        return changed_empty(state, kinds, task)
    return changed(state, kinds, before, task, lambda: means[old], NEVER)


class Before:
    """The left row and the right rows that had come before a change, from the commits on that it read."""

    def __init__(
        self,
        left: KeyRow | None,
        rows: OperandRows,
        came: NDArray[np.bool_],
        record: StepRecord,
        turns: Sequence[Sequence[Turn]],
    ) -> None:
        left_floor, right_floor = record.read_back or (0, 0)
        there = came & (rows.commits >= right_floor)
        self._rows = {"left": np.empty(0, np.int64), "right": rows.right[there]}
        self._times = {"left": np.empty(0, np.int64), "right": rows.times[there]}
        if left is not None and left.commit >= left_floor:
            self._rows["left"], self._times["left"] = np.array([left.row]), np.array([left.time_us])
        self._entered = {turn.side: turn.stop for of_step in turns for turn in of_step}

    def since(self, side: Side, into: Buffer, since_us: int, *, every_row: bool = False) -> None:
        found, _ = usable(arrivals(self._rows[side], self._times[side]))
        into.insert(found.where(found.time >= since_us))

    def last(self, side: Side, into: Buffer, rows: int) -> None:
        numbers = self._rows[side]
        found = Held.fresh(tag_of(numbers << 32), numbers, numbers)  # their number is their time
        into.insert(found.where(numbers >= self.entered(side) - rows))

    def entered(self, side: Side) -> int:
        return self._entered.get(side, 0)


def _due(state: JoinState, theta: Theta, until: Times, turns: Sequence[Turn]) -> bool:
    """A row that is held leaves: other steps without new rows change nothing."""
    if theta.rows is None or until.right == ENDED:
        return due(state, until)
    for turn in turns:
        held = (state.left if turn.side == "left" else state.right).held().row
        if (held < turn.stop - theta.rows.of(turn.side)).any():
            return True
    return False


class OperandRows:
    """A left row and right rows, and by row number the columns that conditions read."""

    def __init__(self, left: KeyRow, found: Sequence[Candidates]) -> None:
        """`found`: by each of the conditions. A right row may be in several."""
        fitting = [one.fitting for one in found]
        self.right, first = np.unique(np.concatenate([one.rows for one in fitting]), return_index=True)
        self.times = np.concatenate([one.times for one in fitting])[first]
        self.commits = np.concatenate([one.commits for one in fitting])[first]
        columns = {
            name: pa.concat_arrays([one.columns[name] for one in fitting]).take(pa.array(first))
            for name in fitting[0].columns
        }
        self._rows: dict[Side, Int64s] = {"left": np.array([left.row]), "right": self.right}
        self._columns: dict[Side, Columns] = {"left": found[0].left, "right": columns}

    def __call__(self, side: Side, rows: Int64s) -> Columns:
        places = pa.array(np.searchsorted(self._rows[side], rows), mask=rows < 0)
        return {name: column.take(places) for name, column in self._columns[side].items()}


def arrivals(rows: Int64s, times: Int64s) -> Arrivals:
    return Arrivals(rows << 32, times, rows)
