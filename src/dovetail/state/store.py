"""Law: the state at an offset is a function of the offset and the home; the live index only makes it quick to
get.

`resume` gives the state of one bucket group at an offset: from the live index where its version fits, else
from the snapshots and the log. The grouping may have changed in between: rows are sorted into groups by the
bucket they have in the log.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.joins.buffer import Held
from dovetail.joins.interval import IntervalState, Times, retain_bound
from dovetail.kernels.ring import tag_of
from dovetail.log.category import Category
from dovetail.log.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.time_codes import FIRST_TIME
from dovetail.state.arrivals import arrivals, buckets_of
from dovetail.state.live_index import LiveIndex, claim_directory, group_directory, index_root
from dovetail.state.snapshot import Snapshot, read_snapshot, snapshot_totals, write_snapshot

Totals = dict[str, int]


class StateStore:
    """The state of one bucket group of one join."""

    def __init__(self, config: JoinConfig, task: int, tasks: int) -> None:
        self.config = config
        self.task = task
        self.tasks = tasks
        root = index_root(config.index_dir)
        directory = group_directory(root, config.home, config.state_path, task, tasks)
        claim_directory(directory, config.home)
        self.index = LiveIndex(directory, config.spec)
        self._store = open_store(config.home)

    def resume(self, offset: JoinOffset) -> tuple[IntervalState, Totals, bool]:
        """The state at an offset, its running totals, and whether it had to be rebuilt."""
        times = Times(*offset.times)
        if offset.tasks == 0:
            return self.index.fresh(times), {}, False
        if offset.tasks == self.tasks:
            live = self.index.attach(offset.version, times)
            if live is not None:
                return *live, False
        return *self._rebuild(offset, times), True

    def save(self, offset: JoinOffset, state: IntervalState, totals: Totals) -> int:
        """Make this the state at an offset. Snapshots older than the one before are no longer needed."""
        matched = np.empty(0, np.int64)
        if self.config.spec.keeps_right:
            right = state.right.held()
            matched = right.row[right.matched]
        path = self._path(offset.version, self.task, self.tasks)
        self._store.make_folder(self.config.state_path)
        written = write_snapshot(self._store, path, Snapshot(state.left.held(), matched, totals))
        self.index.save(offset.version, totals)
        return written

    def _rebuild(self, offset: JoinOffset, times: Times) -> tuple[IntervalState, Totals]:
        config = self.config
        state = self.index.fresh(times)
        low, high = config.bucket_range(self.task, self.tasks)
        left = Category.open(config.home, config.left)
        right = Category.open(config.home, config.right)
        totals: Totals = {}
        matched = []
        regrouped = offset.tasks != self.tasks
        for task in range(offset.tasks) if regrouped else [self.task]:
            snapshot = read_snapshot(self._store, self._path(offset.version, task, offset.tasks))
            held = snapshot.left
            if regrouped:
                buckets = buckets_of(left, offset.left_floor, offset.left, held.row)
                held = held.where((buckets >= low) & (buckets < high))
            state.left.insert(held)
            matched.append(snapshot.right_matched)
            if not regrouped or self.task == 0:
                totals = add_totals(totals, snapshot.totals)
        bound = retain_bound(config.spec, times)
        for commit in right.commits(offset.right_floor, offset.right):
            rows = arrivals(right, [commit], low, high)
            kept = rows.time >= max(bound, FIRST_TIME)
            numbers = rows.row[kept]
            flags = np.isin(numbers, np.concatenate(matched)) if config.spec.keeps_right else None
            state.right.insert(Held.fresh(tag_of(rows.hash[kept]), rows.time[kept], numbers, flags))
        return state, totals

    def _path(self, version: str, task: int, tasks: int) -> str:
        return snapshot_path(self.config, version, task, tasks)


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
