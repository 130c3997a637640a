"""The verbs of a join kind: what the engine asks of it, and what it is given to do so.

Each kind (`interval/`, `windowed/`, `theta/`) has a module `verbs` with these functions. The engine knows no
kind by name: it asks `joins.kinds.verbs_of`, and calls.

    advance     take the state from one offset to the next: what comes out, and the totals after it
    change      make it the state of another configuration of the same kind: the same, and no rows come in
    snapshot    what the log cannot give back
    saves       which rows that are, for a snapshot that holds only what changed
    rebuild     fill an empty state, from snapshots and the log
    explain     what happened to left rows, and why

What a kind needs from the log and how its rows are shared among tasks is data, not behaviour: it is in
`model/join_kind.py`, where the coordinator can read it without importing kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.emitted import Emitted, Int64s
from dovetail.joins.question import Answer, Question
from dovetail.joins.rows.arrivals import buckets_of, mine
from dovetail.joins.snapshot import Snapshot
from dovetail.joins.state import JoinState
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share, Side

Wanted = Callable[[Side, Held], NDArray[np.bool_]]
"""Which rows of a side a rebuild inserts."""


class Saved(NamedTuple):
    """What a rebuild starts from: the snapshots of a step. `same`: rows were shared among tasks then as they
    are now, and the only snapshot is the task's own."""

    offset: JoinOffset
    snapshots: Sequence[Snapshot]
    same: bool

    def held(self, config: JoinConfig, share: Share, side: Side) -> Held:
        """The task's rows of a side out of the snapshots; where several tasks had a copy, one of them."""
        parts = [one.left if side == "left" else one.right for one in self.snapshots]
        found = [part for part in parts if part is not None]
        if not found:
            return nobody()
        if self.same:
            return found[0]
        held = found[0]
        for part in found[1:]:
            held = held.joined(part)
        if any(key.dealt != side for key in self.offset.hot_keys):
            held = _each_once(held)
        return held.where(mine(share, side, held, buckets_at(config, self.offset, side, held.row)))


def _each_once(held: Held) -> Held:
    """Rows without their copies: each task had one of the rows of hot keys. In joins that split keys nothing
    depends on whether a copied row has matched (`time/hot_keys.py`), but such a join may be changed into one
    where it does. A row has matched if one of its copies has."""
    _, first, which = np.unique(held.row, return_index=True, return_inverse=True)
    matched = np.zeros(len(first), np.bool_)
    matched[which[held.matched]] = True
    order = np.argsort(first)
    return Held._make(column[first[order]] for column in held)._replace(matched=matched[order])


class Saves(NamedTuple):
    """What of the two buffers is in a snapshot: rows of the left, rows of the right, or only which of these
    have matched."""

    left: bool
    right: bool = False
    right_matched: bool = False


class Verbs(Protocol):
    def advance(self, at: LiveState, given: StepInput) -> tuple[Emitted, Totals]: ...

    def change(self, at: LiveState, given: StepInput) -> tuple[Emitted, Totals]: ...

    def snapshot(self, config: JoinConfig, share: Share, state: JoinState, totals: Totals) -> Snapshot: ...

    def saves(self, config: JoinConfig, share: Share) -> Saves: ...

    def rebuild(
        self, config: JoinConfig, share: Share, state: JoinState, saved: Saved, wanted: Wanted | None = None
    ) -> None: ...

    def explain(self, question: Question) -> Answer: ...


def buckets_at(config: JoinConfig, offset: JoinOffset, side: Side, rows: Int64s) -> Int64s:
    """The buckets of rows that the state at an offset holds."""
    if side == "left":
        return buckets_of(Category.open(config.home, config.left), offset.left_floor, offset.left, rows)
    return buckets_of(Category.open(config.home, config.right), offset.right_floor, offset.right, rows)


def buffers(state: JoinState) -> tuple[tuple[Side, Buffer], ...]:
    return ("left", state.left), ("right", state.right)


def nobody() -> Held:
    none = np.empty(0, np.int64)
    return Held.fresh(np.empty(0, np.uint32), none, none)


def add_totals(first: Totals, second: Totals) -> Totals:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def counted_once(given: StepInput, state: JoinState) -> tuple[int, int]:
    """Rows held on each side, without copies of rows that another task counts."""
    counts = []
    for (_, buffer), copies in zip(buffers(state), given.copies[:2], strict=True):
        copied = 0
        if copies is not None:
            tags = np.unique(np.array([key.tag for key in given.share.hot], np.uint32))
            copied = int(np.count_nonzero(copies(buffer.held_at(buffer.crowded(tags, 0)[0]))))
        counts.append(buffer.rows - copied)
    return counts[0], counts[1]


def counted_totals(at: LiveState, emitted: Emitted, *, left_matched: bool = True) -> Totals:
    """The totals after a step, as users count: rows that a semi join emits are matches. `left_matched`: a
    left row is decided in one task and one step, so that matched left rows can be counted."""
    counts = emitted.counts
    if at.state.spec.how == "semi":
        counts = counts._replace(pairs=counts.left_alone, left_alone=0)
    counted = counts._asdict()
    if not left_matched:
        del counted["left_matched"]
    return add_totals(at.totals, counted)
