"""Files that are written together: synced behind their writer's back, and there for good when it is done."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import HomeError
from dovetail.log.homes import local
from dovetail.log.homes.filesystem import Output, open_store

FILES = 3 * local.SYNCING_AT_ONCE


def content(number: int) -> Callable[[Output], None]:
    return lambda file: file.write(b"%d" % number)


def test_each_file_is_synced_then_named_and_its_folder_synced_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, str]] = []
    rename = os.rename

    def synced(descriptor: int) -> None:
        log.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))

    def renamed(source: str, target: str) -> None:
        rename(source, target)
        log.append(("rename", source))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    store = open_store(str(tmp_path))
    with store.writing() as write:
        for number in range(FILES):
            write(f"file-{number}", content(number))
    assert log[-1] == ("sync", str(tmp_path))
    assert log.count(log[-1]) == 1
    for kind, name in log[:-1]:
        if kind == "rename":
            assert log.index(("sync", name)) < log.index((kind, name))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        f"file-{number}": b"%d" % number for number in range(FILES)
    }


def test_the_writer_goes_on_while_a_file_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    went_on = threading.Event()
    monkeypatch.setattr(os, "fsync", lambda descriptor: went_on.wait(60))
    with open_store(str(tmp_path)).writing() as write:
        write("first", content(1))
        write("second", content(2))
        assert not (tmp_path / "first").exists(), "it has no name before it is synced"
        went_on.set()
    assert (tmp_path / "first").read_bytes() == b"1"


@pytest.mark.parametrize("call", ["fsync", "rename"])
@pytest.mark.parametrize("at", [0, 1, FILES - 1])
def test_a_file_that_cannot_be_synced_is_an_error_and_leaves_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, at: int
) -> None:
    calls = iter(range(1_000))
    real = getattr(os, call)

    def failing(*args: Any) -> Any:
        if next(calls) == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args)

    monkeypatch.setattr(os, call, failing)

    def write_all() -> None:
        with open_store(str(tmp_path)).writing() as write:
            for number in range(FILES):
                write(f"file-{number}", content(number))

    with pytest.raises(HomeError, match="No space left"):
        write_all()
    assert not [*tmp_path.glob(".tmp-*")]


def test_a_writer_that_fails_waits_for_what_it_began(tmp_path: Path) -> None:
    def write_some() -> None:
        with open_store(str(tmp_path)).writing() as write:
            write("whole", content(1))
            write("broken", lambda file: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        write_some()
    assert [file.name for file in tmp_path.iterdir()] == ["whole"]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("dovetail-syncing")]
