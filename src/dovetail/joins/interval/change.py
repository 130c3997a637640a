"""One configuration of an interval join becomes another, between two steps: what becomes of rows in flight.

Idea. Left rows that are open come once more, to the new join, with what the old one has given them. The right
rows are those that are held, and those that the new window reaches further back to, as far as the log has
them. No time passes, and no row comes in.

      old window            ├──────── l ────┤
      new window      ├ ─ ─ ┼──────── l ────┼ ─ ─ ┤      l meets what has arrived in the added parts only:
                      added   has met already  added      pairs of the old part have come out

Law. Each pair comes out once. A left row is answered by the old join before the change, and by the new one
from the change on:

- Window wider: an open left row meets, in this step, right rows that had arrived in the added parts. One that
  had closed stays closed.
- Window narrower: a left row that is beyond its new end closes now, alone if lone ones come out and it had no
  partner. A right row that is no longer needed is evicted; where lone ones come out, it does if it had none.
- A left row that has had partners is done if the new join gives one at most (match one, semi, anti).
- A left row that has picked a partner, which has not come out yet: the pick stays if it lies in the new
  window and the rule is the same. If the new join does not put picks off (first, semi), it comes out now.
  With another rule, or match all, the row meets all right rows of its new window that had arrived.
- A left row without a partner stays as it is, and comes out alone if the new join lets it.
- If lone right rows come out from now on, those that were there come out in pairs only. So do right rows that
  are read back: they may have come out before.
- Caps hold at once: what is too much closes or is evicted. A larger one has room for right rows that had to
  go, but not for left rows.

Cost. All open left rows are inserted again, and the right rows that were let go are read from the log: as a
rebuild does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.caps import KeyLabels
from dovetail.joins.emitted import NO_COPIES, NONE, Copies, Counts, Emitted, Int64s, SameKey, counted
from dovetail.joins.interval.step import decided, let_go
from dovetail.joins.state import JoinState
from dovetail.joins.tactics import Pairs, Sides, Worth, done_at_match, tactic_for
from dovetail.kernels.pick import NO_ROW
from dovetail.model.interval import IntervalSpec
from dovetail.model.kind_change import Range, added

Found = tuple[Int64s, Int64s]
"""Positions of left rows, and the slots of the right rows that they meet."""


def changed(
    state: JoinState,
    spec: IntervalSpec,
    same_key: SameKey | None = None,
    key_labels: KeyLabels | None = None,
    copies: Copies = NO_COPIES,
    worth: Worth | None = None,
) -> Emitted:
    """Make `state` one of `spec`, and say what comes out. Its right buffer also has the rows that were read
    back for it (`model/kind_change.py`), marked as having matched."""
    old, right = state.spec, state.right
    if spec.keeps_right and not old.keeps_right:
        right.mark(right.slots())  # whether they have had a partner is not known
    came = came_again(old, spec, state.left.held())
    state.spec, state.left = spec, state.left.emptied(spec.defers_pick)
    peak_rows = len(came.open.row) + right.rows

    candidates = came.meetings(old, spec, lambda some, part: _probed(came.open, some, right, part))
    met = candidates
    if same_key is not None and len(candidates[0]):
        same = same_key(came.open.row[candidates[0]], right.at(candidates[1])[0])
        met = candidates[0][same], candidates[1][same]
    nobody = came.open.where(np.zeros(len(came.open.row), np.bool_))
    sides = Sides(state.left, right, came.open, nobody, NONE, worth)
    decision = tactic_for(spec)(spec, sides, came.pairs(met, right))

    capped = right.held() if spec.right_cap is not None else nobody  # any key may be over a new cap
    gone, closing = let_go(state, came.open, capped, decision, key_labels)
    matched, split = decided(spec, decision, closing, copies)
    counts = Counts(
        pairs=len(gone.left),
        left_alone=len(gone.left_alone),
        right_alone=len(gone.right_alone),
        left_matched=matched + len(counted(came.done, copies.left).row),
        left_split=split,
        left_capped=len(gone.capped[0]),
        right_capped=len(gone.capped[1]),
        collisions=len(candidates[0]) - len(met[0]),
    )
    return gone._replace(counts=counts, peak_rows=max(peak_rows, gone.peak_rows))


class CameAgain:
    """The open left rows of a join that is changed. `done`: those that have had all that the new join would
    give them. Of the others, in `open`: `picked` have the pick that they have made, `afresh` look at their
    whole window again, and the rest at the added parts."""

    def __init__(self, done: Held, open_: Held, picked: NDArray[np.bool_], afresh: NDArray[np.bool_]) -> None:
        self.done, self.picked, self.afresh = done, np.flatnonzero(picked), np.flatnonzero(afresh)
        self._picks = open_.best_row[self.picked], open_.best_time[self.picked]
        # Tactics write into these columns. Who has a pick, or looks again, has had nothing so far.
        nothing = np.full(len(open_.row), NO_ROW, np.int64)
        self.open = open_._replace(
            matched=open_.matched & ~picked & ~afresh, best_time=nothing, best_row=nothing.copy()
        )

    def pairs(self, met: Found, right: Buffer) -> Pairs:
        """The pairs of this step: those that meet, and the picks, which compete with them."""
        rows, times, _ = right.at(met[1])
        new = np.concatenate([met[0], self.picked])
        slots = np.concatenate([met[1], np.full(len(self.picked), -1, np.int64)])
        rows, times = np.concatenate([rows, self._picks[0]]), np.concatenate([times, self._picks[1]])
        return Pairs(new, slots, rows, times, NONE, NONE, NONE, NONE)

    def meetings(
        self, old: IntervalSpec, spec: IntervalSpec, probe: Callable[[Int64s, Range], Found]
    ) -> Found:
        """Whom the rows meet. `probe` gives partners of some of them, within a part of their window."""
        looks = np.ones(len(self.open.row), np.bool_)
        looks[self.afresh] = False
        if done_at_match(spec):
            looks[self.picked] = False
        others = np.flatnonzero(looks)
        found = [probe(others, part) for part in added(old, spec)]
        found.append(probe(self.afresh, (-spec.before_us, spec.after_us)))
        left, slots = zip(*found, strict=True)
        return np.concatenate(left), np.concatenate(slots)


def came_again(old: IntervalSpec, spec: IntervalSpec, held: Held) -> CameAgain:
    none = np.zeros(len(held.row), np.bool_)
    if not old.defers_pick:
        done = none if spec.emits_pairs and spec.match == "all" else held.matched
        return CameAgain(held.where(done), held.where(~done), none[~done], none[~done])
    same_rule = spec.defers_pick and (old.pick, old.picked_by) == (spec.pick, spec.picked_by)
    picked = none
    if same_rule or done_at_match(spec):
        away = held.best_time - held.time
        picked = held.matched & (away >= -spec.before_us) & (away <= spec.after_us)
    return CameAgain(held.where(none), held, picked, held.matched & ~picked)


def _probed(open_: Held, some: Int64s, right: Buffer, part: Range) -> Found:
    if not len(some):
        return NONE, NONE
    at, slots = right.probe(Held._make(column[some] for column in open_), *part)
    return some[at], slots
