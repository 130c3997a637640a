"""What a matching pair means: the part of the interval join that depends on join type and match mode.

The step (`interval/step.py`) finds the pairs and moves time. A tactic decides what comes out now, which left
rows have been served and need not wait any longer, and what must be remembered. Each tactic is a function:

    every_pair      match all             every pair comes out; both rows are marked as matched
    first_partner   match one, first      one pair for each left row, at once; the left row is done
    best_partner    match one, deferred   the best partner so far is remembered until the row closes
    worth_most      match one, by value   the same, where an expression over both rows says which is best
    left_row_only   semi and anti         the left row is done at its first partner; semi lets it out

Why no pair is decided twice: new left rows enter the left buffer only after the tactic (`state.close`). So a
pair is either one of a new left row or one of a row that was waiting, never both. Among the waiting rows a
slot may appear once for each new partner; `unique`, and `kill`, which returns each live slot once, take care
that the row is served once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.emitted import NONE, Int64s
from dovetail.kernels.pick import NO_ROW, RULES, prefer
from dovetail.model.interval import IntervalSpec

Worth = Callable[[Int64s, Int64s], Int64s]
"""`worth(left_rows, right_rows)` gives each pair a number: the larger, the better. Only numbers of one call
can be compared with each other."""


class Pairs(NamedTuple):
    """The pairs of one step, with equal keys: new left rows with right rows, open left rows with new right
    rows."""

    new: Int64s  # which of the new left rows,
    found: Int64s  # and the right slots they found
    found_rows: Int64s
    found_times: Int64s
    waiting: Int64s  # slots of open left rows,
    waiting_rows: Int64s
    waiting_times: Int64s
    came: Int64s  # and which of the new right rows came for them

    def where(self, new: NDArray[np.bool_], waiting: NDArray[np.bool_]) -> Pairs:
        return Pairs(*(column[new] for column in self[:4]), *(column[waiting] for column in self[4:]))


class Sides(NamedTuple):
    """The two buffers and the new rows. `new_right` is in the right buffer already, at `right_slots`. `worth`
    compares partners chosen by value. `marks`: tactics note which right rows had one; else the step does."""

    left: Buffer
    right: Buffer
    new_left: Held
    new_right: Held
    right_slots: Int64s
    worth: Worth | None = None
    marks: bool = True


class Emission(NamedTuple):
    """What comes out at once: pairs, and left rows alone."""

    left: Int64s
    right: Int64s
    left_alone: Int64s
    done: int  # left rows that have their partner and wait for nothing more


Tactic = Callable[[IntervalSpec, Sides, Pairs], Emission]


def every_pair(spec: IntervalSpec, sides: Sides, pairs: Pairs) -> Emission:
    sides.new_left.matched[pairs.new] = True
    sides.left.mark(pairs.waiting)  # slots may repeat: marking is idempotent
    if spec.keeps_right and sides.marks:
        sides.right.mark(pairs.found)
        sides.right.mark(sides.right_slots[pairs.came])
    left = np.concatenate([sides.new_left.row[pairs.new], pairs.waiting_rows])
    right = np.concatenate([pairs.found_rows, sides.new_right.row[pairs.came]])
    return Emission(left, right, NONE, 0)


def first_partner(spec: IntervalSpec, sides: Sides, pairs: Pairs) -> Emission:
    new = _choose_for_new(spec, sides, pairs)
    served, group = np.unique(pairs.waiting, return_inverse=True)
    times = np.full(len(served), NO_ROW, np.int64)
    rows = np.full(len(served), NO_ROW, np.int64)
    came = pairs.came
    prefer(
        RULES[spec.pick],
        group.astype(np.int64),
        pairs.waiting_times,
        sides.new_right.time[came],
        sides.new_right.row[came],
        times,
        rows,
    )
    left = np.concatenate([sides.new_left.row[new], sides.left.at(served)[0]])
    right = np.concatenate([sides.new_left.best_row[new], rows])
    if spec.keeps_right and sides.marks:
        tags = np.concatenate([sides.new_left.tag[new], sides.left.tags_at(served)])
        mark_right_rows(sides.right, tags, right)
    sides.left.kill(served)
    return Emission(left, right, NONE, len(left))


def best_partner(spec: IntervalSpec, sides: Sides, pairs: Pairs) -> Emission:
    # Nothing comes out yet, so a partner that turns out better in a later step can still replace this one.
    _choose_for_new(spec, sides, pairs)
    came = sides.new_right.time[pairs.came], sides.new_right.row[pairs.came]
    sides.left.prefer(RULES[spec.pick], pairs.waiting, pairs.waiting_times, *came)
    sides.left.mark(pairs.waiting)
    return Emission(NONE, NONE, NONE, 0)


def worth_most(spec: IntervalSpec, sides: Sides, pairs: Pairs) -> Emission:
    # The state keeps which partner is best so far, not what it is worth: that is computed again from the log
    # when another one comes. So it needs no place in rings and snapshots, whatever type it is of.
    assert sides.worth is not None
    new_left, left = sides.new_left, sides.left
    new_left.matched[pairs.new] = True
    won = best_of(sides.worth, pairs.new, new_left.row[pairs.new], pairs.found_rows, pairs.found_times)
    new_left.best_row[pairs.new[won]] = pairs.found_rows[won]
    new_left.best_time[pairs.new[won]] = pairs.found_times[won]

    slots = np.unique(pairs.waiting)
    chosen = left.held_at(slots)
    has_one = chosen.best_row != NO_ROW
    groups = np.concatenate([pairs.waiting, slots[has_one]])
    left_rows = np.concatenate([pairs.waiting_rows, chosen.row[has_one]])
    rows = np.concatenate([sides.new_right.row[pairs.came], chosen.best_row[has_one]])
    times = np.concatenate([sides.new_right.time[pairs.came], chosen.best_time[has_one]])
    won = best_of(sides.worth, groups, left_rows, rows, times)
    left.choose(groups[won], times[won], rows[won])
    left.mark(slots)
    return Emission(NONE, NONE, NONE, 0)


def left_row_only(spec: IntervalSpec, sides: Sides, pairs: Pairs) -> Emission:
    sides.new_left.matched[pairs.new] = True
    served = sides.left.kill(pairs.waiting)
    # Dead slots can be read: nothing is inserted between `kill` and `at`.
    rows = np.concatenate([sides.new_left.row[sides.new_left.matched], sides.left.at(served)[0]])
    return Emission(NONE, NONE, rows if spec.how == "semi" else NONE, len(rows))


def tactic_for(spec: IntervalSpec) -> Tactic:
    if not spec.emits_pairs:
        return left_row_only
    if spec.match == "all":
        return every_pair
    if spec.picked_by is not None:
        return worth_most
    return best_partner if spec.defers_pick else first_partner


def done_at_match(spec: IntervalSpec) -> bool:
    """Whether a left row that has a partner waits for nothing more."""
    return not spec.emits_pairs or (spec.match == "one" and not spec.defers_pick)


def mark_right_rows(right: Buffer, tags: NDArray[np.uint32], rows: Int64s) -> None:
    right.mark(right.find(tags, rows))  # -1, which `mark` skips: it came out, or was capped, before


def best_of(worth: Worth, groups: Int64s, left: Int64s, right: Int64s, times: Int64s) -> Int64s:
    """Where the candidate of each group is that is worth most; of equal ones the one with the smallest time,
    then the smallest number."""
    if not len(groups):
        return NONE
    order = np.lexsort((right, times, ~worth(left, right), groups))  # ~ turns the order of numbers around
    ordered = groups[order]
    first: Int64s = order[np.append(True, ordered[1:] != ordered[:-1])]
    return first


def _choose_for_new(spec: IntervalSpec, sides: Sides, pairs: Pairs) -> NDArray[np.bool_]:
    """Choose the best of the partners that each new left row found. Returns which rows have one."""
    new_left = sides.new_left
    new_left.matched[pairs.new] = True
    prefer(
        RULES[spec.pick],
        pairs.new,
        new_left.time[pairs.new],
        pairs.found_times,
        pairs.found_rows,
        new_left.best_time,
        new_left.best_row,
    )
    return new_left.matched
