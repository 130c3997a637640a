"""Who holds an application, and what a dead run leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dovetail.engine.hold import is_held, outlived_by, running
from dovetail.errors import StateError

POOL = """
import subprocess, sys, time
from dovetail.engine.hold import held_locks, outlived_by, running
with outlived_by(sys.argv[1], "service/pools/pool-1", "the pool"):
    left = subprocess.Popen(["sleep", "600"], pass_fds=held_locks(), start_new_session=True)
    with running(sys.argv[1], "clicks"):
        print(left.pid, flush=True)
        time.sleep(600)
"""
"""Like a pool: what it starts was there before the lock of the application, and inherits another one."""


def test_whoever_takes_over_from_a_dead_pool_waits_for_what_it_has_left(tmp_path: Path) -> None:
    home = str(tmp_path)
    pool = subprocess.Popen([sys.executable, "-c", POOL, home], stdout=subprocess.PIPE, text=True)
    assert pool.stdout is not None
    left = int(pool.stdout.readline())
    try:
        with pytest.raises(StateError, match="running already"), running(home, "clicks"):
            pass
        pool.kill()
        pool.wait()
        taken = threading.Event()

        def take() -> None:
            with running(home, "clicks"):
                taken.set()

        thread = threading.Thread(target=take)
        thread.start()
        assert not taken.wait(0.5), "what the pool has started may still write"
    finally:
        os.kill(left, signal.SIGKILL)
        pool.kill()
        pool.wait()
        pool.stdout.close()
    thread.join(300)
    assert taken.is_set()


def test_a_pool_that_comes_after_a_dead_one_need_not_wait_for_itself(tmp_path: Path) -> None:
    """It has the lock that the dead one's applications name: so nothing of that one is left."""
    home = str(tmp_path)
    pool = subprocess.Popen([sys.executable, "-c", POOL, home], stdout=subprocess.PIPE, text=True)
    assert pool.stdout is not None
    left = int(pool.stdout.readline())
    pool.kill()
    pool.wait()
    pool.stdout.close()
    os.kill(left, signal.SIGKILL)
    with outlived_by(home, "service/pools/pool-1", "the next pool"):
        thread = threading.Thread(target=_take, args=(home,), daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()


def _take(home: str) -> None:
    with running(home, "clicks"):
        pass


def test_what_was_given_back_is_free_while_the_pool_lives(tmp_path: Path) -> None:
    home = str(tmp_path)
    with outlived_by(home, "service/pools/pool-1", "the pool"):
        with running(home, "clicks"):
            assert is_held(str(tmp_path / "apps/clicks/lock"))
        began = time.monotonic()
        with running(home, "clicks"):
            pass
        assert time.monotonic() - began < 30
