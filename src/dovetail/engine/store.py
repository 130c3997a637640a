"""Law: the state at an offset is a function of the offset and the home; the live index only makes it quick to
get.

`resume` gives the state of one task's share at an offset. It comes from the live index where its version
fits, else from snapshots and the log. Where a snapshot is missing or damaged, it comes from those of an
earlier step, and the steps after it run once more. The number of tasks and the hot keys may have changed in
between: each row goes to the task that it belongs to now, by the bucket it has in the log.

A state belongs to the configuration that made it, which its offset names (`queries.py`). A store is at one
configuration at a time: that of the state it has in hand. A step that changes the join takes it to the next.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dovetail.engine.advance import advance
from dovetail.engine.index_folders import claim_directory, group_directory, index_root, sweep
from dovetail.engine.live_index import LiveIndex, drop_other_groupings, unmap_other_groupings
from dovetail.engine.queries import config_at
from dovetail.engine.regrouping import dealt_totals
from dovetail.engine.snapshot_files import INLINE_ROWS, SnapshotFiles, in_pieces
from dovetail.errors import CorruptFile, StateError, UnknownVersion
from dovetail.joins.buffer import Held
from dovetail.joins.changes import Changes, of_journal
from dovetail.joins.emitted import Emitted
from dovetail.joins.kind import Saved, Saves, add_totals, buckets_at, buffers
from dovetail.joins.kinds import verbs_of
from dovetail.joins.snapshot import SnapshotPart
from dovetail.joins.step_input import LiveState, StepInput, Totals
from dovetail.joins.streams import Times
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import HotKey, Share, Side

MANY = 4
"""If a step changes more than one in this many of the saved rows, it saves all of them."""
UNUSABLE = (StateError, CorruptFile, UnknownVersion)
"""A snapshot that is missing, damaged or of another release: try that of an earlier step."""


class StateStore:
    """The state of one task's share of one join."""

    def __init__(self, config: JoinConfig, share: Share) -> None:
        self.config = config
        self.share = share
        self._verbs = verbs_of(config.join_kind)
        root = index_root(config.index_dir)
        directory = group_directory(root, config.home, config.state_path, share.task, share.tasks)
        if claim_directory(directory, config.home, config.state_path):
            # What has no join any more makes room for one that is new here.
            sweep(root, config.home, keep=directory.parent)
        unmap_other_groupings(directory)
        self.index = LiveIndex(directory, config.join_kind)
        self.snapshots = SnapshotFiles(config)
        self._since: JoinOffset | None = None  # what this step changes is noted, from its start on

    def _turn_to(self, query: int) -> None:
        """From here on the state in hand is one of this configuration."""
        self.config = config_at(self.config, query)
        self.share = replace(self.share, dealt=self.config.join_kind.dealt)
        self._verbs = verbs_of(self.config.join_kind)
        self.index.join_kind = self.config.join_kind

    def resume(self, offset: JoinOffset) -> tuple[LiveState, bool]:
        """The state at an offset, and whether it had to be rebuilt. A rebuilt state has an empty sample."""
        if offset.tasks == 0:
            return self.index.fresh(Times(*offset.times)), False
        self._turn_to(offset.query)
        live = self._live(offset)
        if live is None:
            return self._recovered(offset), True
        if offset.hot_keys == self.share.hot:  # else rows were dealt again, and a full snapshot is due
            self._since = offset
            for _, buffer in buffers(live.state):
                buffer.keep_journal()
        return live, False

    def between(self, start: JoinOffset, end: JoinOffset) -> StepInput:
        """What the step takes that starts with the state in hand."""
        was = self.config if start.changes_to(end) else None
        self._turn_to(end.query)
        return StepInput.between(self.config, self.share, start, end)._replace(was=was)

    def advance(self, at: LiveState, given: StepInput) -> tuple[LiveState, Emitted]:
        """The state after a step, with its totals, and what came out."""
        if given.was is not None:
            self._since = None  # nothing of the snapshot before is certain to be the same: all of it is saved
        emitted, totals = advance(at, given)
        end = given.end
        if end.ended:  # everything was closed, and the streams begin again: give the memory back
            at = self.index.fresh(Times(*end.times))
        return at._replace(totals=totals), emitted

    def save(self, offset: JoinOffset, at: LiveState, totals: Totals) -> None:
        """Make this the state at an offset."""
        # Snapshot before index. A crash between the two leaves a dirty index, which the snapshot replaces.
        # In the other order this task could continue from an index whose snapshot other tasks cannot find.
        saves = self._verbs.saves(self.config, self.share)
        rows = saves.left * at.state.left.rows + (saves.right or saves.right_matched) * at.state.right.rows
        if rows <= INLINE_ROWS:
            kept = self._verbs.snapshot(self.config, self.share, at.state, totals)
            self.snapshots.write(offset, self.share.task, kept)
        elif not self._changes_saved(offset, at, totals, saves, rows):
            nothing = Changes.nothing()
            last = SnapshotPart(nothing, nothing, totals, (), saves.right)
            self.snapshots.write_in_pieces(offset, self.share.task, in_pieces(at.state, saves), last)
        self.index.save(offset.version, totals, at.sample)

    def _changes_saved(
        self, offset: JoinOffset, at: LiveState, totals: Totals, saves: Saves, rows: int
    ) -> bool:
        """Save what the step changed, where that is little of the `rows` that are saved in all."""
        left, right = at.state.left, at.state.right
        if self._since is None or left.journal is None or right.journal is None:
            return False
        came = saves.left * left.journal.staying + saves.right * right.journal.staying
        if came * MANY > rows:  # before the rest is put in order
            return False
        changed = SnapshotPart(
            of_journal(left.journal, rows=saves.left, matches=False),
            of_journal(right.journal, rows=saves.right, matches=saves.right_matched),
            totals,
            (),
            saves.right,
        )
        if changed.size * MANY > rows:
            return False
        try:
            parent = self.snapshots.last_part(self._since, self.share.task)
        except UNUSABLE:
            return False
        floors = (
            (self.config.left, offset.left_floor, offset.left),
            (
                self.config.right,
                offset.right_floor,
                offset.right,
            ),
        )
        lows = [
            Category.open(self.config.home, name).range(floor, stop).first_row for name, floor, stop in floors
        ]
        return self.snapshots.write_changes(
            offset, self.share.task, parent, changed, (lows[0], lows[1]), rows
        )

    def _live(self, offset: JoinOffset) -> LiveState | None:
        if offset.tasks != self.share.tasks:
            return None
        live = self.index.attach(offset.version, Times(*offset.times))
        # `^` also finds a key that stays hot but whose other side is dealt out from now on.
        moved = {key.hash for key in set(offset.hot_keys) ^ set(self.share.hot)}
        if live is not None and moved:
            try:
                saved = self._saved(offset)
            except UNUSABLE:
                return None  # nothing has moved yet, and without its header the index counts as no state
            self._deal_again(live, saved, moved)
        return live

    def _recovered(self, offset: JoinOffset) -> LiveState:
        """From the newest step on the recovery path whose snapshots are sound; the steps after it run again.

        They run with today's share, even if rows were shared out differently at the time. That is safe
        because what a share holds and finds depends on its own rows only: the pairs of other shares do not
        enter it.
        """
        drop_other_groupings(self.index.directory)
        way, trouble = offset.way, None
        for number in reversed(range(len(way))):
            try:
                saved = self._saved(way[number])
            except UNUSABLE as error:
                trouble = trouble or error
                continue
            # Where there is no state yet, the first step says what kind it becomes.
            self._turn_to(way[number if saved.offset.tasks else number + 1].query)
            at = self._rebuilt(saved)
            for start, end in pairwise(way[number:]):
                at, _ = self.advance(at, self.between(start, end))  # what comes out has come out before
            return at
        assert trouble is not None
        raise trouble

    def _saved(self, offset: JoinOffset) -> Saved:
        """The snapshots that hold this share's rows: its own, or all of them if rows were shared out
        differently."""
        same = offset.tasks == self.share.tasks and offset.hot_keys == self.share.hot
        tasks = [self.share.task] if same else range(offset.tasks)
        return Saved(offset, [self.snapshots.read(offset, task) for task in tasks], same)

    def _rebuilt(self, saved: Saved) -> LiveState:
        share, snapshots = self.share, saved.snapshots
        fresh = self.index.fresh(Times(*saved.offset.times))
        if saved.offset.tasks == 0:
            return fresh
        self._verbs.rebuild(self.config, share, fresh.state, saved)
        if saved.offset.tasks == share.tasks:
            return fresh._replace(totals=snapshots[0 if saved.same else share.task].totals)
        totals: Totals = {}
        for snapshot in snapshots:
            totals = add_totals(totals, snapshot.totals)
        return fresh._replace(totals=dealt_totals(totals, share))

    def _deal_again(self, live: LiveState, saved: Saved, keys: set[int]) -> None:
        """Give the rows of these keys to the tasks they belong to now; all others stay where they are.

        First every row of the keys is removed, then the snapshots and the log fill in those that are this
        task's now. Both use `of_these`, so a row can be neither held twice nor forgotten: what it selects is
        removed and filled in, and what it does not select is not touched. If the process dies in between, the
        index has no header, and the next one rebuilds.
        """
        tags = np.unique(np.array([HotKey(key, "left").tag for key in keys], np.uint32))

        def of_these(side: Side, held: Held) -> NDArray[np.bool_]:
            found = buckets_at(self.config, saved.offset, side, held.row)
            chosen = np.zeros(len(found), np.bool_)
            for key in keys:
                # The tag is half of the hash, so other keys share it; the bucket tells them apart. A key that
                # shares both moves along, in every task alike: `mine` asks the same question.
                chosen |= (held.tag == HotKey(key, "left").tag) & (found == key % self.config.buckets)
            return chosen

        for side, buffer in buffers(live.state):
            slots, _ = buffer.crowded(tags, 0)  # all rows with these tags: more than 0
            buffer.kill(slots[of_these(side, buffer.held_at(slots))])
        self._verbs.rebuild(self.config, self.share, live.state, saved, of_these)


def read_totals(config: JoinConfig, offset: JoinOffset) -> Totals:
    """The running totals of a join over all its bucket groups, at an offset."""
    files, totals = SnapshotFiles(config), Totals()
    for task in range(offset.tasks):
        totals = add_totals(totals, files.totals(offset, task))
    return totals
