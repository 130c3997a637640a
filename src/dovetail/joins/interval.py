"""The interval join: two streams, equal keys, event times within bounds.

Idea. Both sides are buffered in hash tables. A new row probes the other side's buffer, so a pair comes out as soon as
both rows are in. Stream times say when to stop waiting:

      left  ──── l ─────────────►  T_left          l is open      until T_right > l.time + after
                 │
            ┌────┴────┐
      ──────┤ before  │ after ├────►  T_right       r is retained  until r.time < T_left - before

    An example with before = after = 3 min. l = 11:59 is in. r = 12:01 comes: the pair comes out at once.
    T_right passes 12:02: l closes; had nothing come, an outer join would emit (l, null) now.
    T_left passes 12:04: r is evicted; any left row that could match it is older than the stream's time.

Paper. Providing Streaming Joins as a Service at Facebook, VLDB 2018: semantics section 3, operator section 5.1.

Vocabulary. stream time = the paper's PT; buffer of the left engine = open rows; join window of the right engine =
retained rows; 1-to-n, 1-to-1 = match all, one.

Differs. The paper buffers only left rows that have not matched and retries them; here new right rows probe the open left rows, so
no retry is needed. Right, full, semi and anti joins and the pick rules are ours (its section 9 names them as future
work). Results are exact where no row is later than its stream's time.

Law. Within one step new left rows see all new right rows and those retained, new right rows see the left rows
that were open. Then the step's end times close and evict. So the output depends only on the state, the new rows and
the times; with no late rows it is the batch join, however the streams are cut and interleaved (tests/laws).

Cost. One hash probe a row and side, one insert for a right row, one for a left row that stays open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Allocate, Buffer, Held, in_memory
from dovetail.kernels import ring as rings
from dovetail.kernels.pick import NO_ROW, RULES, prefer
from dovetail.model.interval import IntervalSpec

Int64s = NDArray[np.int64]
SameKey = Callable[[Int64s, Int64s], NDArray[np.bool_]]
"""`same_key(left_rows, right_rows)` says, pair by pair, whether the real keys are equal: hashes may collide."""

NO_TIME = int(np.iinfo(np.int64).min)
"""As an event time: this row can match nothing, for its key or its time is null."""
NEVER = int(np.iinfo(np.int64).min)
"""As a stream time: nothing has come yet."""
ENDED = int(np.iinfo(np.int64).max)
"""As a stream time: nothing will come any more."""


class Arrivals(NamedTuple):
    """New rows of one side, in log order."""

    hash: Int64s
    time: Int64s
    row: Int64s


class Times(NamedTuple):
    """The two stream times."""

    left: int
    right: int


class Counts(NamedTuple):
    """What a step saw, for people."""

    left_in: int
    right_in: int
    pairs: int
    left_alone: int
    right_alone: int
    left_matched: int  # left rows that found their first partner in this step
    left_late: int  # behind their own stream's time when they came
    right_late: int
    left_void: int  # null key or time
    right_void: int
    collisions: int  # equal tags, different keys


class Emitted(NamedTuple):
    """Row numbers: the pairs, and the rows that come out alone (for semi joins: the left rows that matched)."""

    left: Int64s
    right: Int64s
    left_alone: Int64s
    right_alone: Int64s
    counts: Counts


@dataclass
class IntervalState:
    """What a join remembers between steps: open left rows, retained right rows, stream times."""

    spec: IntervalSpec
    left: Buffer
    right: Buffer
    times: Times

    @classmethod
    def empty(cls, spec: IntervalSpec, allocate: Allocate = in_memory) -> IntervalState:
        return cls(
            spec,
            Buffer.empty("left", spec.defers_pick, allocate),
            Buffer.empty("right", False, allocate),
            Times(NEVER, NEVER),
        )

    @property
    def left_rows(self) -> int:
        return self.left.rows

    @property
    def right_rows(self) -> int:
        return self.right.rows


def open_bound(spec: IntervalSpec, times: Times) -> int:
    """A left row is open iff its time is at or above this."""
    return _minus(times.right, spec.after_us)


def probe_bound(spec: IntervalSpec, times: Times) -> int:
    """A right row can be found by new left rows iff its time is at or above this."""
    return _minus(times.left, spec.before_us)


def retain_bound(spec: IntervalSpec, times: Times) -> int:
    """A right row is kept iff its time is at or above this.

    Where a lone right row must come out and picks are deferred, an open left row may still pick it.
    """
    bound = probe_bound(spec, times)
    if spec.keeps_right and spec.defers_pick:
        bound = min(bound, _minus(times.right, spec.before_us + spec.after_us))
    return bound


def step(
    state: IntervalState, left: Arrivals, right: Arrivals, until: Times, same_key: SameKey | None = None
) -> Emitted:
    """Take in new rows, let the stream times pass to `until`, and say what comes out."""
    spec = state.spec
    until = Times(max(until.left, state.times.left), max(until.right, state.times.right))
    new_left, void_left = _split(left)
    new_right, void_right = _split(right)
    left_late = int(np.count_nonzero(new_left.time < state.times.left))
    right_late = int(np.count_nonzero(new_right.time < state.times.right))

    # 1. Probe. Old right rows below the probe bound are kept only to come out alone: not for new left rows.
    right_slots = state.right.insert(new_right)
    probing, found = rings.probe(state.right.ring, new_left.tag, new_left.time, -spec.before_us, spec.after_us)
    if retain_bound(spec, state.times) < probe_bound(spec, state.times):
        _, found_times, _ = rings.rows_at(state.right.ring, found)
        fresh = np.isin(found, right_slots)
        visible = fresh | (found_times >= probe_bound(spec, state.times))
        probing, found = probing[visible], found[visible]
    answering, waiting = rings.probe(
        state.left.ring, new_right.tag, new_right.time, -spec.after_us, spec.before_us
    )

    # 2. Verify. Pairs of a new left row, then pairs of an open one.
    found_rows, found_times, _ = rings.rows_at(state.right.ring, found)
    waiting_rows, waiting_times, _ = rings.rows_at(state.left.ring, waiting)
    collisions = 0
    if same_key is not None and len(found) + len(waiting):
        true_new = same_key(new_left.row[probing], found_rows)
        true_old = same_key(waiting_rows, new_right.row[answering])
        collisions = len(found) + len(waiting) - int(true_new.sum()) - int(true_old.sum())
        if collisions:
            probing, found = probing[true_new], found[true_new]
            found_rows, found_times = found_rows[true_new], found_times[true_new]
            answering, waiting = answering[true_old], waiting[true_old]
            waiting_rows, waiting_times = waiting_rows[true_old], waiting_times[true_old]

    # 3. Decide what each pair means.
    new_matched = new_left.matched
    new_matched[probing] = True
    first_matches = int(np.count_nonzero(new_matched))
    pairs_left, pairs_right = np.empty(0, np.int64), np.empty(0, np.int64)
    semi = np.empty(0, np.int64)
    if not spec.emits_pairs:
        served = rings.kill(state.left.ring, waiting)
        first_matches += len(served)
        if spec.how == "semi":
            semi = np.concatenate([new_left.row[new_matched], rings.rows_at(state.left.ring, served)[0]])
    elif spec.match == "all":
        pairs_left = np.concatenate([new_left.row[probing], waiting_rows])
        pairs_right = np.concatenate([found_rows, new_right.row[answering]])
        first_matches += rings.mark(state.left.ring, waiting)
        if spec.keeps_right:
            rings.mark(state.right.ring, found)
            rings.mark(state.right.ring, right_slots[answering])
    else:
        rule = RULES[spec.pick]
        prefer(
            rule,
            probing,
            new_left.time[probing],
            found_times,
            found_rows,
            new_left.best_time,
            new_left.best_row,
        )
        if spec.defers_pick:
            prefer(
                rule,
                waiting,
                waiting_times,
                new_right.time[answering],
                new_right.row[answering],
                state.left.ring.best_time,
                state.left.ring.best_row,
            )
            first_matches += rings.mark(state.left.ring, waiting)
        else:
            served, group = np.unique(waiting, return_inverse=True)
            best_time = np.full(len(served), NO_ROW, np.int64)
            best_row = np.full(len(served), NO_ROW, np.int64)
            prefer(
                rule,
                group.astype(np.int64),
                waiting_times,
                new_right.time[answering],
                new_right.row[answering],
                best_time,
                best_row,
            )
            served_rows, _, _ = rings.rows_at(state.left.ring, served)
            pairs_left = np.concatenate([new_left.row[new_matched], served_rows])
            pairs_right = np.concatenate([new_left.best_row[new_matched], best_row])
            if spec.keeps_right:
                tags = np.concatenate([new_left.tag[new_matched], rings.tags_at(state.left.ring, served)])
                rings.mark(state.right.ring, rings.find(state.right.ring, tags, pairs_right))
            first_matches += len(rings.kill(state.left.ring, served))

    # 4. Close left rows: the open ones, and new ones whose window is already over.
    state.times = until
    closing = _join_held(
        state.left.held_at(_expire(state.left, open_bound(spec, until))),
        new_left.where(new_left.time < open_bound(spec, until)),
    )
    done_at_match = not spec.emits_pairs or (spec.match == "one" and not spec.defers_pick)
    staying = new_left.time >= open_bound(spec, until)
    if done_at_match:
        staying &= ~new_matched
        closing = closing.where(~closing.matched)
    state.left.insert(new_left.where(staying))
    if spec.defers_pick:
        picked = closing.where(closing.best_row != NO_ROW)
        pairs_left, pairs_right = picked.row, picked.best_row
        if spec.keeps_right:
            rings.mark(state.right.ring, rings.find(state.right.ring, picked.tag, picked.best_row))
    lone_left = np.concatenate([closing.row[~closing.matched], void_left]) if spec.keeps_left else semi

    # 5. Evict right rows.
    evicted = _expire(state.right, retain_bound(spec, until))
    lone_right = np.empty(0, np.int64)
    if spec.keeps_right:
        rows, _, matched = rings.rows_at(state.right.ring, evicted)
        lone_right = np.concatenate([rows[~matched], void_right])
    counts = Counts(
        len(left.row),
        len(right.row),
        len(pairs_left),
        len(lone_left),
        len(lone_right),
        first_matches,
        left_late,
        right_late,
        len(void_left),
        len(void_right),
        collisions,
    )
    return Emitted(pairs_left, pairs_right, lone_left, lone_right, counts)


def _split(arrivals: Arrivals) -> tuple[Held, Int64s]:
    """Rows that may match, and the row numbers of those that cannot."""
    usable = arrivals.time != NO_TIME
    if usable.all():
        void = np.empty(0, np.int64)
    else:
        void = arrivals.row[~usable]
        arrivals = Arrivals(*(column[usable] for column in arrivals))
    count = len(arrivals.row)
    held = Held(
        rings.tag_of(np.ascontiguousarray(arrivals.hash)),
        np.ascontiguousarray(arrivals.time),
        np.ascontiguousarray(arrivals.row),
        np.zeros(count, np.bool_),
        np.full(count, NO_ROW, np.int64),
        np.full(count, NO_ROW, np.int64),
    )
    return held, void


def _expire(buffer: Buffer, bound: int) -> Int64s:
    return rings.expire(buffer.ring, bound)


def _join_held(first: Held, second: Held) -> Held:
    return Held(*(np.concatenate([a, b]) for a, b in zip(first, second, strict=True)))


def _minus(time: int, distance_us: int) -> int:
    """Stream times at their ends stay there."""
    return time if time in (NEVER, ENDED) else time - distance_us
