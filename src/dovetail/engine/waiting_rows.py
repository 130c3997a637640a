"""The left rows of a join that still wait for an answer at the end of a step. If another join takes its
place, it has to answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.engine.store import UNUSABLE, StateStore
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dovetail.joins.buffer import Held
    from dovetail.joins.emitted import Int64s


def without_answer(spec: IntervalSpec, held: Held) -> NDArray[np.bool_]:
    """For open left rows: those that have not come out yet. A pick that was put off has not come out."""
    return np.ones(len(held.row), np.bool_) if spec.defers_pick else ~held.matched


def waiting_rows(config: JoinConfig, offset: JoinOffset) -> Int64s:
    """Their numbers. Of a row with copies in several tasks, each may have had partners."""
    held = [_held(config, offset, task) for task in range(offset.tasks)]
    if not held:
        return np.empty(0, np.int64)
    rows = np.concatenate([one.row for one in held])
    waits = np.concatenate([without_answer(config.spec, one) for one in held])
    return np.setdiff1d(rows[waits], rows[~waits])


def _held(config: JoinConfig, offset: JoinOffset, task: int) -> Held:
    """From its snapshot. If that is lost, from what can be rebuilt."""
    try:
        return SnapshotFiles(config).read(offset, task).left
    except UNUSABLE:
        store = StateStore(config, config.share(task, offset))
        with store.index.exclusively():
            return store.resume(offset)[0].state.left.held()
