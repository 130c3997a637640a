"""Memory and CPU of a process tree, read from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.measure import peak_rss, tree_use

_HOLD_MB = 60


def test_a_tree_counts_its_grandchildren() -> None:
    hold = f"import sys; held = b'x' * ({_HOLD_MB} << 20); print(flush=True); sys.stdin.read()"
    between = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", between], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert tree_use(child.pid).rss_bytes > _HOLD_MB << 20
        assert tree_use(os.getpid()).rss_bytes > tree_use(child.pid).rss_bytes
        child.communicate()


def test_a_fresh_fork_does_not_count_its_parents_memory_again() -> None:
    fork = (
        f"import os, sys; held = b'x' * ({_HOLD_MB} << 20); pid = os.fork()\n"
        "if pid: print(flush=True); os.waitpid(pid, 0)\n"
        "else: sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", fork], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alone_bytes = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
        assert _HOLD_MB << 20 < tree_use(child.pid).rss_bytes < alone_bytes * 1.2
        child.communicate()


def test_the_peak_outlives_what_made_it() -> None:
    with peak_rss(os.getpid(), every_s=3600) as peak:
        peak.look()
        before = peak.bytes
        held = bytearray(os.urandom(1)) * (_HOLD_MB << 20)
        peak.look()
        del held
    assert peak.bytes >= before + (_HOLD_MB << 20) // 2


def test_cpu_time_grows_with_work() -> None:
    before = tree_use(os.getpid()).cpu_s
    deadline = time.process_time() + 0.1
    while time.process_time() < deadline:
        pass
    assert tree_use(os.getpid()).cpu_s >= before + 0.05


def test_a_process_that_is_gone_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert tree_use(child.pid).rss_bytes == 0
