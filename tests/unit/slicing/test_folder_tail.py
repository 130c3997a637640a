"""New files of a folder: each is found once, whatever the folder's clock says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dovetail.slicing.folder_tail import FORGET_S, LIST_AGAIN_S, FolderTail

LONG_AGO_NS = 10**15


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def names(tail: FolderTail) -> list[str]:
    return [os.path.relpath(file.path, tail.place) for file in tail.look()]


def put(folder: Path, name: str, modified_s: int = 0) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(name)
    os.utime(path, (modified_s, modified_s))


def settle(folder: Path) -> None:
    """As if the folder had been changed long ago."""
    os.utime(folder, ns=(LONG_AGO_NS, LONG_AGO_NS))


def test_files_come_once_in_the_order_of_their_times(tmp_path: Path) -> None:
    put(tmp_path, "late", 20)
    put(tmp_path, "b", 10)
    put(tmp_path, "a", 10)
    tail = FolderTail(str(tmp_path), [])
    assert names(tail) == ["a", "b", "late"]
    assert names(tail) == []
    put(tmp_path, "new", 5)
    assert names(tail) == ["new"]


def test_hidden_files_and_those_read_before_are_passed_over(tmp_path: Path) -> None:
    for name in (".draft", "_SUCCESS", "_temporary/part", "read", "fresh"):
        put(tmp_path, name)
    assert names(FolderTail(str(tmp_path), [str(tmp_path / "read")])) == ["fresh"]


def test_folders_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    """One for each hour comes and goes, for years."""
    clock = Clock()
    tail = FolderTail(str(tmp_path), [], clock)
    put(tmp_path, "stays")
    assert names(tail) == ["stays"]
    for hour in range(3):
        put(tmp_path, f"hour={hour}/file")
        assert names(tail) == [f"hour={hour}/file"]
        shutil.rmtree(tmp_path / f"hour={hour}")
        clock.now_s += LIST_AGAIN_S
    for _ in range(3):  # files that were read are remembered for longer
        clock.now_s += 2 * FORGET_S
        assert names(tail) == []
    assert "hour" not in repr(vars(tail))


def test_a_file_in_a_folder_that_seems_unchanged_is_found_when_all_is_listed(tmp_path: Path) -> None:
    clock = Clock()
    tail = FolderTail(str(tmp_path), [], clock)
    settle(tmp_path)
    assert names(tail) == []
    put(tmp_path, "silent")
    settle(tmp_path)  # this filesystem does not see the change
    assert names(tail) == []
    clock.now_s += LIST_AGAIN_S
    assert names(tail) == ["silent"]


def test_a_folder_that_changed_a_moment_ago_is_listed_again(tmp_path: Path) -> None:
    tail = FolderTail(str(tmp_path), [], Clock())
    assert names(tail) == []
    before = os.stat(tmp_path)
    put(tmp_path, "same tick")
    os.utime(tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert names(tail) == ["same tick"]


def test_files_below_folders_that_did_not_change_themselves(tmp_path: Path) -> None:
    put(tmp_path, "day=1/a")
    tail = FolderTail(str(tmp_path), [], Clock())
    for folder in (tmp_path, tmp_path / "day=1"):
        settle(folder)
    assert names(tail) == ["day=1/a"]
    put(tmp_path, "day=1/b", 1)
    assert names(tail) == ["day=1/b"]


def test_a_single_file_is_a_place_too(tmp_path: Path) -> None:
    put(tmp_path, "one")
    tail = FolderTail(str(tmp_path / "one"), [])
    assert [file.path for file in tail.look()] == [str(tmp_path / "one")]
    assert tail.look() == []


def test_a_place_that_is_not_there_yet(tmp_path: Path) -> None:
    tail = FolderTail(str(tmp_path / "later"), [])
    assert tail.look() == []
    put(tmp_path, "later/a")
    assert names(tail) == ["a"]


def test_a_file_that_is_gone_for_long_is_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    put(tmp_path, "stays")
    put(tmp_path, "goes", 1)
    tail = FolderTail(str(tmp_path), [], clock)
    assert names(tail) == ["stays", "goes"]
    (tmp_path / "goes").unlink()
    for _ in range(2):
        clock.now_s += FORGET_S
        assert names(tail) == []
    clock.now_s += FORGET_S
    names(tail)
    assert tail.known == {str(tmp_path / "stays")}
    put(tmp_path, "goes", 2)
    assert names(tail) == ["goes"]


def test_a_place_that_is_not_mounted_forgets_nothing(tmp_path: Path) -> None:
    clock = Clock()
    put(tmp_path, "in/a")
    tail = FolderTail(str(tmp_path / "in"), [], clock)
    assert names(tail) == ["a"]
    (tmp_path / "in").rename(tmp_path / "away")
    for _ in range(3):
        clock.now_s += 2 * FORGET_S
        assert tail.look() == []
    (tmp_path / "away").rename(tmp_path / "in")
    clock.now_s += 2 * FORGET_S
    assert tail.look() == []
