"""A snapshot reads back as it was, or is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.errors import CorruptFile, DovetailError, StateError, UnknownVersion
from dovetail.joins.buffer import Held
from dovetail.log.filesystem import Store, open_store
from dovetail.state.snapshot import Snapshot, read_snapshot, snapshot_totals, write_snapshot


def example() -> Snapshot:
    numbers = np.arange(5, dtype=np.int64)
    left = Held(
        numbers.astype(np.uint32), numbers * 10, numbers + 100, numbers % 2 == 0, numbers - 2, numbers - 1
    )
    return Snapshot(left, np.array([7, 9], np.int64), {"left_in": 12, "open_rows": 5})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


def test_round_trip(store: Store) -> None:
    write_snapshot(store, "a.snapshot", example())
    back = read_snapshot(store, "a.snapshot")
    assert all((a == b).all() and a.dtype == b.dtype for a, b in zip(back.left, example().left, strict=True))
    assert back.right_matched.tolist() == [7, 9]
    assert back.totals == snapshot_totals(store, "a.snapshot") == example().totals


def test_every_flipped_byte_and_every_cut_is_found(store: Store, tmp_path: Path) -> None:
    write_snapshot(store, "a.snapshot", example())
    whole = (tmp_path / "a.snapshot").read_bytes()
    for at in range(len(whole)):
        (tmp_path / "a.snapshot").write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises((CorruptFile, UnknownVersion)):
            read_snapshot(store, "a.snapshot")
        (tmp_path / "a.snapshot").write_bytes(whole[:at])
        with pytest.raises(DovetailError):
            read_snapshot(store, "a.snapshot")


def test_a_missing_snapshot_says_what_to_do(store: Store) -> None:
    with pytest.raises(StateError, match="missing") as caught:
        read_snapshot(store, "none.snapshot")
    assert caught.value.hint


def test_the_snapshot_of_another_task_is_refused(store: Store, tmp_path: Path) -> None:
    write_snapshot(store, "a.0-of-2.snapshot", example())
    (tmp_path / "a.0-of-2.snapshot").rename(tmp_path / "a.1-of-2.snapshot")
    for read in (read_snapshot, snapshot_totals):
        with pytest.raises(CorruptFile, match=r"it is a\.0-of-2") as caught:
            read(store, "a.1-of-2.snapshot")
        assert caught.value.where == f"{tmp_path}/a.1-of-2.snapshot"


def test_totals_are_checked_too(store: Store, tmp_path: Path) -> None:
    write_snapshot(store, "a.snapshot", example())
    path = tmp_path / "a.snapshot"
    path.write_bytes(path.read_bytes().replace(b'"left_in": 12', b'"left_in": 13'))
    with pytest.raises(CorruptFile, match="checksum"):
        snapshot_totals(store, "a.snapshot")
    path.write_bytes(b"")
    with pytest.raises(CorruptFile):
        snapshot_totals(store, "a.snapshot")
