"""The right rows of a theta join that bear on a left row: those in its window, for how many of them each part
of the condition fails, and the nearest one outside for which all of it holds.

Law: all of the log is looked at, by whole columns, a segment at a time; only the columns that the condition
reads are touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dovetail.joins.rows.arrivals import TIME
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.theta.condition import Columns, comparable, holds
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import Expression, Theta
from dovetail.model.theta_text import conjuncts
from dovetail.model.time_codes import FIRST_TIME

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]
Beyond = Callable[[Int64s, Int64s], Int64s]
"""`beyond(rows, times)`: how far right rows lie outside the window: negative before it, 0 inside."""


@dataclass
class Fitting:
    """Right rows in a window for which the condition holds: number, time, commit, and its operands."""

    rows: Int64s
    times: Int64s
    commits: Int64s
    columns: dict[str, pa.Array]

    @classmethod
    def none(cls, names: Iterable[str], schema: pa.Schema) -> Fitting:
        columns = {name: comparable(pa.array([], schema.field(name).type)) for name in names}
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), columns)

    def add(self, rows: Int64s, times: Int64s, commit: int, columns: Columns) -> None:
        self.rows = np.concatenate([self.rows, rows])
        self.times = np.concatenate([self.times, times])
        self.commits = np.concatenate([self.commits, np.full(len(rows), commit, np.int64)])
        for name, column in columns.items():
            self.columns[name] = pa.concat_arrays([self.columns[name], column])


@dataclass
class Candidates:
    """The candidates of one left row, whose operands are `left`. `failing`: for how many of the right rows
    `in_window` each part of the condition fails. `closest`: the number of the right row for which the fewest
    parts fail. `nearest`: of the rows outside the window for which the condition holds, the number of the one
    nearest to it; `by` is its distance. `seen`: how many right rows the log has."""

    beyond: Beyond
    left: Mapping[str, pa.Array]
    failing: list[int]
    fitting: Fitting
    in_window: int = 0
    closest: int | None = None
    closest_fails: int = 0
    nearest: int | None = None
    by: int = 0
    seen: int = 0


def candidates(
    theta: Theta,
    left: Sequence[tuple[KeyRow, Beyond]],
    schema: pa.Schema,
    right: Category,
    read: Sequence[Theta] = (),
) -> list[Candidates]:
    """For each left row, of a category with this schema. `read`: conditions whose columns are wanted, too."""
    parts = conjuncts(theta)
    names: dict[Side, list[str]] = {
        side: list(dict.fromkeys(name for one in (theta, *read) for name in one.columns(side)))
        for side in SIDES
    }
    found = [
        Candidates(
            beyond,
            _operands(names["left"], row, schema),
            [0] * len(parts),
            Fitting.none(names["right"], right.schema),
        )
        for row, beyond in left
    ]
    for commit in right.commits(right.first_commit(), right.next_commit()):
        _look(theta, parts, names["right"], found, commit, right)
    return found


def _operands(names: Sequence[str], left: KeyRow, schema: pa.Schema) -> dict[str, pa.Array]:
    return {name: comparable(pa.array([left.values[name]], schema.field(name).type)) for name in names}


def _look(
    theta: Theta,
    parts: Sequence[Expression],
    names: Sequence[str],
    found: Sequence[Candidates],
    commit: Commit,
    right: Category,
) -> None:
    for info in commit.segments:
        table = right.open_segment(info).mapped
        columns = {name: comparable(table.column(name)) for name in names}
        times = table.column(TIME).to_numpy()
        rows = info.first_row + np.arange(info.rows, dtype=np.int64)
        possible = np.ones(len(rows), np.bool_) if theta.rows is not None else times >= FIRST_TIME
        again = pa.array(np.zeros(len(rows), np.int64))
        for one in found:
            left = {name: column.take(again) for name, column in one.left.items()}
            fails = np.array([~holds(part, left, columns) for part in parts]).reshape(-1, len(rows))
            far = one.beyond(rows, times)
            one.seen += len(rows)
            _inside(one, np.flatnonzero(possible & (far == 0)), fails, rows, times, columns, commit.number)
            _outside(one, np.flatnonzero(possible & (far != 0) & ~fails.any(axis=0)), far, rows)


def _inside(
    one: Candidates, at: Int64s, fails: Bools, rows: Int64s, times: Int64s, columns: Columns, commit: int
) -> None:
    if not len(at):
        return
    one.in_window += len(at)
    one.failing = [count + int(part[at].sum()) for count, part in zip(one.failing, fails, strict=True)]
    how_many = fails[:, at].sum(axis=0)
    best = int(np.argmin(how_many))
    if one.closest is None or how_many[best] < one.closest_fails:
        one.closest, one.closest_fails = int(rows[at[best]]), int(how_many[best])
    fit = at[how_many == 0]
    if len(fit):
        taken = {name: column.take(pa.array(fit)) for name, column in columns.items()}
        one.fitting.add(rows[fit], times[fit], commit, taken)


def _outside(one: Candidates, at: Int64s, far: Int64s, rows: Int64s) -> None:
    if len(at):
        nearest = at[np.argmin(np.abs(far[at]))]
        if one.nearest is None or abs(int(far[nearest])) < abs(one.by):
            one.nearest, one.by = int(rows[nearest]), int(far[nearest])
