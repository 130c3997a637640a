"""Pools over real processes: shared, found again, left and joined, and one that fails alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.service.keeping import pools, processes
from dovetail.service.keeping.keeper import Keeper
from dovetail.service.keeping.pools import MOST_MEMBERS, Ask, Pools, asks
from dovetail.service.keeping.wanted import Place, Wanted, want, wanted_of
from dovetail_dev.spark_cluster import PATIENCE_S

HERE = Path(__file__).parent
SECOND = 1_000_000


class Kept:
    """A home with a keeper, its pools and processes."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.now_us = 10**15
        self.pools: list[subprocess.Popen[bytes]] = []
        self.own: list[subprocess.Popen[bytes]] = []
        self.keeper = self.another()

    def another(self) -> Keeper:
        return Keeper(self.home, lambda: self.now_us, self._launch, Pools(self.home, self._pool))

    def wants(self, name: str, text: str = "query", place: Place = "pool") -> Wanted:
        return want(self.home, Wanted(name, 1, "running", text, "ada", "ada", 0, "deployed", place=place))

    def until(self, passing_us: int = 0, **conditions: str) -> None:
        """`passing_us`: how far the clock goes on with every look."""

        def found() -> bool:
            self.now_us += passing_us
            now = self.keeper.decisions
            return all(name in now and now[name].condition == one for name, one in conditions.items())

        self.holds(found, str(conditions))

    def holds(self, found: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self.keeper.step()
            if found():
                return
            time.sleep(0.05)
        pytest.fail(f"never {what}: {self.keeper.decisions}")

    def pool_of(self, name: str) -> str:
        (process,) = processes.processes_of(self.home, name)
        return process.pool

    def _pool(self, home: str, pool: str) -> subprocess.Popen[bytes]:
        return self._started(self.pools, "keeping_pool.py", home, pool)

    def _launch(self, home: str, application: str, revision: int) -> subprocess.Popen[bytes]:
        return self._started(self.own, "keeping_child.py", home, application, "waits")

    def _started(self, kept: list[subprocess.Popen[bytes]], *command: str) -> subprocess.Popen[bytes]:
        script, *arguments = command
        child = subprocess.Popen([sys.executable, str(HERE / script), *arguments], start_new_session=True)
        kept.append(child)
        return child


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    for child in (*made.pools, *made.own):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_small_applications_share_a_process_which_outlives_the_keeper(kept: Kept) -> None:
    for name in ("a", "b", "c"):
        kept.wants(name)
    kept.until(a="running", b="running", c="running")
    assert len(kept.pools) == 1
    kept.keeper = kept.another()
    kept.until(a="running", b="running", c="running")
    kept.wants("d")
    kept.until(d="running")
    assert len(kept.pools) == 1
    assert "pool-1, process" in kept.keeper.decisions["d"].why


def test_one_that_fails_is_restarted_alone_and_later_each_time(kept: Kept) -> None:
    kept.wants("good")
    kept.wants("bad", text="fails")
    kept.until(good="running", bad="waiting")
    (good,) = processes.processes_of(kept.home, "good")
    assert "the sink is full" in kept.keeper.decisions["bad"].why
    for _ in range(2):
        kept.now_us += 10 * SECOND
        kept.until(good="running", bad="starting")
        kept.until(good="running", bad="waiting")
    assert processes.processes_of(kept.home, "good") == [good]
    assert len(kept.pools) == 1


def test_a_pool_that_is_killed_comes_back_with_all_its_members(kept: Kept) -> None:
    kept.wants("a")
    kept.wants("b")
    kept.until(a="running", b="running")
    kept.pools[0].kill()
    kept.until(a="waiting", b="waiting")
    # One that is sent to the pool before anybody knows that it is gone waits once more.
    kept.until(SECOND // 10, a="running", b="running")
    assert len(kept.pools) == 2


def test_a_wish_that_a_pool_has_removed_with_the_one_before_is_made_again(kept: Kept) -> None:
    first = kept.wants("a")
    kept.until(a="running")
    kept.pools[0].send_signal(signal.SIGSTOP)
    want(kept.home, first.next("moved", "ada", place="own"))
    kept.keeper.step()
    assert [wish.deed for wish in asks(kept.home, "pool-1")] == ["end"]
    pools.done(kept.home, "pool-1", "a")
    kept.pools[0].send_signal(signal.SIGCONT)
    kept.until(a="running")
    assert kept.pool_of("a") == ""


def test_an_application_moves_out_of_the_pool_and_back(kept: Kept) -> None:
    first = kept.wants("a")
    kept.wants("b")
    kept.until(a="running", b="running")
    second = want(kept.home, first.next("moved", "ada", place="own"))
    kept.holds(lambda: bool(kept.own), "a process of its own")
    kept.until(a="running", b="running")
    assert (kept.pool_of("a"), kept.pool_of("b")) == ("", "pool-1")
    want(kept.home, second.next("moved", "ada", place="pool"))
    kept.holds(lambda: "pool-1" in kept.keeper.decisions["a"].why, "back in the pool")
    kept.until(a="running")
    assert kept.own[0].wait(PATIENCE_S) == 0
    assert len(kept.pools) == 1


def test_a_member_stops_alone(kept: Kept) -> None:
    kept.wants("b")
    first = kept.wants("a")
    kept.until(a="running", b="running")
    want(kept.home, first.next("stopped", "ada", state="stopped"))
    kept.until(a="stopped", b="running")
    assert kept.pools[0].poll() is None


def test_a_pool_that_does_not_start_is_a_failure_of_its_members(kept: Kept) -> None:
    kept.wants("a", text="kills")
    for _ in range(4):
        kept.until(a="waiting")
        kept.now_us += 10 * SECOND
        kept.until(a="starting")
    kept.until(a="crash loop")
    assert asks(kept.home, "pool-1") == []


def test_a_full_pool_makes_another(tmp_path: Path) -> None:
    launched = []

    def launch(home: str, pool: str) -> subprocess.Popen[bytes]:
        launched.append(pool)
        return subprocess.Popen(["sleep", "600"])

    made = Pools(str(tmp_path), launch)
    try:
        for number in range(MOST_MEMBERS + 1):
            made.start(f"app{number}", 1, [])
        assert launched == ["pool-1", "pool-2"]
        there = processes.this_process(
            Wanted("x", 1, "running", "q", "a", "a", 0, "d", place="pool"), "pool-2"
        )
        made.start("last", 1, [replace(there, application=f"x{n}") for n in range(MOST_MEMBERS)])
        assert launched == ["pool-1", "pool-2", "pool-3"]
    finally:
        for child in made.launched.values():
            child.kill()
            child.wait()


def test_a_damaged_wish_is_removed_and_one_of_an_old_revision_does_nothing(tmp_path: Path) -> None:
    home = str(tmp_path)
    pools.ask(home, "pool-1", Ask("a", "run", 1))
    pools.ask(home, "pool-1", Ask("b", "end", 3))
    path = tmp_path / "service/pools/pool-1/asks/a.json"
    path.write_bytes(path.read_bytes().replace(b'"run"', b'"end"'))
    assert asks(home, "pool-1") == [Ask("b", "end", 3)]
    assert not path.exists()


def test_documents_of_the_release_before_are_read(tmp_path: Path) -> None:
    """They knew no pools: what they say runs in a process of its own."""
    from dovetail.log import document

    body = {
        "application": "clicks",
        "revision": 1,
        "state": "running",
        "text": "query",
        "owner": "ada",
        "by": "ada",
        "at_us": 5,
        "deed": "deployed",
        "restarts": 0,
    }
    path = tmp_path / "service/wanted/clicks/00000001.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(document.encode("dovetail.wanted", 1, body))
    assert wanted_of(str(tmp_path), "clicks").place == "own"
