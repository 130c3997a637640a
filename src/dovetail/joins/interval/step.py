"""The interval join: two streams, equal keys, event times within bounds.

Idea. Both sides are buffered in hash tables. A new row probes the other side's buffer, so a pair comes out as
soon as both rows are in. Stream times say when to stop waiting:

      left  ──── l ─────────────►  T_left          l is open      until T_right > l.time + after
                 │
            ┌────┴────┐
      ──────┤ before  │ after ├────►  T_right       r is retained  until r.time < T_left - before

    An example with before = after = 3 min. l = 11:59 is in. r = 12:01 comes: the pair comes out at once.
    T_right passes 12:02: l closes; had nothing come, an outer join would emit (l, null) now.
    T_left passes 12:04: r is evicted; any left row that could match it is older than the stream's time.

Paper. Providing Streaming Joins as a Service at Facebook, VLDB 2018: semantics section 3, operator section
5.1.

Vocabulary. stream time = the paper's PT; buffer of the left engine = open rows; join window of the right
engine = retained rows; 1-to-n, 1-to-1 = match all, one.

Differs. The paper buffers only left rows that have not matched and retries them; here new right rows probe
the open left rows, so no retry is needed. Right (future work in its section 9, as is picking a match), full,
semi and anti joins are ours. Results are exact where no row is later than its stream's time.

Law. Within one step new left rows see all new right rows and those retained, new right rows see the left rows
that were open. Then the step's end times close and evict. So the output depends only on the state, the new
rows and the times; with no late rows it is the batch join, however the streams are cut and interleaved
(tests/laws).

Cost. One hash probe a row and side, one insert for a right row, one for a left row that stays open.
"""

from __future__ import annotations

import numpy as np

from dovetail.joins.buffer import Held
from dovetail.joins.caps import KeyLabels, beyond
from dovetail.joins.emitted import NO_COPIES, NONE, Copies, Counts, Emitted, Int64s, SameKey, counted
from dovetail.joins.state import JoinState, close, open_bound, probe_bound, retain_bound
from dovetail.joins.streams import Arrivals, Times, usable
from dovetail.joins.tactics import Emission, Pairs, Sides, Worth, done_at_match, mark_right_rows, tactic_for
from dovetail.kernels.pick import NO_ROW
from dovetail.model.interval import IntervalSpec
from dovetail.model.time_codes import NULL_KEY


def step(
    state: JoinState,
    left: Arrivals,
    right: Arrivals,
    until: Times,
    same_key: SameKey | None = None,
    key_labels: KeyLabels | None = None,
    copies: Copies = NO_COPIES,
    worth: Worth | None = None,
) -> Emitted:
    """Take in new rows, let the stream times pass to `until`, and say what comes out.

    `copies` knows the rows that other states have too: they are not counted here. `worth` compares partners
    where they are picked by value.
    Without `same_key` and `key_labels` two rows count as having equal keys if the upper halves of their
    hashes are equal, and those bits of the lower halves that are known.
    """
    spec, before = state.spec, state.times
    until = until.after(before)
    new_left, void_left = usable(left, picks=spec.match == "one")
    new_right, void_right = usable(right, picks=False)

    # 1. Probe and insert: everything new against everything that is there.
    sides = Sides(state.left, state.right, new_left, new_right, state.right.insert(new_right), worth)
    peak_rows = state.left_rows + state.right_rows
    candidates = _probe(spec, before, sides)
    pairs = candidates if same_key is None else _verified(candidates, sides, same_key)
    decision = tactic_for(spec)(spec, sides, pairs)

    # 2. Time passes: left rows close, those that are new and still open stay, right rows are evicted.
    state.times = until
    gone, closing = let_go(state, new_left, new_right, decision, key_labels)
    lone_left, lone_right = gone.left_alone, gone.right_alone
    if spec.keeps_left:
        lone_left = np.concatenate([lone_left, void_left])
    if spec.keeps_right:
        lone_right = np.concatenate([lone_right, void_right])

    own_left, own_right = counted(new_left, copies.left), counted(new_right, copies.right)
    matched, split = decided(spec, decision, closing, copies)
    counts = Counts(
        left_in=len(own_left.row) + len(void_left),
        right_in=len(own_right.row) + len(void_right),
        pairs=len(gone.left),
        left_alone=len(lone_left),
        right_alone=len(lone_right),
        left_matched=matched,
        left_split=split,
        left_late=int(np.count_nonzero(own_left.time < before.left)),
        right_late=int(np.count_nonzero(own_right.time < before.right)),
        left_void=int(np.count_nonzero(left.time == NULL_KEY)),
        right_void=int(np.count_nonzero(right.time == NULL_KEY)),
        left_invalid=len(void_left) - int(np.count_nonzero(left.time == NULL_KEY)),
        right_invalid=len(void_right) - int(np.count_nonzero(right.time == NULL_KEY)),
        left_capped=len(gone.capped[0]),
        right_capped=len(gone.capped[1]),
        collisions=len(candidates.new) + len(candidates.waiting) - len(pairs.new) - len(pairs.waiting),
    )
    peak_rows = max(peak_rows, gone.peak_rows)
    return gone._replace(left_alone=lone_left, right_alone=lone_right, counts=counts, peak_rows=peak_rows)


def let_go(
    state: JoinState, new_left: Held, new_right: Held, decision: Emission, key_labels: KeyLabels | None
) -> tuple[Emitted, Held]:
    """Close and evict by the state's spec and times: what comes out, and the left rows that are no longer
    open. `new_left` enters here; `new_right` has entered."""
    spec = state.spec
    closing, left_capped = close(state, new_left, open_bound(spec, state.times), key_labels)
    left, right, left_alone = decision.left, decision.right, decision.left_alone
    if spec.keeps_left:
        left_alone = closing.row[~closing.matched]
    if spec.defers_pick:
        picked = closing.where(closing.best_row != NO_ROW)
        left, right = picked.row, picked.best_row
        if spec.keeps_right:
            mark_right_rows(state.right, picked.tag, picked.best_row)
    peak_rows = state.left_rows + state.right_rows
    right_alone, right_capped = _evict(state, new_right, key_labels)
    capped = left_capped, right_capped
    return Emitted(left, right, left_alone, right_alone, Counts(), peak_rows, capped), closing


def decided(spec: IntervalSpec, decision: Emission, closing: Held, copies: Copies) -> tuple[int, int]:
    """Left rows that wait no longer: how many had a partner, and of how many no single task knows."""
    if done_at_match(spec):
        return decision.done, 0
    closed = counted(closing, copies.left)
    known = counted(closed, copies.split)
    return int(np.count_nonzero(known.matched)), len(closed.row) - len(known.row)


def _probe(spec: IntervalSpec, times: Times, sides: Sides) -> Pairs:
    """New left rows against all right rows, new right rows against the left rows that were open."""
    right, left = sides.right, sides.left
    new, found = right.probe(sides.new_left, -spec.before_us, spec.after_us)
    came, waiting = left.probe(sides.new_right, -spec.after_us, spec.before_us)
    found_rows, found_times, _ = right.at(found)
    waiting_rows, waiting_times, _ = left.at(waiting)
    pairs = Pairs(new, found, found_rows, found_times, waiting, waiting_rows, waiting_times, came)
    if retain_bound(spec, times) < probe_bound(spec, times):
        # Right rows below the probe bound are kept only to come out alone: not for new left rows.
        visible = np.isin(found, sides.right_slots) | (found_times >= probe_bound(spec, times))
        pairs = pairs.where(visible, np.ones(len(waiting), np.bool_))
    return pairs


def _verified(pairs: Pairs, sides: Sides, same_key: SameKey) -> Pairs:
    if not len(pairs.new) + len(pairs.waiting):
        return pairs
    new = same_key(sides.new_left.row[pairs.new], pairs.found_rows)
    waiting = same_key(pairs.waiting_rows, sides.new_right.row[pairs.came])
    return pairs if new.all() and waiting.all() else pairs.where(new, waiting)


def _evict(state: JoinState, new_right: Held, key_labels: KeyLabels | None) -> tuple[Int64s, Int64s]:
    """Take out right rows that no left row can reach any more, and those that are too many of their key.
    Gives the rows that must come out alone, and those that were too many."""
    spec, buffer = state.spec, state.right
    evicted = buffer.expire(retain_bound(spec, state.times))
    crowded = buffer.kill(beyond(buffer, new_right.tag, spec.right_cap, key_labels))
    if not spec.keeps_right:
        return NONE, buffer.at(crowded)[0]
    rows, _, matched = buffer.at(np.concatenate([evicted, crowded]))
    return rows[~matched], rows[len(evicted) :]
