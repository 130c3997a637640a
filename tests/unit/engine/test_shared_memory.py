"""Law: a file in memory has the same bytes in any pages it is mapped in, and lasts as long as its arrays."""

from __future__ import annotations

import errno
import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dovetail.engine import shared_memory
from dovetail.engine.shared_memory import LARGE_PAGE, TMPFS, mapped, reserve

SIZES = (64, LARGE_PAGE - 1, LARGE_PAGE, 3 * LARGE_PAGE + 12_345)


@pytest.fixture(params=["memory", "disk"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "disk":
        yield tmp_path
        return
    if not TMPFS.is_dir():
        pytest.skip("no tmpfs here")
    with tempfile.TemporaryDirectory(dir=TMPFS) as made:
        yield Path(made)


@pytest.mark.parametrize("size", SIZES)
def test_two_mappings_of_a_file_see_the_same_bytes(folder: Path, size: int) -> None:
    path = folder / "file"
    reserve(path, size)
    assert path.stat().st_size == size
    assert path.stat().st_blocks * 512 >= size  # no holes
    one, other = mapped(path), mapped(path)
    one[:] = np.arange(size) % 251
    assert (other == np.arange(size) % 251).all()
    assert path.read_bytes() == one.tobytes()


def test_a_mapping_lasts_as_long_as_an_array_of_it(folder: Path) -> None:
    path = folder / "file"
    reserve(path, 2 * LARGE_PAGE)
    piece = mapped(path)[LARGE_PAGE:].view(np.int64)
    gc.collect()
    piece[-1] = 7
    assert path.read_bytes()[-8:] == (7).to_bytes(8, "little")
    assert _mappings(path) == 1
    del piece
    gc.collect()
    assert _mappings(path) == 0


def test_without_large_pages_small_ones_remain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "COLLAPSE", 9999)  # advice that no system knows
    path = folder / "file"
    reserve(path, 2 * LARGE_PAGE)
    assert path.stat().st_blocks * 512 >= 2 * LARGE_PAGE
    assert not mapped(path).any()


def test_a_file_for_which_there_is_no_room_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="full"):
        reserve(tmp_path / "file", 64)


def _mappings(path: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(path))
