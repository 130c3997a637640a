"""What a join remembers between steps, and how time takes rows out of it again.

All kinds of joins keep this state: two buffers of row references and the stream times. Interval joins and
theta joins over event time also close and evict by the same bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from dovetail.joins.buffer import Allocate, Buffer, Held, in_memory
from dovetail.joins.caps import KeyLabels, beyond
from dovetail.joins.streams import NEVER, Int64s, Times, minus
from dovetail.joins.tactics import done_at_match
from dovetail.model.interval import IntervalSpec


@dataclass
class JoinState:
    """What a join remembers between steps: open left rows, retained right rows, stream times."""

    spec: IntervalSpec
    left: Buffer
    right: Buffer
    times: Times

    @classmethod
    def empty(cls, spec: IntervalSpec, allocate: Allocate = in_memory) -> JoinState:
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
    return minus(times.right, spec.after_us)


def probe_bound(spec: IntervalSpec, times: Times) -> int:
    """A right row can be found by new left rows iff its time is at or above this."""
    return minus(times.left, spec.before_us)


def retain_bound(spec: IntervalSpec, times: Times) -> int:
    """A right row is kept iff its time is at or above this.

    Where a lone right row must come out and picks are deferred, an open left row may still pick it.
    """
    bound = probe_bound(spec, times)
    if spec.keeps_right and spec.defers_pick:
        bound = min(bound, minus(times.right, spec.before_us + spec.after_us))
    return bound


def close(
    state: JoinState, new_left: Held, bound: int, key_labels: KeyLabels | None = None
) -> tuple[Held, Int64s]:
    """Take out the left rows whose window is over, old and new: those before the bound. Buffer the new ones
    that stay open. Returns the rows that leave, and the numbers of those that leave because of the cap on a
    key.

    No row leaves twice: expired rows are dead before the cap is applied, and rows in `over` never enter the
    buffer. And no row is left behind: a new row is in `staying` or in `over`, or it is done.
    """
    # Copy the expired rows out at once: the insert below may reuse their slots.
    expired = state.left.held_at(state.left.expire(bound))
    open_ = new_left.time >= bound
    over = new_left.where(~open_)
    if done_at_match(state.spec):  # rows with a partner came out with it, in the tactic
        open_ &= ~new_left.matched
        over = over.where(~over.matched)
    staying = new_left.where(open_)
    state.left.insert(staying)
    # Only keys that have just got a row can be over their cap. Expired rows no longer count towards it.
    crowded = beyond(state.left, staying.tag, state.spec.left_cap, key_labels)
    capped = state.left.held_at(crowded)
    state.left.kill(crowded)
    leaving = [held for held in (expired, over, capped) if len(held.row)]
    return reduce(Held.joined, leaving) if leaving else over, capped.row
