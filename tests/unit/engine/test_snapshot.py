"""A snapshot reads back as it was, or is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.engine import snapshot_files
from dovetail.engine.copying import settle
from dovetail.engine.snapshot_files import LONG_WAY, SnapshotFiles
from dovetail.errors import CorruptFile, DovetailError, StateError, UnknownVersion
from dovetail.joins.buffer import Held
from dovetail.joins.snapshot import Snapshot, decode_snapshot, encode_snapshot, snapshot_totals
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import JoinOffset

from .workload import config

NAME, WHERE = "a.snapshot", "home/a.snapshot"


def example() -> Snapshot:
    numbers = np.arange(5, dtype=np.int64)
    left = Held(
        numbers.astype(np.uint32),
        numbers * 10,
        numbers + 100,
        numbers % 2 == 0,
        numbers - 2,
        numbers - 1,
        np.zeros(5, np.uint16),
    )
    return Snapshot(left, np.array([7, 9], np.int64), {"left_in": 12, "open_rows": 5})


def test_round_trip() -> None:
    data = encode_snapshot(example(), NAME)
    back = decode_snapshot(data, NAME, where=WHERE)
    assert all((a == b).all() and a.dtype == b.dtype for a, b in zip(back.left, example().left, strict=True))
    assert back.right_matched.tolist() == [7, 9]
    assert back.totals == snapshot_totals(data, NAME, where=WHERE) == example().totals


def test_every_flipped_byte_and_every_cut_is_found() -> None:
    whole = encode_snapshot(example(), NAME)
    for at in range(len(whole)):
        flipped = whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]
        with pytest.raises((CorruptFile, UnknownVersion)):
            decode_snapshot(flipped, NAME, where=WHERE)
        with pytest.raises(DovetailError):
            decode_snapshot(whole[:at], NAME, where=WHERE)


def test_the_snapshot_of_another_task_is_refused() -> None:
    data = encode_snapshot(example(), "a.0-of-2.snapshot")
    for read in (decode_snapshot, snapshot_totals):
        with pytest.raises(CorruptFile, match=r"it is a\.0-of-2") as caught:
            read(data, "a.1-of-2.snapshot", where="home/a.1-of-2.snapshot")
        assert caught.value.where == "home/a.1-of-2.snapshot"


def test_totals_are_checked_too() -> None:
    data = encode_snapshot(example(), NAME)
    with pytest.raises(CorruptFile, match="checksum"):
        snapshot_totals(data.replace(b'"left_in": 12', b'"left_in": 13'), NAME, where=WHERE)
    with pytest.raises(CorruptFile):
        snapshot_totals(b"", NAME, where=WHERE)


@pytest.fixture
def files(tmp_path: Path) -> SnapshotFiles:
    (tmp_path / "home").mkdir()
    return SnapshotFiles(config(tmp_path / "home", tmp_path / "index", IntervalSpec(1, 1, "left"), 8, 0))


def offset(step: int, trail: int = 0) -> JoinOffset:
    steps = [JoinOffset(step=number, tasks=1) for number in range(step - trail - 1, step)]
    base, *rest = [before.bare() for before in steps]
    return JoinOffset(step=step, tasks=1, base=base, trail=rest)


def in_home(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "home").rglob("*.snapshot"))


def here(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "index").rglob("*.snapshot"))


def test_one_sound_copy_is_enough(files: SnapshotFiles, tmp_path: Path) -> None:
    at = offset(5)
    files.write(at, 0, example())
    settle()
    whole = in_home(tmp_path)[0].read_bytes()
    for damaged, other in ((here, in_home), (in_home, here)):
        for data in (whole[:-1], b"", None):
            for path in (*here(tmp_path), *in_home(tmp_path)):
                path.write_bytes(whole)
            path = damaged(tmp_path)[0]
            path.unlink() if data is None else path.write_bytes(data)
            assert files.read(at, 0).totals == files.totals(at, 0) == example().totals, (damaged, data)
            path.write_bytes(whole)
            assert len(other(tmp_path)) == 1


def test_what_no_copy_has_says_what_to_do(files: SnapshotFiles, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="missing") as caught:
        files.read(offset(3), 0)
    assert caught.value.hint
    files.write(offset(3), 0, example())
    settle()
    for path in (*here(tmp_path), *in_home(tmp_path)):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFile) as damaged:
        files.read(offset(3), 0)
    assert damaged.value.where == str(in_home(tmp_path)[0])


def test_a_step_waits_for_the_home_only_where_the_way_back_is_long(
    files: SnapshotFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(snapshot_files, "send", lambda store, path, data, needs: sent.append(path))
    files.write(offset(20, LONG_WAY - 1), 0, example())
    assert (len(sent), in_home(tmp_path)) == (1, [])
    files.write(offset(21, LONG_WAY), 0, example())
    assert len(sent) == len(in_home(tmp_path)) == 1
    files.copy_all()
    assert [path.name[:12] for path in in_home(tmp_path)] == ["000000000021"]


def test_old_ones_go(files: SnapshotFiles, tmp_path: Path) -> None:
    for step in range(1, 6):
        files.write(offset(step), 0, example())
    settle()
    assert [int(path.name[:12]) for path in here(tmp_path)] == [4, 5]
    assert [int(version[:12]) for version in files.whole_in_home()] == [1, 2, 3, 4, 5]
    files.drop(before=4)
    assert [int(path.name[:12]) for path in in_home(tmp_path)] == [4, 5]


def test_only_what_all_tasks_have_written_is_whole(files: SnapshotFiles) -> None:
    at = offset(2).moved(tasks=2)
    files.write(at, 1, example())
    settle()
    assert not files.whole_in_home()
    files.write(at, 0, example())
    settle()
    assert list(files.whole_in_home()) == [at.version]
