"""When a machine runs out of something, the error says so; once there is enough again, the join goes on
exactly."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from dovetail.engine import index_folders, live_index
from dovetail.errors import HomeError, StateError
from dovetail.service.torture import nursery, quick_join

SEED = 4


def assert_goes_on(home: Path, index: Path) -> None:
    quick_join.run(home, index, SEED)
    assert Counter(quick_join.put_out(home)) == quick_join.quick_expected(SEED)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A filesystem of that size, where this user may make one."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("no filesystem can be mounted here")
    try:
        yield folder
    finally:
        live_index.unmap_all()  # mapped files would keep it busy
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("kilobytes", [60, 150, 250])
def test_a_home_on_a_disk_that_fills_up(tmp_path: Path, kilobytes: int) -> None:
    with small_disk(tmp_path / "disk", kilobytes) as disk:
        home = disk / "home"
        with pytest.raises(HomeError, match="No space left") as raised:
            quick_join.run(home, tmp_path / "index", SEED)
        assert raised.value.where
        assert "not full" in str(raised.value.hint)
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert_goes_on(home, tmp_path / "index")


@pytest.mark.parametrize("write", [1, 20, 45, 80, 110])
def test_a_home_without_room_for_the_nth_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: int
) -> None:
    """The same where nothing can be mounted: from a chosen write on there is no room, and after that twice
    for a write or two only. Segments are synced side by side: several of them may find none at once."""
    passed, room = 0, write - 1
    sync = os.fsync

    def full(descriptor: int) -> None:
        nonlocal passed
        passed += 1
        if passed > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    home = tmp_path / "home"
    for more in (1, 2, 1_000_000):
        with pytest.raises(HomeError, match="No space left"):
            quick_join.run(home, tmp_path / "index", SEED)
        room = passed + more
    assert_goes_on(home, tmp_path / "index")


def test_an_index_on_a_memory_disk_that_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "memory", 100) as memory:
        with pytest.raises(StateError) as raised:
            quick_join.run(tmp_path / "home", memory / "index", SEED)
        assert "DOVETAIL_INDEX_DIR" in str(raised.value.hint)
        assert str(memory) in str(raised.value.where)
        assert_goes_on(tmp_path / "home", tmp_path / "elsewhere")


def test_an_index_that_finds_no_room_when_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve: Callable[[int, int, int], None] = os.posix_fallocate
    left = 11

    def full(descriptor: int, offset: int, size: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        reserve(descriptor, offset, size)

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(StateError, match="no room"):
            quick_join.run(tmp_path / "home", tmp_path / "index", SEED)
    assert_goes_on(tmp_path / "home", tmp_path / "index")


def test_an_index_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateError, match="cannot be written") as raised:
        quick_join.run(tmp_path / "home", tmp_path / "file" / "index", SEED)
    assert "DOVETAIL_INDEX_DIR" in str(raised.value.hint)
    assert_goes_on(tmp_path / "home", tmp_path / "index")


def test_a_memory_disk_that_may_not_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_folders, "TMPFS", tmp_path / "none")
    assert not index_folders.index_root(None).is_relative_to(tmp_path)
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(index_folders, "TMPFS", tmp_path / "memory")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    assert not index_folders.index_root(None).is_relative_to(tmp_path)


def run_with_few_handles(home: Path, index: Path, more: int) -> None:
    """As many more files as that may be open at once."""
    used = max(map(int, os.listdir("/proc/self/fd"))) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, used + more))
    quick_join.run(home, index, SEED)


def test_running_out_of_file_handles(tmp_path: Path) -> None:
    """However many there are: the join is done, or an error of ours says what was short."""
    home, index, log = tmp_path / "home", tmp_path / "index", tmp_path / "said.txt"
    failed = 0
    for more in range(0, 8, 2):
        log.unlink(missing_ok=True)
        process = nursery.start(run_with_few_handles, (home, index, more), {}, log)
        process.join(300)
        assert process.exitcode in (0, 1), (more, process.exitcode, signal.SIGKILL)
        if process.exitcode == 1:
            failed += 1
            text = log.read_text()
            last = [line for line in text.splitlines() if line and not line.startswith(" ")][-1]
            assert last.startswith(("dovetail.errors.HomeError", "dovetail.errors.StateError")), (more, text)
            assert "Too many open files" in text, (more, text)
    assert failed
    assert_goes_on(home, index)
