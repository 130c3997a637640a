# ruff: noqa: E741  (l and r are the words of the definition)
"""Theta joins for the laws: conditions with their meaning in Python, and a join in several tasks in
memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.joins.state import JoinState
from dovetail.joins.streams import Arrivals, Times
from dovetail.joins.theta.step import Indexed, Means, Turn, step
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.share import SIDES, Share
from dovetail.model.theta import (
    Band,
    Bound,
    Constant,
    CountWindow,
    Operand,
    Operation,
    Term,
    Theta,
    dealt_sides,
)
from dovetail.model.time_codes import NO_TIME
from streams import Mode, Row
from theta_oracle import in_order

INT64 = np.iinfo(np.int64)
L, R = Operand("left", "_on_0"), Operand("right", "_on_0")


def number(value: int) -> Constant:
    return Constant("int", str(value))


def band(low: int | None, high: int | None, strict: bool = False) -> Band:
    """Bounds of `l - r`."""
    spelled = []
    if low is not None:
        spelled.append(Operation(">" if strict else ">=", (Operation("-", (L, R)), number(low))))
    if high is not None:
        spelled.append(Operation("<" if strict else "<=", (Operation("-", (L, R)), number(high))))
    bounds = [None if b is None else Bound(str(b), strict, str(abs(b))) for b in (low, high)]
    return Band((Term(1, "_on_0"),), (Term(1, "_on_0"),), *bounds, tuple(spelled))


class Condition(NamedTuple):
    name: str
    theta: Theta
    holds: Callable[[int, int], bool]


EVEN = Operation("=", (Operation("%", (Operation("+", (L, R)), number(2))), number(0)))
CONDITIONS = (
    Condition("band", Theta((band(-1, 1),)), lambda l, r: -1 <= l - r <= 1),
    Condition("strict band", Theta((band(-2, 1, True),)), lambda l, r: -2 < l - r < 1),
    Condition("half a band", Theta((band(1, None),)), lambda l, r: l - r >= 1),
    Condition("two bands", Theta((band(-2, 2), band(0, None))), lambda l, r: 0 <= l - r <= 2),
    Condition("no band", Theta((), (Operation("<>", (L, R)),)), lambda l, r: l != r),
    Condition("a band and more", Theta((band(-2, 2),), (EVEN,)), lambda l, r: abs(l - r) in (0, 2)),
    Condition("nothing holds", Theta((band(7, 9),)), lambda l, r: False),
)
MODES = (
    Mode("inner", "all", "first"),
    Mode("left", "all", "first"),
    Mode("semi", "all", "first"),
    Mode("anti", "all", "first"),
    Mode("full", "all", "first"),
    *(Mode(how, "one", pick) for how in ("inner", "left", "full") for pick in ("first", "nearest", "latest")),
    Mode("right", "one", "nearest"),
)


class Tasks:
    """The tasks of one theta join, one after another; row numbers are the rows' ids."""

    def __init__(self, window: tuple[int, int], mode: Mode, theta: Theta, tasks: int) -> None:
        self.theta, self.mode = theta, mode
        spec = IntervalSpec(*window, *mode)
        tasks = min(tasks, ThetaJoin(spec, theta).most_tasks(1))
        self.states = [JoinState.empty(spec) for _ in range(tasks)]
        self.indexed: list[Indexed] = [{} for _ in range(tasks)]
        self.values: dict[str, dict[int, int | None]] = {"left": {}, "right": {}}

    def timed(
        self,
        left: tuple[Row, ...],
        right: tuple[Row, ...],
        until: tuple[float, float],
        forgetting: bool = False,
    ) -> list:
        turns = [("left", left), ("right", right)]
        return in_order(row for part in self.parts(turns, until, forgetting) for row in part)

    def parts(
        self, turns: list[tuple[str, tuple[Row, ...]]], until: tuple[float, float], forgetting: bool = False
    ) -> list[list]:
        """What each task puts out, in its order: pairs, lone left rows, lone right rows. `forgetting`: the
        index of its rows has to be made again."""
        rows = {side: [row for turn, rows in turns if turn == side for row in rows] for side in SIDES}
        for side in SIDES:
            self.values[side].update((row.id, row.key) for row in rows[side])
        times = Times(*(int(max(INT64.min, min(INT64.max, time))) for time in until))
        made = [Turn(side, rows[0].id, rows[-1].id + 1) for side, rows in turns if rows]
        out = []
        for number_, state in enumerate(self.states):
            if forgetting:
                self.indexed[number_].clear()
            share = Share(number_, len(self.states), 1, (), dealt_sides(*self.mode[:2]))
            looks = share.every_row if share.dealt == SIDES else share
            new = [_arrivals(rows[side], looks, side) for side in SIDES]
            emitted = step(
                state,
                *new,
                times,
                made,
                Means(self.theta, self._operands, share, self.indexed[number_], {"left": 0, "right": 0}),
            )
            pairs = list(zip(emitted.left.tolist(), emitted.right.tolist(), strict=True))
            pairs += [(row, None) for row in emitted.left_alone.tolist()]
            out.append(pairs + [(None, row) for row in emitted.right_alone.tolist()])
        return out

    @property
    def waiting(self) -> tuple[int, int]:
        return sum(s.left_rows for s in self.states), sum(s.right_rows for s in self.states)

    def _operands(self, side: str, rows: np.ndarray) -> dict[str, pa.Array]:
        return {"_on_0": pa.array([self.values[side][row] for row in rows.tolist()], pa.int64())}


def counting(theta: Theta, left_rows: int, right_rows: int) -> Theta:
    return Theta(theta.bands, theta.rest, CountWindow(left_rows, right_rows), theta.order)


def _arrivals(rows: list[Row], share: Share, side: str) -> Arrivals:
    numbers = np.array([row.id for row in rows], np.int64)
    times = np.array([NO_TIME if row.time is None else row.time for row in rows], np.int64)
    kept = share.holds(side, numbers)
    return Arrivals(numbers[kept] << 32, times[kept], numbers[kept])
