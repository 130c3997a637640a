"""The theta join: two streams, any condition over both rows, a window of event time or a number of rows.

Idea. Without an equality there is no key to shard by. SplitJoin separates storing from processing: every task
sees all new rows, stores its round-robin share of them, and probes what it has stored. Each pair meets where
the row that came first is stored, and tasks need not talk to each other.

      new left  l ──┬──────────────┬─────►  task 0  stores l if its number says so, probes its right rows
                    │              │
                    └── (the same) └─────►  task 1  stores others, probes its own right rows

Paper. SplitJoin: A Scalable, Low-latency Stream Join Architecture with Adjustable Ordering Precision,
USENIX ATC 2016: storing and processing apart, round-robin storage, count and time windows with their
expiration, ordering.

Vocabulary. join core = task; sub-window = what a task stores; distribution tree = the log, which every task
maps; expiration = closing (left rows) and evicting (right rows).

Differs. Rows come by steps, not one by one: in a step new left rows see all new right rows and those
retained, new right rows see the left rows that were open (as in `interval/step.py`). Tasks do not count rows
to find out whose turn it is: the row's number in the log decides, so rows can be dealt again to another
number of tasks. The paper knows inner joins. Where a left row must decide alone (outer, semi, anti, at most
one partner), left rows are dealt out and right rows are stored by every task. There are no punctuations: a
task sorts what it puts out in a step, and across tasks there is an order only with one task.

Law. With a window of event time: the rows of `interval.step`, with the condition in place of equal keys.
With a window of N rows: `l` and `r` match if, when the later of them enters, the other is among the last N
rows of its side. Rows enter in turns, commits of one side after commits of the other, as the offset recorded:
so the result does not depend on how the turns are cut into steps. A left row is open until N left rows have
entered after it.

Cost. A search and its candidates for every new row in every task; the candidates are what tasks share.
What is held is indexed once, when it comes (`theta/runs.py`): a step does not look at all of its window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.emitted import NONE, Counts, Emitted
from dovetail.joins.state import JoinState, close, open_bound, probe_bound, retain_bound
from dovetail.joins.streams import ENDED, Arrivals, Times, usable
from dovetail.joins.tactics import Emission, Pairs, Sides, Worth, done_at_match, tactic_for
from dovetail.joins.theta.condition import Columns
from dovetail.joins.theta.layout import IndexLayout, Looked
from dovetail.joins.theta.pairs import pairs_in
from dovetail.joins.theta.runs import Runs, SortedRun, slots_of
from dovetail.kernels.pick import NO_ROW
from dovetail.kernels.ring import tag_of
from dovetail.model.share import SIDES, Share, Side
from dovetail.model.theta import CountWindow, Theta
from dovetail.model.time_codes import FIRST_TIME

Int64s = NDArray[np.int64]
Operands = Callable[[Side, Int64s], Columns]
"""`operands(side, rows)` gives the columns that conditions read, for rows of one side by their numbers."""


class Turn(NamedTuple):
    """Rows of one side that enter one after the other: numbers `first` to `stop - 1`."""

    side: Side
    first: int
    stop: int


Indexed = dict[Side, list[SortedRun]]
"""The sorted runs of both sides. A side that is missing is indexed again, from its ring."""


class Means(NamedTuple):
    """What a step works with: the condition, where its columns are, which rows belong to the task, and the
    index of the buffered rows."""

    theta: Theta
    operands: Operands
    share: Share
    indexed: Indexed
    first_rows: dict[Side, int]
    """The log has no smaller numbers. Nothing that is held has one; what a run still names may."""
    worth: Worth | None = None
    """Compares partners, where they are picked by value."""

    def found(self, side: Side, rows: Int64s) -> Columns:
        """The columns of rows that a run names: nulls for those that are gone."""
        return self.operands(side, np.where(rows < self.first_rows[side], NO_ROW, rows))

    def looked(self, side: Side, held: Held) -> Looked:
        return Looked(held.time, self.operands(side, held.row))


def step(
    state: JoinState,
    left: Arrivals,
    right: Arrivals,
    until: Times,
    turns: Sequence[Turn],
    means: Means,
) -> Emitted:
    """Take in new rows, let time pass or rows push others out, and say what comes out.

    `left` and `right` are the rows that the task looks at: all of them, if both sides are dealt out.
    """
    if means.theta.rows is None:
        emitted = _timed_step(state, left, right, until, means)
    else:
        emitted = _counted_step(state, left, right, until, turns, means, means.theta.rows)
    return emitted if means.theta.order == "none" else in_order_of(emitted, turns)


def _timed_step(state: JoinState, left: Arrivals, right: Arrivals, until: Times, means: Means) -> Emitted:
    spec, before, share = state.spec, state.times, means.share
    until = until.after(before)
    new_left, void_left = usable(left)
    new_right, void_right = usable(right)

    # 1. Probe and insert: everything new against everything that is there. If both sides are dealt out, each
    # task sees all new rows and buffers its own. A pair of new rows then meets where the right one is stored,
    # any other pair where the row that came in an earlier step is. Each row is stored once, so each pair
    # meets once.
    reach = spec.before_us, spec.after_us
    seen_left, seen_right = means.looked("left", new_left), means.looked("right", new_right)
    left_index, right_index = _indexes(means, reach, state)
    slots = state.right.insert(new_right.where(share.holds("right", new_right.row)))
    _file(means, right_index, new_right, seen_right, state.right)
    sides = Sides(state.left, state.right, new_left, new_right, slots, means.worth, marks=False)
    peak_rows = state.left_rows + state.right_rows
    new, found = met_in(means, right_index, new_left, seen_left, state.right)
    if retain_bound(spec, before) < probe_bound(spec, before):
        # Right rows below the probe bound are kept only to come out alone: not for new left rows.
        visible = np.isin(found, slots) | (state.right.at(found)[1] >= probe_bound(spec, before))
        new, found = new[visible], found[visible]
    came, waiting = met_in(means, left_index, new_right, seen_right, state.left)
    decision = decided(state, sides, _pairs(sides, new, found, waiting, came))

    # 2. Time passes: left rows close, those that are new and still open stay, right rows are evicted.
    state.times = until
    # After the tactic: `where` may copy, and the copies need the matches and choices that it has just noted.
    own_left = new_left.where(share.holds("left", new_left.row))
    closing, _ = close(state, own_left, open_bound(spec, until))
    _file(means, left_index, new_left, seen_left, state.left)
    peak_rows = max(peak_rows, state.left_rows + state.right_rows)
    mark_picked(state, closing)
    right_alone = [let_right_go(state, retain_bound(spec, until))]
    if spec.keeps_right:
        right_alone.append(void_right)
    void_left = void_left[share.counts(void_left)]
    own_right = new_right.where(share.counts(new_right.row))
    counts = Counts(
        left_in=len(own_left.row) + len(void_left),
        right_in=len(own_right.row) + int(np.count_nonzero(share.counts(void_right))),
        left_late=int(np.count_nonzero(own_left.time < before.left)),
        right_late=int(np.count_nonzero(own_right.time < before.right)),
        left_invalid=len(void_left),
        right_invalid=int(np.count_nonzero(share.counts(void_right))),
    )
    return emitted_of(state, means, [decision], [closing], void_left, right_alone, counts, peak_rows)


def _counted_step(
    state: JoinState,
    left: Arrivals,
    right: Arrivals,
    until: Times,
    turns: Sequence[Turn],
    means: Means,
    window: CountWindow,
) -> Emitted:
    """In the rings a row's number takes the place of its time, so rows that are pushed out expire as if by
    time.

    Turns run one after another, each against the state that the last one left. So a step gives the same rows
    as its turns would in steps of their own.
    """
    share, held = means.share, {"left": _numbered(left), "right": _numbered(right)}
    decisions: list[Emission] = []
    closings: list[Held] = []
    right_alone: list[Int64s] = []
    nobody = held["left"].where(np.zeros(len(held["left"].row), np.bool_))
    peak_rows = 0
    left_index, right_index = _indexes(means, None, state)
    for turn in turns:
        rows = held[turn.side].row
        new = Held._make(column[slice(*np.searchsorted(rows, turn[1:]))] for column in held[turn.side])
        bound = turn.stop - window.of(turn.side)
        kept, seen = share.holds(turn.side, new.row), means.looked(turn.side, new)
        if turn.side == "left":
            mine, found = met_in(means, right_index, new, seen, state.right)
            sides = Sides(state.left, state.right, new, nobody, NONE, marks=False)
            decisions.append(decided(state, sides, _pairs(sides, mine, found, NONE, NONE)))
            peak_rows = max(peak_rows, state.left_rows + int(np.count_nonzero(kept)) + state.right_rows)
            closings.append(close(state, new.where(kept), bound)[0])
            _file(means, left_index, new, seen, state.left)
        else:
            came, waiting = met_in(means, left_index, new, seen, state.left)
            slots = state.right.insert(new.where(kept))
            sides = Sides(state.left, state.right, nobody, new, slots, marks=False)
            decisions.append(decided(state, sides, _pairs(sides, NONE, NONE, waiting, came)))
            _file(means, right_index, new, seen, state.right)
            peak_rows = max(peak_rows, state.left_rows + state.right_rows)
            right_alone.append(let_right_go(state, bound))
    if until.right == ENDED:
        closings.append(close(state, nobody, ENDED)[0])
        right_alone.append(let_right_go(state, ENDED))
    state.times = until
    counts = Counts(
        left_in=int(np.count_nonzero(share.counts(left.row))),
        right_in=int(np.count_nonzero(share.counts(right.row))),
    )
    return emitted_of(state, means, decisions, closings, NONE, right_alone, counts, peak_rows)


def decided(state: JoinState, sides: Sides, pairs: Pairs) -> Emission:
    """What the pairs mean. Right rows that come out with a left one are marked."""
    decision = tactic_for(state.spec)(state.spec, sides, pairs)
    if state.spec.keeps_right:
        state.right.mark(slots_of(state.right, decision.right))
    return decision


def mark_picked(state: JoinState, closing: Held) -> None:
    """Where picks are put off, right rows come out with a left one when that closes."""
    if state.spec.keeps_right and state.spec.defers_pick:
        state.right.mark(slots_of(state.right, closing.best_row[closing.best_row != NO_ROW]))


def let_right_go(state: JoinState, bound: int) -> Int64s:
    """Take out the right rows before a bound; gives those that come out alone."""
    gone = state.right.expire(bound)
    if not state.spec.keeps_right:
        return NONE
    rows, _, matched = state.right.at(gone)
    return rows[~matched]


def _indexes(means: Means, reach: tuple[int, int] | None, state: JoinState) -> tuple[Runs, Runs]:
    return index_of(means, reach, "left", state.left), index_of(means, reach, "right", state.right)


def index_of(means: Means, reach: tuple[int, int] | None, side: Side, buffer: Buffer) -> Runs:
    """The index of a side's buffered rows: as it was, or made again from the ring and the log."""
    types = {of: {name: column.type for name, column in means.operands(of, NONE).items()} for of in SIDES}
    layout = IndexLayout(means.theta, reach, side, types)
    if side not in means.indexed or not all(run.fits(layout) for run in means.indexed[side]):
        means.indexed[side] = []
        rows, times, _ = buffer.at(buffer.slots())
        if len(rows):
            seen = Looked(times, means.operands(side, rows))
            Runs(layout, means.indexed[side]).add(rows, seen, buffer)
    return Runs(layout, means.indexed[side])


def _file(means: Means, index: Runs, new: Held, seen: Looked, buffer: Buffer) -> None:
    """Index those of a side's new rows that this task stores."""
    kept = means.share.holds(index.layout.stored, new.row)
    if not kept.all():
        places = np.flatnonzero(kept)
        new, seen = new.where(kept), seen.where(places)
    index.add(new.row, seen, buffer)


def met_in(means: Means, index: Runs, probes: Held, seen: Looked, buffer: Buffer) -> tuple[Int64s, Int64s]:
    """Pairs (new row, slot) of new rows of a side and the buffered ones of the other."""
    if not len(probes.row) or not buffer.rows:
        return NONE, NONE
    layout, side = index.layout, index.layout.stored
    bounds = layout.bounds(seen)
    index.suit(bounds)
    first_row = buffer.low_time if layout.reach is None else None
    which, rows = [NONE], [NONE]
    for run in index.runs:
        for some, at in pairs_in(
            layout, seen, bounds, run, lambda numbers: means.found(side, numbers), first_row
        ):
            which.append(some)
            rows.append(run.rows[at])
    found = np.concatenate(which), slots_of(buffer, np.concatenate(rows))
    held = found[1] >= 0  # a run may name rows that the buffer no longer has
    return found[0][held], found[1][held]


def _pairs(sides: Sides, new: Int64s, found: Int64s, waiting: Int64s, came: Int64s) -> Pairs:
    found_rows, found_times, _ = sides.right.at(found)
    waiting_rows, waiting_times, _ = sides.left.at(waiting)
    return Pairs(new, found, found_rows, found_times, waiting, waiting_rows, waiting_times, came)


def emitted_of(
    state: JoinState,
    means: Means,
    decisions: list[Emission],
    closings: list[Held],
    void_left: Int64s,
    right_alone: list[Int64s],
    counts: Counts,
    peak_rows: int,
) -> Emitted:
    spec = state.spec
    left, right, alone = (np.concatenate([NONE, *(made[at] for made in decisions)]) for at in range(3))
    if spec.keeps_left:
        alone = np.concatenate([*(held.row[~held.matched] for held in closings), void_left])
    if spec.defers_pick:
        picked = [held.where(held.best_row != NO_ROW) for held in closings]
        left = np.concatenate([held.row for held in picked])
        right = np.concatenate([held.best_row for held in picked])
    matched = sum(made.done for made in decisions)
    if not done_at_match(spec) and "right" not in (means.share.dealt or ()):
        matched = sum(int(np.count_nonzero(held.matched)) for held in closings)
    lone_right = np.concatenate([NONE, *right_alone])
    counts = counts._replace(
        pairs=len(left), left_alone=len(alone), right_alone=len(lone_right), left_matched=matched
    )
    return Emitted(left, right, alone, lone_right, counts, peak_rows, (NONE, NONE))


def in_order_of(emitted: Emitted, turns: Sequence[Turn]) -> Emitted:
    """Sort pairs by the arrival of the later row, then of the other. Lone left rows follow, then
    lone right ones, by their own arrival."""
    left, right = _turn_of("left", emitted.left, turns), _turn_of("right", emitted.right, turns)
    left_later = left > right
    later_row = np.where(left_later, emitted.left, emitted.right)
    other_row = np.where(left_later, emitted.right, emitted.left)
    order = np.lexsort((other_row, later_row, np.maximum(left, right)))
    return emitted._replace(
        left=emitted.left[order],
        right=emitted.right[order],
        left_alone=np.sort(emitted.left_alone),
        right_alone=np.sort(emitted.right_alone),
    )


def _turn_of(side: Side, rows: Int64s, turns: Sequence[Turn]) -> Int64s:
    """The number of the turn in which each row came; -1: before this step."""
    numbers = np.array([-1, *(n for n, turn in enumerate(turns) if turn.side == side)], np.int64)
    firsts = np.array([turn.first for turn in turns if turn.side == side], np.int64)
    found: Int64s = numbers[np.searchsorted(firsts, rows, side="right")]
    return found


def _numbered(arrivals: Arrivals) -> Held:
    """New rows with their number as time. Rows without a valid time take part too."""
    return Held.fresh(tag_of(arrivals.hash), arrivals.row, arrivals.row)._replace(
        best_time=np.full(len(arrivals.row), NO_ROW, np.int64),
        best_row=np.full(len(arrivals.row), NO_ROW, np.int64),
    )


assert FIRST_TIME < 0, "a row's number is a time that is one"
