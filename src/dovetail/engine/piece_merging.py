"""Puts the pieces of a join's snapshots together, in the background: so that there are few, however long the
join runs, and no step waits for it.

    8 K  8 K  ... 8 of them  ──►  64 K  64 K  ... 8 of them  ──►  512 K  512 K  512 K

Law: a merged piece says what those it replaces say, one after the other (`joins/changes.py`). So a snapshot
may name it in their place, or name them: the state is the same.

Why no step waits, and none is hurt. A step that sees that FAN pieces of like size follow each other begins a
merge, names the pieces as they are, and is done. The merge writes a file that no snapshot names yet. A later
step of this process finds it finished and names it from then on. If the process dies, or the next steps of
the task run in other processes, the file is never named and is deleted with other unused pieces. That
deletion spares pieces that may still be named (NAMED_WITHIN).

A row is written once for each size, three times in all, whatever the number of open rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from dovetail.engine.copying import aside
from dovetail.engine.home_snapshots import NAMED_WITHIN
from dovetail.joins.snapshot import SnapshotPiece

FAN = 8

Task = tuple[str, int, int]
"""The folder of a join's snapshots on this host, the task and how many there are."""


class _Merge(NamedTuple):
    step: int
    replaced: tuple[SnapshotPiece, ...]
    made: SnapshotPiece | None  # None: it is not finished


_BEGUN: dict[Task, _Merge] = {}
"""By task: the merge that this process began last. One at a time."""


def due(pieces: Sequence[SnapshotPiece], smallest: int, most: int) -> tuple[SnapshotPiece, ...]:
    """Pieces of like size that follow each other and should become one; the newest of them if there are
    several such runs. Empty: none. `smallest`: rows of a piece that was never merged; `most`: of a piece that
    is not merged any more."""
    found: tuple[SnapshotPiece, ...] = ()
    for size, run in groupby(pieces, lambda piece: _size_class(piece.rows, smallest, most)):
        like = tuple(run)
        if size is not None and len(like) >= FAN:
            found = like[:FAN]
    return found


def _size_class(rows: int, smallest: int, most: int) -> int | None:
    """How often that many rows were merged; None: often enough. The bounds are half of what merges give,
    since rows that came and went meanwhile are left out by them."""
    if rows >= most // 2:
        return None
    bound, merged = smallest * FAN // 2, 0
    while rows >= bound:
        bound, merged = bound * FAN, merged + 1
    return merged


def begin(
    task: Task, step: int, replaced: tuple[SnapshotPiece, ...], merge: Callable[[], SnapshotPiece]
) -> None:
    """Merge in the background, unless a merge of this task is under way."""
    under_way = _BEGUN.get(task)
    if under_way is not None and under_way.made is None and step - under_way.step < NAMED_WITHIN:
        return
    _BEGUN[task] = _Merge(step, replaced, None)

    def run() -> None:
        made = merge()
        if task in _BEGUN and _BEGUN[task].replaced == replaced:
            _BEGUN[task] = _Merge(step, replaced, made)

    aside(run)


def with_merged(task: Task, step: int, pieces: list[SnapshotPiece]) -> list[SnapshotPiece]:
    """The pieces, with one that was merged meanwhile in the place of those that it replaces."""
    merge = _BEGUN.get(task)
    if merge is None or merge.made is None:
        return pieces
    del _BEGUN[task]
    count = len(merge.replaced)
    for at in range(len(pieces) - count + 1):
        if tuple(pieces[at : at + count]) == merge.replaced and step - merge.step < NAMED_WITHIN:
            return [*pieces[:at], merge.made, *pieces[at + count :]]
    return pieces
