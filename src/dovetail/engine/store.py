"""Law: the state at an offset is a function of the offset and the home; the live index only makes it quick to
get.

`resume` gives the state of one task's share at an offset: from the live index where its version fits, else
from the snapshots and the log; where a snapshot is missing or damaged, from those of an earlier step, and
the steps after it are run once more. Tasks and hot keys may have changed in between: rows go to whom they
belong now, by the bucket they have in the log.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dovetail.engine.advance import Totals, add_totals, advance, rows_between
from dovetail.engine.live_index import (
    Attached,
    LiveIndex,
    claim_directory,
    drop_other_groupings,
    group_directory,
    index_root,
    unmap_other_groupings,
)
from dovetail.engine.regrouping import dealt_totals
from dovetail.engine.right_window import Wanted, replay_left, replay_right, replay_windows
from dovetail.engine.snapshot import Snapshot
from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.errors import CorruptFile, StateError, UnknownVersion
from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.rows.arrivals import Int64s, buckets_of, mine
from dovetail.joins.sample import Sample
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, HotKey, Share, Side

UNUSABLE = (StateError, CorruptFile, UnknownVersion)
"""A snapshot that is missing or damaged. One that a later release wrote has no sound one before it."""


class StateStore:
    """The state of one task's share of one join."""

    def __init__(self, config: JoinConfig, share: Share) -> None:
        self.config = config
        self.share = share
        root = index_root(config.index_dir)
        directory = group_directory(root, config.home, config.state_path, share.task, share.tasks)
        claim_directory(directory, config.home)
        unmap_other_groupings(directory)
        self.index = LiveIndex(directory, config.spec, str(config.theta) if config.theta else "")
        self.snapshots = SnapshotFiles(config)

    def resume(self, offset: JoinOffset) -> tuple[Attached, bool]:
        """The state at an offset, and whether it had to be rebuilt; then the sample begins anew."""
        if offset.tasks == 0:
            return self.index.fresh(Times(*offset.times)), False
        live = self._live(offset)
        return (live, False) if live is not None else (self._recovered(offset), True)

    def save(self, offset: JoinOffset, state: JoinState, sample: Sample, totals: Totals) -> None:
        """Make this the state at an offset."""
        self.snapshots.write(offset, self.share.task, self._snapshot(state, totals))
        self.index.save(offset.version, totals, sample)

    def _snapshot(self, state: JoinState, totals: Totals) -> Snapshot:
        """What the log cannot give back."""
        matched, window = np.empty(0, np.int64), self.config.window
        if window is not None:
            if window.replayable:
                return Snapshot(nobody(), matched, totals)
            return Snapshot(state.left.held(), matched, totals, state.right.held())
        if self.config.spec.keeps_right:
            right = state.right.held()
            matched = right.row[right.matched]
        left = nobody() if self._log_has_left else state.left.held()
        return Snapshot(left, matched, totals)

    @property
    def _log_has_left(self) -> bool:
        """Open left rows are what the log says they are: nothing was chosen, and none of them has to know
        whether it has had a partner."""
        return self.share.dealt == SIDES

    def _live(self, offset: JoinOffset) -> Attached | None:
        if offset.tasks != self.share.tasks:
            return None
        live = self.index.attach(offset.version, Times(*offset.times))
        moved = {key.hash for key in set(offset.hot_keys) ^ set(self.share.hot)}
        if live is not None and moved:
            try:
                snapshots = self._snapshots(offset)
            except UNUSABLE:
                return None
            self._deal_again(live.state, offset, moved, snapshots)
        return live

    def _recovered(self, offset: JoinOffset) -> Attached:
        """From the newest step on the way here whose snapshots are sound."""
        drop_other_groupings(self.index.directory)
        way, trouble = offset.way, None
        for number in reversed(range(len(way))):
            try:
                snapshots = self._snapshots(way[number])
            except UNUSABLE as error:
                trouble = trouble or error
                continue
            at = self._rebuilt(way[number], snapshots)
            for start, end in pairwise(way[number:]):
                at = self._once_more(at, start, end)
            return at
        assert trouble is not None
        raise trouble

    def _once_more(self, at: Attached, start: JoinOffset, end: JoinOffset) -> Attached:
        """The state after a step whose rows have come out already."""
        _, totals = advance(self.config, self.share, at, start, end, *rows_between(self.config, start, end))
        if end.ended:
            at = self.index.fresh(Times(*end.times))
        return at._replace(totals=totals)

    def _snapshots(self, offset: JoinOffset) -> list[Snapshot]:
        """Those that this share is made of: its own, or all where rows were dealt out otherwise."""
        if offset.tasks == self.share.tasks and offset.hot_keys == self.share.hot:
            return [self.snapshots.read(offset, self.share.task)]
        return [self.snapshots.read(offset, task) for task in range(offset.tasks)]

    def _rebuilt(self, offset: JoinOffset, snapshots: list[Snapshot]) -> Attached:
        fresh, share = self.index.fresh(Times(*offset.times)), self.share
        if offset.tasks == 0:
            return fresh
        state = fresh.state
        same_tasks = offset.tasks == share.tasks
        if self.config.window is not None and self.config.window.replayable:
            replay_windows(self.config, self.config.window, share, state, offset)
        elif self.config.window is not None:
            self._insert_sessions(state, offset, snapshots, dealt_anew=not same_tasks)
        else:
            if self._log_has_left:
                replay_left(self.config, share, state, offset)
            elif same_tasks and offset.hot_keys == share.hot:
                state.left.insert(snapshots[0].left)
            else:
                state.left.insert(self._left_share(offset, snapshots))
            matched = np.concatenate([snapshot.right_matched for snapshot in snapshots])
            replay_right(self.config, share, state, offset, matched)
        if same_tasks:
            return fresh._replace(totals=snapshots[share.task if len(snapshots) > 1 else 0].totals)
        totals: Totals = {}
        for snapshot in snapshots:
            totals = add_totals(totals, snapshot.totals)
        return fresh._replace(totals=dealt_totals(totals, share))

    def _insert_sessions(
        self, state: JoinState, offset: JoinOffset, snapshots: list[Snapshot], *, dealt_anew: bool
    ) -> None:
        both: tuple[tuple[Side, Buffer], ...] = (("left", state.left), ("right", state.right))
        for side, buffer in both:
            parts = [snapshot.left if side == "left" else snapshot.right for snapshot in snapshots]
            held = reduce(Held.joined, [part for part in parts if part is not None], nobody())
            if dealt_anew:
                held = held.where(mine(self.share, side, held, self._buckets(offset, side, held.row)))
            buffer.insert(held)

    def _deal_again(
        self, state: JoinState, offset: JoinOffset, keys: set[int], snapshots: list[Snapshot]
    ) -> None:
        """Give the rows of these keys to whom they belong now; all others stay where they are."""
        buckets = self.config.buckets
        tags = np.unique(np.array([HotKey(key, "left").tag for key in keys], np.uint32))

        def of_these(side: Side, held: Held) -> NDArray[np.bool_]:
            found = self._buckets(offset, side, held.row)
            chosen = np.zeros(len(found), np.bool_)
            for key in keys:
                chosen |= (held.tag == HotKey(key, "left").tag) & (found == key % buckets)
            return chosen

        both: tuple[tuple[Side, Buffer], ...] = (("left", state.left), ("right", state.right))
        for side, buffer in both:
            slots, _ = buffer.crowded(tags, 0)
            buffer.kill(slots[of_these(side, buffer.held_at(slots))])
        if self.config.window is not None:
            wanted: dict[Side, Wanted] = {
                "left": lambda held: of_these("left", held),
                "right": lambda held: of_these("right", held),
            }
            replay_windows(self.config, self.config.window, self.share, state, offset, wanted)
            return
        left = self._left_share(offset, snapshots)
        state.left.insert(left.where(of_these("left", left)))
        replay_right(
            self.config,
            self.share,
            state,
            offset,
            np.empty(0, np.int64),
            lambda held: of_these("right", held),
        )

    def _left_share(self, offset: JoinOffset, snapshots: list[Snapshot]) -> Held:
        """This task's open left rows out of all tasks' snapshots; copies of a row are one."""
        held = reduce(Held.joined, (snapshot.left for snapshot in snapshots))
        if any(key.dealt == "right" for key in offset.hot_keys):
            first = np.zeros(len(held.row), np.bool_)
            first[np.unique(held.row, return_index=True)[1]] = True
            held = held.where(first)
        return held.where(mine(self.share, "left", held, self._buckets(offset, "left", held.row)))

    def _buckets(self, offset: JoinOffset, side: Side, rows: Int64s) -> Int64s:
        config = self.config
        if side == "left":
            return buckets_of(Category.open(config.home, config.left), offset.left_floor, offset.left, rows)
        return buckets_of(Category.open(config.home, config.right), offset.right_floor, offset.right, rows)


def nobody() -> Held:
    none = np.empty(0, np.int64)
    return Held.fresh(np.empty(0, np.uint32), none, none)


def read_totals(config: JoinConfig, offset: JoinOffset) -> Totals:
    """The running totals of a join over all its bucket groups, at an offset."""
    files, totals = SnapshotFiles(config), Totals()
    for task in range(offset.tasks):
        totals = add_totals(totals, files.totals(offset, task))
    return totals
