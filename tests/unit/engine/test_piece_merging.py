"""Law: pieces are put together beside the steps; whether a merge is named or not, there are never many."""

from __future__ import annotations

from itertools import count

import pytest

from dovetail.engine.copying import settle
from dovetail.engine.home_snapshots import NAMED_WITHIN
from dovetail.engine.piece_merging import FAN, begin, due, with_merged
from dovetail.joins.snapshot import SnapshotPiece

SMALLEST, MOST = 16, 1024
TASK = "folder", 0, 1


def piece(name: int, rows: int) -> SnapshotPiece:
    return SnapshotPiece(f"{name}.piece", rows, name, -1)


def together(pieces: tuple[SnapshotPiece, ...], name: int) -> SnapshotPiece:
    return SnapshotPiece(f"{name}.piece", sum(one.rows for one in pieces), pieces[-1].left_high, -1)


@pytest.mark.parametrize("lost", [0, 3])
def test_pieces_stay_few_and_all_rows_are_in_them(lost: int) -> None:
    """Also if every third merge is not named: another process ran the next step."""
    names, pieces, merges = count(), [], 0
    for step in range(1, 1500):
        pieces.append(piece(next(names), SMALLEST + 1))
        if many := due(pieces, SMALLEST, MOST):
            merges += 1
            begin(TASK, step, many, lambda many=many: together(many, next(names)))  # type: ignore[misc]
        settle()
        named = with_merged(TASK, step, pieces)
        if not lost or merges % lost:
            pieces = named
        assert sum(one.rows for one in pieces) == step * (SMALLEST + 1)
        assert [one.left_high for one in pieces] == sorted(one.left_high for one in pieces)
    assert len(pieces) <= 1500 * SMALLEST // (MOST // 2) + 3 * FAN


def test_only_neighbours_of_like_size_are_merged() -> None:
    small = [piece(n, SMALLEST) for n in range(FAN - 1)]
    large = piece(50, MOST)
    assert due([*small, large], SMALLEST, MOST) == ()
    assert due([*small[:4], large, *small[4:], piece(60, SMALLEST)], SMALLEST, MOST) == ()
    assert due([large] * 2 * FAN, SMALLEST, MOST) == ()
    assert due([large, *small, piece(60, SMALLEST)], SMALLEST, MOST) == (*small, piece(60, SMALLEST))


def test_a_merge_of_pieces_that_are_gone_is_not_named() -> None:
    pieces = [piece(n, SMALLEST) for n in range(FAN)]
    begin(TASK, 1, tuple(pieces), lambda: together(tuple(pieces), 99))
    settle()
    assert with_merged(TASK, 2, pieces[1:]) == pieces[1:]
    assert with_merged(TASK, 2, pieces) == pieces


def test_a_merge_is_named_soon_or_never() -> None:
    pieces = [piece(n, SMALLEST) for n in range(FAN)]
    for late, named in ((NAMED_WITHIN - 1, 1), (NAMED_WITHIN, FAN)):
        begin(TASK, 1, tuple(pieces), lambda: together(tuple(pieces), 99))
        settle()
        assert len(with_merged(TASK, 1 + late, pieces)) == named
