"""What a windowed join keeps in a snapshot, and how its state is rebuilt.

The log and the two stream times determine which rows a tumbling or hopping join holds: a row is held until
its last window is over, and one that comes after that is never held. So its snapshots have no rows, and both
sides are read back from the log. Sessions are different, since a late row may be next to one that has left.
Their snapshots have the rows of both sides.
"""

from __future__ import annotations

from dovetail.joins.emitted import NONE
from dovetail.joins.kind import Saved, Saves, Wanted, buffers, nobody
from dovetail.joins.read_back import read_since
from dovetail.joins.snapshot import Snapshot
from dovetail.joins.state import JoinState
from dovetail.joins.step_input import Totals
from dovetail.model.join_config import JoinConfig
from dovetail.model.join_kind import WindowedJoin
from dovetail.model.share import Share


def snapshot(config: JoinConfig, share: Share, state: JoinState, totals: Totals) -> Snapshot:
    if _log_has_all(config):
        return Snapshot(nobody(), NONE, totals)
    return Snapshot(state.left.held(), NONE, totals, state.right.held())


def saves(config: JoinConfig, share: Share) -> Saves:
    return Saves(left=not _log_has_all(config), right=not _log_has_all(config))


def rebuild(
    config: JoinConfig, share: Share, state: JoinState, saved: Saved, wanted: Wanted | None = None
) -> None:
    kind = config.join_kind
    assert isinstance(kind, WindowedJoin)
    for side, buffer in buffers(state):
        if _log_has_all(config):
            since = kind.window.needed_since(*state.times)
            read_since(config, share, side, buffer, saved.offset, since, NONE, wanted)
        else:
            buffer.insert(saved.held(config, share, side))


def _log_has_all(config: JoinConfig) -> bool:
    kind = config.join_kind
    assert isinstance(kind, WindowedJoin)
    return kind.window.replayable
