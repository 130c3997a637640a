"""One configuration of a theta join becomes another, between two steps: what becomes of rows in flight.

With a window of event time the rules are those of the interval join (`interval/change.py`), with these words
for what is special here:

- Condition: pairs that have met were judged by the old condition. Rows that come after the change, and rows
  that meet in its step, are judged by the new one.
- Where only pairs come out (inner, match all), the state is the log: left rows whose window is open take part
  again, also those that had closed or were done. They meet what has arrived in the added parts, as others.
- Such a join does not keep which left rows have had a partner. If the new one needs to know, the right rows
  that had arrived are looked at once more, by the old condition and as far as the log has them.

With a window that counts rows a row looks at the other side when it enters, and at no other time. So a larger
window takes rows back from the log, for rows that come after the change, and no pair comes out in its step
but for picks: a partner that was picked comes out if the new join does not put picks off, and stays picked
if it does, whatever the rule. Of a join that only lets pairs out, left rows count as having had a partner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.emitted import NONE, Counts, Emitted, Int64s
from dovetail.joins.interval.change import CameAgain, Found, came_again
from dovetail.joins.kind import counted_totals
from dovetail.joins.read_back import read_last_rows, read_since
from dovetail.joins.state import JoinState, close, open_bound, retain_bound
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.tactics import Sides, tactic_for
from dovetail.joins.theta.advance import means_of
from dovetail.joins.theta.step import Means, emitted_of, in_order_of, index_of, met_in
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.kind_change import Range, meets_again, read_back, reads_left
from dovetail.model.share import SIDES
from dovetail.model.theta import CountWindow


class _Kinds(NamedTuple):
    old: ThetaJoin
    new: ThetaJoin


def change(at: LiveState, given: StepInput) -> tuple[Emitted, Totals]:
    assert given.was is not None
    kinds = _Kinds(_theta(given.was.join_kind), _theta(given.config.join_kind))
    at.runs.clear()  # they are of the old condition: the next step indexes what is held
    state, rows = at.state, kinds.new.theta.rows
    means = means_of(kinds.new, given, at.runs)
    if given.start.ended:  # nothing is held
        came, right = came_again(kinds.old.spec, kinds.new.spec, state.left.held()), state.right
        emitted = _turned(state, kinds, came, (NONE, NONE), right, means, came.open, 0)
    elif rows is None:
        emitted = _timed(state, kinds, given, means)
    else:
        emitted = _counted(state, kinds, given, means, rows)
    if kinds.new.in_order:
        emitted = in_order_of(emitted, ())
    return emitted, counted_totals(at, emitted, left_matched=given.share.dealt != SIDES)


def _timed(state: JoinState, kinds: _Kinds, given: StepInput, means: Means) -> Emitted:
    config, share, (old, new) = given.config, given.share, kinds
    held, arrived = state.left.held(), Buffer.empty("right", False)
    forgot = reads_left(old) and not reads_left(new)
    if meets_again(old.spec, new.spec) or forgot:
        # A pair is looked at where its left row is stored, so that takes all right rows.
        since = read_back(old, new, given.end)[1]
        read_since(config, share.every_row, "right", arrived, given.end, since, NONE)
    if forgot:
        had, _ = _probed(means_of(old, given, {}), held, np.arange(len(held.row)), arrived, _window(old))
        matched = np.zeros(len(held.row), np.bool_)
        matched[had] = True
        held = held._replace(matched=matched)
    if reads_left(new):
        left = Buffer.empty("left", False)
        read_since(config, share, "left", left, given.end, open_bound(new.spec, state.times), NONE)
        held = _with_picks(left.held(), held) if old.spec.defers_pick else left.held()
    came = came_again(old.spec, new.spec, held)
    met = came.meetings(old.spec, new.spec, lambda some, part: _probed(means, came.open, some, arrived, part))
    bound = retain_bound(new.spec, state.times)
    if old.dealt != new.dealt or bound < retain_bound(old.spec, state.times):
        state.right = state.right.emptied(with_best=False)
        read_since(config, share, "right", state.right, given.end, bound, NONE)
    emitted = _turned(state, kinds, came, met, arrived, means, came.open, open_bound(new.spec, state.times))
    state.right.expire(bound)
    return emitted


def _counted(state: JoinState, kinds: _Kinds, given: StepInput, means: Means, rows: CountWindow) -> Emitted:
    config, share, (old, new) = given.config, given.share, kinds
    held = state.left.held()
    none = np.zeros(len(held.row), np.bool_)
    if reads_left(old) and not reads_left(new):
        held = held._replace(matched=~none)
    came = came_again(old.spec, new.spec, held)
    if old.spec.defers_pick:  # of those that were met, only the pick is known
        came = CameAgain(held.where(none), held, held.matched, none)
    stays = came.open
    if reads_left(new):
        left = Buffer.empty("left", False)
        read_last_rows(config, share, "left", left, given.end, rows.left_rows)
        stays = left.held()
    assert old.theta.rows is not None
    if old.dealt != new.dealt or rows.right_rows > old.theta.rows.right_rows:
        state.right = state.right.emptied(with_best=False)
        read_last_rows(config, share, "right", state.right, given.end, rows.right_rows)
    bound = given.left.category.first_row(given.end.left) - rows.left_rows
    emitted = _turned(state, kinds, came, (NONE, NONE), state.right, means, stays, bound)
    state.right.expire(given.right.category.first_row(given.end.right) - rows.right_rows)
    return emitted


def _turned(
    state: JoinState,
    kinds: _Kinds,
    came: CameAgain,
    met: Found,
    right: Buffer,
    means: Means,
    stays: Held,
    bound: int,
) -> Emitted:
    """Decide what meets, and let the left rows in that stay open: those from the bound on."""
    spec = kinds.new.spec
    state.spec, state.left = spec, state.left.emptied(spec.defers_pick)
    nobody = came.open.where(np.zeros(len(came.open.row), np.bool_))
    sides = Sides(state.left, right, came.open, nobody, NONE, means.worth)
    decision = tactic_for(spec)(spec, sides, came.pairs(met, right))
    closing, _ = close(state, stays, bound)
    peak_rows = len(came.open.row) + len(came.done.row) + state.right_rows
    emitted = emitted_of(state, means, [decision], [closing], NONE, Counts(), peak_rows)
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


def _theta(kind: object) -> ThetaJoin:
    assert isinstance(kind, ThetaJoin)
    return kind
