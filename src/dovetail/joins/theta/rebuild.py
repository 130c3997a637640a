"""What a theta join keeps in a snapshot, and how its state is rebuilt.

Right rows are read back from the log. If only pairs come out, so are left rows: nothing depends on what they
have matched or chosen. Otherwise the snapshot has the open left rows.
"""

from __future__ import annotations

from dovetail.joins.buffer import Buffer
from dovetail.joins.emitted import NONE
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
    return Snapshot(nobody() if share.dealt == SIDES else state.left.held(), NONE, totals)


def saves(config: JoinConfig, share: Share) -> Saves:
    return Saves(left=share.dealt != SIDES)


def rebuild(
    config: JoinConfig, share: Share, state: JoinState, saved: Saved, wanted: Wanted | None = None
) -> None:
    assert wanted is None, "without keys no key is hot"
    if share.dealt == SIDES:
        bound = open_bound(config.spec, state.times)
        _read(config, share, "left", state.left, saved.offset, bound)
    else:
        state.left.insert(saved.held(config, share, "left"))
    _read(config, share, "right", state.right, saved.offset, retain_bound(config.spec, state.times))


def _read(
    config: JoinConfig, share: Share, side: Side, buffer: Buffer, offset: JoinOffset, since: int
) -> None:
    kind = config.join_kind
    assert isinstance(kind, ThetaJoin)
    if kind.theta.rows is not None:
        read_last_rows(config, share, side, buffer, offset, kind.theta.rows.of(side))
    else:
        read_since(config, share, side, buffer, offset, since, NONE)
