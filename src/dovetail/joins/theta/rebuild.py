"""What a theta join keeps in a snapshot, and how its state is rebuilt.

Right rows are read back from the log. If only pairs come out, so are left rows: nothing depends on what they
have matched or chosen. Otherwise the snapshot has the open left rows, and which right rows have matched if
lone ones come out.
"""

from __future__ import annotations

import numpy as np

from dovetail.joins.buffer import Buffer
from dovetail.joins.emitted import NONE, Int64s
from dovetail.joins.kind import Saved, Saves, Wanted, nobody
from dovetail.joins.read_back import read_last_rows, read_since
from dovetail.joins.snapshot import Snapshot
from dovetail.joins.state import JoinState, open_bound, retain_bound
from dovetail.joins.step_input import Totals
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import ThetaJoin
from dovetail.model.offset import JoinOffset
from dovetail.model.share import SIDES, Share, Side


def snapshot(config: JoinConfig, share: Share, state: JoinState, totals: Totals) -> Snapshot:
    matched = NONE
    if config.spec.keeps_right:
        right = state.right.held()
        matched = right.row[right.matched]
    return Snapshot(nobody() if share.dealt == SIDES else state.left.held(), matched, totals)


def saves(config: JoinConfig, share: Share) -> Saves:
    return Saves(left=share.dealt != SIDES, right_matched=config.spec.keeps_right)


def rebuild(
    config: JoinConfig, share: Share, state: JoinState, saved: Saved, wanted: Wanted | None = None
) -> None:
    assert wanted is None, "without keys no key is hot"
    if share.dealt == SIDES:
        bound = open_bound(config.spec, state.times)
        _read(config, share, "left", state.left, saved.offset, bound, NONE)
    else:
        state.left.insert(saved.held(config, share, "left"))
    matched = np.concatenate([NONE, *(one.right_matched for one in saved.snapshots)])
    bound = retain_bound(config.spec, state.times)
    _read(config, share, "right", state.right, saved.offset, bound, matched)


def _read(
    config: JoinConfig,
    share: Share,
    side: Side,
    buffer: Buffer,
    offset: JoinOffset,
    since: int,
    matched: Int64s,
) -> None:
    kind = config.join_kind
    assert isinstance(kind, ThetaJoin)
    if kind.theta.rows is not None:
        read_last_rows(config, share, side, buffer, offset, kind.theta.rows.of(side), matched)
    else:
        read_since(config, share, side, buffer, offset, since, matched)
