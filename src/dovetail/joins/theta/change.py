"""One configuration of a theta join becomes another, between two steps: what becomes of rows in flight.

With a window of event time the rules are those of the interval join (`interval/change.py`), with these words
for what is special here:

- Condition: pairs that have met were judged by the old condition. Rows that come after the change, and rows
  that meet in its step, are judged by the new one.
- Where only pairs come out (inner, match all), the state is the log: left rows whose window is open take part
  again, also those that had closed or were done. They meet what has arrived in the added parts, as others.
- Where lone right rows come out, those that were there come out in pairs only if it did not matter before
  whether they had one, and so do right rows that are read back.
- Such a join does not keep which left rows have had a partner. If the new one needs to know, the right rows
  that had arrived are looked at once more, by the old condition and as far as the log has them.

With a window that counts rows a row looks at the other side when it enters, and at no other time. So a larger
window takes rows back from the log, for rows that come after the change, and no pair comes out in its step
but for picks: a partner that was picked comes out if the new join does not put picks off, and stays picked
if it does, whatever the rule. Of a join that only lets pairs out, left rows count as having had a partner.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.emitted import NONE, Counts, Emitted, Int64s
from dovetail.joins.interval.change import CameAgain, Found, came_again
from dovetail.joins.kind import counted_totals
from dovetail.joins.read_back import read_last_rows, read_since
from dovetail.joins.state import JoinState, close, open_bound, retain_bound
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.tactics import Sides
from dovetail.joins.theta.advance import means_of
from dovetail.joins.theta.step import (
    Means,
    decided,
    emitted_of,
    in_order_of,
    index_of,
    let_right_go,
    mark_picked,
    met_in,
)
from dovetail.model.join_kind import JoinKind, ThetaJoin
from dovetail.model.kind_change import Range, meets_again, read_back
from dovetail.model.share import SIDES, Side
from dovetail.model.theta import CountWindow


class Kinds(NamedTuple):
    """`reads_left`: whether the left rows of each are those of the log, whatever they have met."""

    old: ThetaJoin
    new: ThetaJoin
    reads_left: tuple[bool, bool]

    @classmethod
    def of(cls, old: JoinKind, new: JoinKind) -> Kinds:
        assert isinstance(old, ThetaJoin)
        assert isinstance(new, ThetaJoin)
        return cls(old, new, (old.reads_left, new.reads_left))

    @property
    def deals_otherwise(self) -> bool:
        return self.old.dealt != self.new.dealt


class Again(Protocol):
    """Rows that had come before the change, as far as the log has them. Those of a side from an event time
    on, or the last N, are put into a buffer. `every_row`: not only those of this task."""

    def since(self, side: Side, into: Buffer, since_us: int, *, every_row: bool = False) -> None: ...

    def last(self, side: Side, into: Buffer, rows: int) -> None: ...

    def entered(self, side: Side) -> int:
        """How many rows have come."""


class _FromLog:
    def __init__(self, given: StepInput) -> None:
        self._given = given

    def since(self, side: Side, into: Buffer, since_us: int, *, every_row: bool = False) -> None:
        share = self._given.share.every_row if every_row else self._given.share
        read_since(self._given.config, share, side, into, self._given.end, since_us, NONE)

    def last(self, side: Side, into: Buffer, rows: int) -> None:
        read_last_rows(self._given.config, self._given.share, side, into, self._given.end, rows, NONE)

    def entered(self, side: Side) -> int:
        given = self._given
        if side == "left":
            return given.left.category.first_row(given.end.left)
        return given.right.category.first_row(given.end.right)


def change(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    assert given.was is not None
    kinds = Kinds.of(given.was.join_kind, given.config.join_kind)
    at.runs.clear()  # they are of the old condition: the next step indexes what is held
    new, old = means_of(kinds.new, given, at.runs), partial(means_of, kinds.old, given, {})
    if given.start.ended:
        emitted = changed_empty(at.state, kinds, new)
    else:
        since = 0 if kinds.new.theta.rows else read_back(kinds.old, kinds.new, given.end)[1]
        emitted = changed(at.state, kinds, _FromLog(given), new, old, since)
    if kinds.new.in_order:
        emitted = in_order_of(emitted, ())
    return emitted, counted_totals(at, emitted, left_matched=given.share.dealt != SIDES)


def changed_empty(state: JoinState, kinds: Kinds, means: Means) -> Emitted:
    """Both streams have ended: nothing is held."""
    came = came_again(kinds.old.spec, kinds.new.spec, state.left.held())
    return _turned(state, kinds, came, (NONE, NONE), state.right, means, came.open, (0, 0))


def changed(
    state: JoinState, kinds: Kinds, again: Again, means: Means, old_means: Callable[[], Means], since_us: int
) -> Emitted:
    """Make the state one of the new kind, and say what comes out. `since_us`: right rows from then on may
    meet left rows once more."""
    if (rows := kinds.new.theta.rows) is not None:
        return _counted(state, kinds, again, means, rows)
    return _timed(state, kinds, again, means, old_means, since_us)


def _timed(
    state: JoinState, kinds: Kinds, again: Again, means: Means, old_means: Callable[[], Means], since_us: int
) -> Emitted:
    old, new, (reads_old, reads_new) = kinds
    held, arrived = state.left.held(), Buffer.empty("right", False)
    forgot = reads_old and not reads_new
    if meets_again(old.spec, new.spec) or forgot:
        # A pair is looked at where its left row is stored, so that takes all right rows.
        again.since("right", arrived, since_us, every_row=True)
    if forgot:
        had, _ = _probed(old_means(), held, np.arange(len(held.row)), arrived, _window(old))
        matched = np.zeros(len(held.row), np.bool_)
        matched[had] = True
        held = held._replace(matched=matched)
    if reads_new:
        left = Buffer.empty("left", False)
        again.since("left", left, open_bound(new.spec, state.times))
        held = _with_picks(left.held(), held) if old.spec.defers_pick else left.held()
    came = came_again(old.spec, new.spec, held)
    met = came.meetings(old.spec, new.spec, lambda some, part: _probed(means, came.open, some, arrived, part))
    bound, may_be_lone = retain_bound(new.spec, state.times), _may_be_lone(state, kinds)
    if kinds.deals_otherwise or bound < retain_bound(old.spec, state.times):
        state.right = state.right.emptied(with_best=False)
        again.since("right", state.right, bound)
    _mark_others(state, kinds, may_be_lone)
    bounds = open_bound(new.spec, state.times), bound
    return _turned(state, kinds, came, met, arrived, means, came.open, bounds)


def _counted(state: JoinState, kinds: Kinds, again: Again, means: Means, rows: CountWindow) -> Emitted:
    old, new, (reads_old, reads_new) = kinds
    held = state.left.held()
    none = np.zeros(len(held.row), np.bool_)
    if reads_old and not reads_new:
        held = held._replace(matched=~none)
    came = came_again(old.spec, new.spec, held)
    if old.spec.defers_pick:  # of those that were met, only the pick is known
        came = CameAgain(held.where(none), held, held.matched, none)
    stays = came.open
    if reads_new:
        left = Buffer.empty("left", False)
        again.last("left", left, rows.left_rows)
        stays = left.held()
    assert old.theta.rows is not None
    may_be_lone = _may_be_lone(state, kinds)
    if kinds.deals_otherwise or rows.right_rows > old.theta.rows.right_rows:
        state.right = state.right.emptied(with_best=False)
        again.last("right", state.right, rows.right_rows)
    _mark_others(state, kinds, may_be_lone)
    bounds = again.entered("left") - rows.left_rows, again.entered("right") - rows.right_rows
    return _turned(state, kinds, came, (NONE, NONE), state.right, means, stays, bounds)


def _may_be_lone(state: JoinState, kinds: Kinds) -> Int64s:
    """The right rows of which it is known that they have had no partner."""
    if not kinds.old.spec.keeps_right:
        return NONE
    held = state.right.held()
    return held.row[~held.matched]


def _mark_others(state: JoinState, kinds: Kinds, may_be_lone: Int64s) -> None:
    if kinds.new.spec.keeps_right:
        slots = state.right.slots()
        state.right.mark(slots[~np.isin(state.right.at(slots)[0], may_be_lone)])


def _turned(
    state: JoinState,
    kinds: Kinds,
    came: CameAgain,
    met: Found,
    right: Buffer,
    means: Means,
    stays: Held,
    bounds: tuple[int, int],
) -> Emitted:
    """Decide what meets, and let the left rows in that stay open: those from the first bound on. Right rows
    stay from the second one on."""
    spec = kinds.new.spec
    state.spec, state.left = spec, state.left.emptied(spec.defers_pick)
    nobody = came.open.where(np.zeros(len(came.open.row), np.bool_))
    sides = Sides(state.left, right, came.open, nobody, NONE, means.worth, marks=False)
    decision = decided(state, sides, came.pairs(met, right))
    closing, _ = close(state, stays, bounds[0])
    mark_picked(state, closing)
    peak_rows = len(came.open.row) + len(came.done.row) + state.right_rows
    right_alone = [let_right_go(state, bounds[1])]
    emitted = emitted_of(state, means, [decision], [closing], NONE, right_alone, Counts(), peak_rows)
    counts = emitted.counts
    return emitted._replace(counts=counts._replace(left_matched=counts.left_matched + len(came.done.row)))


def _probed(means: Means, open_: Held, some: Int64s, arrived: Buffer, part: Range) -> Found:
    """The right rows that had arrived for some of the left rows, within a part of their window."""
    if not len(some) or not arrived.rows:
        return NONE, NONE
    alone = means._replace(indexed={})
    probes = Held._make(column[some] for column in open_)
    index = index_of(alone, (-part[0], part[1]), "right", arrived)
    at, slots = met_in(alone, index, probes, alone.looked("left", probes), arrived)
    return some[at], slots


def _window(kind: ThetaJoin) -> Range:
    return -kind.spec.before_us, kind.spec.after_us


def _with_picks(rows: Held, held: Held) -> Held:
    """Rows from the log, with what those of them that were held have picked."""
    order = np.argsort(held.row)
    at = np.minimum(np.searchsorted(held.row, rows.row, sorter=order), max(len(held.row) - 1, 0))
    if not len(held.row):
        return rows
    found = order[at]
    same = held.row[found] == rows.row
    return rows._replace(
        matched=same & held.matched[found],
        best_time=np.where(same, held.best_time[found], rows.best_time),
        best_row=np.where(same, held.best_row[found], rows.best_row),
    )
