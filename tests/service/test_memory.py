"""Memory of a process tree: shared pages count once, and the fallback says what it is."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from dovetail.service.figures import MemoryUse
from dovetail.service.memory import EVERY_S, SHARE, MemoryMeter

PAGE = os.sysconf("SC_PAGE_SIZE")


def process(proc: Path, number: int, parent: int, resident_pages: int, pss_kib: int | None) -> None:
    folder = proc / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    fields = ["S", str(parent), *["0"] * 19, str(resident_pages)]
    (folder / "stat").write_text(f"{number} (a (b) c) {' '.join(fields)}")
    if pss_kib is not None:
        (folder / "smaps_rollup").write_text(f"00-ff ---p 0 0 0 [rollup]\nRss: 9 kB\nPss:   {pss_kib} kB\n")


def test_forks_that_share_their_pages_count_once(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, 1000, 40)
    process(tmp_path, 11, 10, 1000, 40)
    process(tmp_path, 12, 11, 1000, 40)
    process(tmp_path, 99, 1, 1000, 40)
    assert MemoryMeter(tmp_path).read(10) == MemoryUse(120 << 10, "PSS")


def test_without_proportional_sizes_resident_ones_are_taken_and_named(tmp_path: Path) -> None:
    process(tmp_path, 10, 1, 3, 40)
    process(tmp_path, 11, 10, 4, None)
    assert MemoryMeter(tmp_path).read(10) == MemoryUse(7 * PAGE, "RSS")
    assert MemoryMeter(tmp_path / "none").read(10) == MemoryUse(0, "RSS")


def test_it_measures_now_and_then(tmp_path: Path) -> None:
    now = [0.0]
    meter = MemoryMeter(tmp_path, lambda: now[0])
    process(tmp_path, 10, 1, 3, 1)
    assert meter.read(10).bytes == 1 << 10
    process(tmp_path, 10, 1, 3, 2)
    assert meter.read(10).bytes == 1 << 10
    now[0] += EVERY_S
    assert meter.read(10).bytes == 2 << 10


def test_a_look_that_takes_long_is_followed_by_a_long_rest(tmp_path: Path) -> None:
    ticks = iter([0.0, 0.1, 0.1 / SHARE - 0.001, 0.1 / SHARE, 20.0])
    meter = MemoryMeter(tmp_path, lambda: next(ticks))
    process(tmp_path, 10, 1, 3, 1)
    assert meter.read(10).bytes == 1 << 10
    process(tmp_path, 10, 1, 3, 2)
    assert [meter.read(10).bytes for _ in range(2)] == [1 << 10, 2 << 10]


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the kernel has no smaps_rollup")
def test_a_real_fork_hardly_adds_anything() -> None:
    held = bytearray(64 << 20)
    before = MemoryMeter().read()
    assert before.kind == "PSS"
    ended = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert ended.stdout is not None
    ended.stdout.read()  # it has ended, but nobody has waited for it: the kernel has no sizes of it
    reading, writing = os.pipe()
    with warnings.catch_warnings():  # newer Pythons warn if a thread of some library is running
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.read(reading, 1)
        os._exit(0)
    try:
        after = MemoryMeter().read()
        assert after.kind == "PSS"
        assert after.bytes < before.bytes + len(held) // 2
    finally:
        os.write(writing, b"x")
        os.waitpid(child, 0)
        ended.communicate()
        os.close(reading)
        os.close(writing)
