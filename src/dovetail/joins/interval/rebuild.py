"""What an interval join keeps in a snapshot, and how its state is rebuilt.

Open left rows are in the snapshot, because the log does not say whether they have matched, and which partner
they have chosen. Retained right rows are read back from the log (section 6.1 of the paper). The snapshot only
names those that have matched, and only in joins that let lone right rows out.
"""

from __future__ import annotations

import numpy as np

from dovetail.joins.caps import beyond
from dovetail.joins.emitted import NONE
from dovetail.joins.kind import Saved, Saves, Wanted
from dovetail.joins.read_back import read_since
from dovetail.joins.rows.gather import Rows, key_hashes
from dovetail.joins.snapshot import Snapshot
from dovetail.joins.state import JoinState, retain_bound
from dovetail.joins.step_input import Totals
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset
from dovetail.model.share import Share


def snapshot(config: JoinConfig, share: Share, state: JoinState, totals: Totals) -> Snapshot:
    matched = NONE
    if config.spec.keeps_right:
        right = state.right.held()
        matched = right.row[right.matched]
    return Snapshot(state.left.held(), matched, totals)


def saves(config: JoinConfig, share: Share) -> Saves:
    return Saves(left=True, right_matched=config.spec.keeps_right)


def rebuild(
    config: JoinConfig, share: Share, state: JoinState, saved: Saved, wanted: Wanted | None = None
) -> None:
    left = saved.held(config, share, "left")
    state.left.insert(left if wanted is None else left.where(wanted("left", left)))
    matched = np.concatenate([one.right_matched for one in saved.snapshots])
    bound = retain_bound(config.spec, state.times)
    read_since(config, share, "right", state.right, saved.offset, bound, matched, wanted)
    if config.spec.right_cap is not None:
        _cap(config, state, config.spec.right_cap, saved.offset)


def _cap(config: JoinConfig, state: JoinState, cap: int, offset: JoinOffset) -> None:
    """The log has all rows of a key; the state held the newest of them."""
    rows = Rows(Category.open(config.home, config.right), offset.right_floor, offset.right)
    tags = state.right.held().tag
    surplus = beyond(state.right, tags, cap, lambda side, numbers: key_hashes(rows, rows, side, numbers))
    state.right.kill(surplus)
