"""Law: the state at an offset is a function of the offset and the home; the live index only makes it quick to
get.

`resume` gives the state of one task's share at an offset: from the live index where its version fits, else
from the snapshots and the log. Tasks and hot keys may have changed in between: rows go to whom they belong
now, by the bucket they have in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.buffer import Buffer, Held
from dovetail.joins.caps import beyond
from dovetail.joins.interval import IntervalState, Times, retain_bound
from dovetail.joins.sample import Sample
from dovetail.kernels import ring as rings
from dovetail.kernels.ring import tag_of
from dovetail.log.category import Category
from dovetail.log.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import HotKey, Share, Side
from dovetail.model.time_codes import FIRST_TIME
from dovetail.state.arrivals import Int64s, arrivals, buckets_of, mine
from dovetail.state.gather import Rows, key_hashes
from dovetail.state.live_index import (
    Attached,
    LiveIndex,
    claim_directory,
    drop_other_groupings,
    group_directory,
    index_root,
    unmap_other_groupings,
)
from dovetail.state.regrouping import dealt_totals
from dovetail.state.snapshot import Snapshot, read_snapshot, snapshot_totals, write_snapshot

Totals = dict[str, int]


class StateStore:
    """The state of one task's share of one join."""

    def __init__(self, config: JoinConfig, share: Share) -> None:
        self.config = config
        self.share = share
        root = index_root(config.index_dir)
        directory = group_directory(root, config.home, config.state_path, share.task, share.tasks)
        claim_directory(directory, config.home)
        unmap_other_groupings(directory)
        self.index = LiveIndex(directory, config.spec)
        self._store = open_store(config.home)

    def resume(self, offset: JoinOffset) -> tuple[Attached, bool]:
        """The state at an offset, and whether it had to be rebuilt; then the sample begins anew."""
        times = Times(*offset.times)
        if offset.tasks == 0:
            return self.index.fresh(times), False
        if offset.tasks == self.share.tasks:
            live = self.index.attach(offset.version, times)
            if live is not None:
                moved = {key.hash for key in set(offset.hot_keys) ^ set(self.share.hot)}
                if moved:
                    self._deal_again(live.state, offset, moved)
                return live, False
        return self._rebuild(offset, times), True

    def save(self, offset: JoinOffset, state: IntervalState, sample: Sample, totals: Totals) -> int:
        """Make this the state at an offset. Snapshots older than the one before are no longer needed."""
        matched = np.empty(0, np.int64)
        if self.config.spec.keeps_right:
            right = state.right.held()
            matched = right.row[right.matched]
        path = snapshot_path(self.config, offset.version, self.share.task, self.share.tasks)
        self._store.make_folder(self.config.state_path)
        written = write_snapshot(self._store, path, Snapshot(state.left.held(), matched, totals))
        self.index.save(offset.version, totals, sample)
        return written

    def _rebuild(self, offset: JoinOffset, times: Times) -> Attached:
        drop_other_groupings(self.index.directory)
        fresh, share = self.index.fresh(times), self.share
        state = fresh.state
        same_tasks = offset.tasks == share.tasks
        if same_tasks and offset.hot_keys == share.hot:
            snapshots = [self._snapshot(offset, share.task)]
            state.left.insert(snapshots[0].left)
        else:
            snapshots = [self._snapshot(offset, task) for task in range(offset.tasks)]
            state.left.insert(self._left_share(offset, snapshots))
        matched = np.concatenate([snapshot.right_matched for snapshot in snapshots])
        self._replay_right(state, offset, matched)
        if same_tasks:
            return fresh._replace(totals=snapshots[share.task if len(snapshots) > 1 else 0].totals)
        totals: Totals = {}
        for snapshot in snapshots:
            totals = add_totals(totals, snapshot.totals)
        return fresh._replace(totals=dealt_totals(totals, share))

    def _deal_again(self, state: IntervalState, offset: JoinOffset, keys: set[int]) -> None:
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
            slots, _ = rings.crowded(buffer.ring, tags, 0)
            rings.kill(buffer.ring, slots[of_these(side, buffer.held_at(slots))])
        snapshots = [self._snapshot(offset, task) for task in range(offset.tasks)]
        left = self._left_share(offset, snapshots)
        state.left.insert(left.where(of_these("left", left)))
        self._replay_right(state, offset, np.empty(0, np.int64), of_these)

    def _left_share(self, offset: JoinOffset, snapshots: list[Snapshot]) -> Held:
        """This task's open left rows out of all tasks' snapshots; copies of a row are one."""
        held = reduce(Held.joined, (snapshot.left for snapshot in snapshots))
        if any(key.dealt == "right" for key in offset.hot_keys):
            first = np.zeros(len(held.row), np.bool_)
            first[np.unique(held.row, return_index=True)[1]] = True
            held = held.where(first)
        return held.where(mine(self.share, "left", held, self._buckets(offset, "left", held.row)))

    def _replay_right(
        self,
        state: IntervalState,
        offset: JoinOffset,
        matched: Int64s,
        wanted: Callable[[Side, Held], NDArray[np.bool_]] | None = None,
    ) -> None:
        """Insert this task's right rows that are in the window, from the log; `wanted` picks some of them."""
        spec = self.config.spec
        right = Category.open(self.config.home, self.config.right)
        bound = max(retain_bound(spec, state.times), FIRST_TIME)
        for commit in right.commits(offset.right_floor, offset.right):
            rows = arrivals(right, [commit], self.share, "right")
            kept = rows.time >= bound
            flags = np.isin(rows.row[kept], matched) if spec.keeps_right else None
            held = Held.fresh(tag_of(rows.hash[kept]), rows.time[kept], rows.row[kept], flags)
            state.right.insert(held if wanted is None else held.where(wanted("right", held)))
        if spec.right_cap is not None:
            replayed = Rows(right, offset.right_floor, offset.right)
            surplus = beyond(
                state.right,
                state.right.held().tag,
                spec.right_cap,
                lambda side, numbers: key_hashes(replayed, replayed, side, numbers),
            )
            rings.kill(state.right.ring, surplus)

    def _buckets(self, offset: JoinOffset, side: Side, rows: Int64s) -> Int64s:
        config = self.config
        if side == "left":
            return buckets_of(Category.open(config.home, config.left), offset.left_floor, offset.left, rows)
        return buckets_of(Category.open(config.home, config.right), offset.right_floor, offset.right, rows)

    def _snapshot(self, offset: JoinOffset, task: int) -> Snapshot:
        return read_snapshot(self._store, snapshot_path(self.config, offset.version, task, offset.tasks))


def snapshot_path(config: JoinConfig, version: str, task: int, tasks: int) -> str:
    return f"{config.state_path}/{version}.{task}-of-{tasks}.snapshot"


def add_totals(first: Totals, second: Totals) -> Totals:
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def read_totals(config: JoinConfig, offset: JoinOffset) -> Totals:
    """The running totals of a join over all its bucket groups, at an offset."""
    store = open_store(config.home)
    totals: Totals = {}
    for task in range(offset.tasks):
        totals = add_totals(
            totals, snapshot_totals(store, snapshot_path(config, offset.version, task, offset.tasks))
        )
    return totals


def drop_snapshots(config: JoinConfig, *, keep: Iterable[str]) -> None:
    """Remove the snapshots of all versions but those named."""
    store = open_store(config.home)
    kept = tuple(keep)
    for entry in store.files(config.state_path):
        if entry.name.endswith(".snapshot") and not entry.name.startswith(kept):
            store.delete(f"{config.state_path}/{entry.name}")
