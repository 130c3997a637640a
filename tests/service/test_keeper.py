"""The keeper over real processes, with its clock passed in: started, killed, replaced, stopped, removed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.engine.handover import Request, Requests, TakeoverAnswer, answer
from dovetail.errors import CorruptFile, InputError, PlanError, StateError
from dovetail.log import document
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.lease import document as lease_document
from dovetail.service.applications import Holders
from dovetail.service.keeping import processes
from dovetail.service.keeping.events import events
from dovetail.service.keeping.keeper import Keeper
from dovetail.service.keeping.reconcile import PATIENCE_US
from dovetail.service.keeping.wanted import (
    KEPT,
    KIND,
    RECOVERABLE_US,
    VERSION,
    Wanted,
    find_wanted,
    list_wanted,
    want,
    wanted_of,
)
from dovetail_dev.s3_server import CREDENTIALS, s3_server
from dovetail_dev.spark_cluster import PATIENCE_S

CHILD = Path(__file__).with_name("keeping_child.py")
FIRST = Wanted("clicks", 1, "running", "query", "ada", "ada", 0, "deployed")
SECOND = 1_000_000


class Kept:
    """A home with a keeper, and the processes that were started for it."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.now_us = 10**15
        self.how = "waits"
        self.started: list[subprocess.Popen[bytes]] = []
        self.keeper = self.another()

    def another(self) -> Keeper:
        return Keeper(self.home, lambda: self.now_us, self._launch)

    def _launch(self, home: str, application: str, revision: int) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, str(CHILD), home, application, self.how], start_new_session=True
        )
        self.started.append(child)
        return child

    def until(self, condition: str) -> None:
        """Let the keeper look until it finds this."""
        self.holds(lambda: self.condition() == condition, condition)

    def holds(self, found: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self.keeper.step()
            if found():
                return
            time.sleep(0.02)
        pytest.fail(f"never {what}: {self.keeper.decisions}")

    def condition(self) -> str:
        return self.keeper.decisions["clicks"].condition

    def alive(self) -> list[processes.Process]:
        return processes.processes_of(self.home, "clicks")


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    for child in made.started:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def test_what_is_wanted_runs_once(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    for _ in range(3):
        kept.keeper.step()
    assert len(kept.started) == 1


def test_a_process_outlives_its_keeper_and_the_next_one_finds_it(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    kept.keeper = kept.another()
    kept.until("running")
    assert len(kept.started) == 1
    want(kept.home, FIRST.next("stopped", "ada", state="stopped"))
    kept.until("stopped")
    assert kept.started[0].wait(PATIENCE_S) == 0


@pytest.mark.parametrize("release", [2, 3])
def test_an_upgraded_service_goes_on_with_what_runs(kept: Kept, release: int) -> None:
    """Its process was started by the release before, whose documents say less. It is neither restarted nor
    lost; the first change makes a document of this release."""
    want(kept.home, FIRST)
    kept.until("running")
    path = Path(kept.home) / FIRST.path
    body = document.decode(path.read_bytes(), KIND, VERSION, where="", remedy="")
    later = {"begins", "reslice", "beside"} | ({"reserved_bytes", "filled_s"} if release < 3 else set())
    earlier = {name: said for name, said in body.items() if name not in later}
    path.write_bytes(document.encode(KIND, release, earlier))
    kept.keeper = kept.another()
    kept.until("running")
    kept.keeper.step()
    assert len(kept.started) == 1
    want(kept.home, wanted_of(kept.home, "clicks").next("stopped", "ada", state="stopped"))
    kept.until("stopped")
    assert kept.started[0].wait(PATIENCE_S) == 0


def test_a_killed_process_is_started_again_after_a_while(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    kept.started[0].kill()
    kept.until("waiting")
    assert len(kept.started) == 1
    kept.now_us += SECOND
    kept.until("running")
    assert len(kept.started) == 2
    said = [event["kind"] for event in events(kept.home, "clicks")]
    assert said == ["running", "starting", "waiting", "running"]


def test_one_that_fails_again_and_again_is_in_a_crash_loop_with_its_reason(kept: Kept) -> None:
    kept.how = "fails"
    want(kept.home, FIRST)
    for _ in range(4):
        kept.until("waiting")
        kept.now_us += 10 * SECOND
        kept.until("starting")
    kept.until("crash loop")
    assert "the sink is full" in kept.keeper.decisions["clicks"].why
    kept.now_us += 60 * SECOND
    kept.keeper.step()
    assert len(kept.started) == 5
    kept.how = "waits"
    want(kept.home, FIRST.next("deployed", "ada", text="another query"))
    kept.until("running")


def test_a_deaf_process_is_killed_with_all_that_it_has_started(kept: Kept) -> None:
    kept.how = "deaf"
    want(kept.home, FIRST)
    kept.until("running")
    want(kept.home, FIRST.next("stopped", "ada", state="stopped"))
    kept.until("stopping")
    kept.keeper.step()
    assert kept.alive()
    kept.now_us += PATIENCE_US + SECOND
    kept.until("stopped")
    assert kept.started[0].wait(PATIENCE_S) == -signal.SIGKILL


def offered(kept: Kept) -> Request:
    """What the keeper has offered to the process that is there."""
    found = Requests(kept.home, "clicks").wanted()
    assert found is not None
    return found


def test_another_query_goes_on_in_the_process_that_is_there(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    second = want(kept.home, FIRST.next("deployed", "bob", text="another query"))
    kept.until("changing")
    request = offered(kept)
    assert request.offer is not None
    assert (request.offer.text, request.offer.name) == ("another query", "revision 2")
    (before,) = kept.alive()
    processes.enter(kept.home, replace(before, revision=2, query=second.query))  # as a run does
    (Path(kept.home) / before.path).unlink()
    answer(kept.home, "clicks", TakeoverAnswer(request.number, 2, None))
    kept.until("running")
    assert len(kept.started) == 1


def test_one_that_cannot_go_on_with_it_ends_and_another_is_started(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    want(kept.home, FIRST.next("deployed", "bob", text="another query"))
    kept.until("changing")
    kept.started[0].terminate()  # as a run does that was made on other terms
    kept.until("running")
    assert [process.revision for process in kept.alive()] == [2]


def test_a_query_that_is_refused_leaves_the_one_before_running(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    want(kept.home, FIRST.next("deployed", "bob", text="another query"))
    kept.until("changing")
    answer(kept.home, "clicks", TakeoverAnswer(offered(kept).number, 0, PlanError("keys cannot change")))
    kept.until("failed")
    assert kept.keeper.decisions["clicks"].why == "keys cannot change; revision 1 goes on"
    assert [process.revision for process in kept.alive()] == [1]
    want(kept.home, FIRST.next("deployed", "bob", text="another query").next("back", "ada", text="query"))
    kept.until("running")
    assert len(kept.started) == 1


def test_a_restart_is_another_process(kept: Kept) -> None:
    want(kept.home, FIRST)
    kept.until("running")
    want(kept.home, FIRST.next("restarted", "ada", restarts=1))
    kept.holds(lambda: len(kept.started) == 2, "two starts")
    kept.until("running")
    assert kept.started[0].wait(PATIENCE_S) == 0


def test_an_application_that_runs_by_hand_is_left_alone(kept: Kept) -> None:
    from dovetail.engine.hold import running

    with running(kept.home, "clicks"):
        want(kept.home, FIRST)
        kept.until("elsewhere")
        assert kept.started == []
    kept.until("running")


def test_a_deleted_application_is_gone_after_a_day_and_not_before(kept: Kept) -> None:
    """And then its mark holds back nothing in a category of others."""
    want(kept.home, FIRST)
    others = Category.create(kept.home, "others", pa.schema([("id", pa.int64())]), buckets=1)
    others.set_reader("clicks.v", 0, application="clicks")
    open_store(kept.home).make_folder("apps/clicks/state/v")
    kept.until("running")
    want(kept.home, replace(FIRST.next("deleted", "ada", state="deleted"), at_us=kept.now_us))
    kept.until("stopped")
    kept.now_us += RECOVERABLE_US
    kept.keeper.step()
    assert find_wanted(kept.home, "clicks") is not None
    assert others.readers() == {"clicks.v": 0}
    kept.now_us += SECOND
    kept.keeper.step()
    kept.keeper.step()
    assert find_wanted(kept.home, "clicks") is None
    assert kept.keeper.decisions == {}
    assert others.readers() == {}


def test_a_record_of_a_process_that_is_gone_means_nothing(kept: Kept) -> None:
    """Its number may belong to another process by now, which must not be touched."""
    want(kept.home, FIRST)
    gone = replace(processes.this_process(FIRST), born=1)
    processes.enter(kept.home, gone)
    assert not gone.alive
    kept.until("running")
    assert len(kept.started) == 1


def test_a_log_that_grows_while_its_process_runs_is_cut(kept: Kept) -> None:
    path = processes.rotated_log(kept.home, "clicks")
    with path.open("ab") as written:
        written.write(b"x" * (processes.LOG_BYTES + 1))
        written.flush()
        kept.keeper.step()
        written.write(b"the next line\n")
    assert path.read_bytes() == b"the next line\n"
    assert path.with_suffix(".old.log").stat().st_size == processes.LOG_BYTES + 1


def test_a_full_disk_and_then_not(kept: Kept) -> None:
    """No file may get longer than nothing: as on a full disk, every write fails."""
    want(kept.home, FIRST)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        kept.keeper.step()
        kept.now_us += 100 * SECOND
        kept.keeper.step()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    for child in kept.started:
        child.wait(PATIENCE_S)
    kept.keeper.step()
    kept.now_us += 100 * SECOND
    kept.until("running")


def test_a_home_on_s3_is_kept_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wanted, seen and ends are objects; the process is found again by the next keeper."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with s3_server(tmp_path) as server:
        made = Kept(tmp_path)
        made.home = server.home("kept")
        made.keeper = made.another()
        try:
            want(made.home, FIRST)
            made.until("running")
            made.keeper = made.another()
            made.until("running")
            assert len(made.started) == 1
            want(made.home, FIRST.next("stopped", "ada", state="stopped"))
            made.until("stopped")
        finally:
            for child in made.started:
                child.kill()
                child.wait()


def test_the_second_who_changes_a_revision_is_told(tmp_path: Path) -> None:
    home = str(tmp_path)
    seen = want(home, FIRST)
    want(home, seen.next("stopped", "ada", state="stopped"))
    with pytest.raises(StateError, match="changed by somebody else"):
        want(home, seen.next("deployed", "bob", text="other"))
    assert wanted_of(home, "clicks").by == "ada"


def test_old_revisions_go(tmp_path: Path) -> None:
    last = want(str(tmp_path), FIRST)
    for _ in range(KEPT + 5):
        last = want(str(tmp_path), last.next("deployed", "ada"))
    assert len(list((tmp_path / "service/wanted/clicks").iterdir())) == KEPT
    assert wanted_of(str(tmp_path), "clicks") == last


def test_a_damaged_document_is_named_and_hides_no_other(tmp_path: Path) -> None:
    home = str(tmp_path)
    want(home, FIRST)
    want(home, replace(FIRST, application="views"))
    path = tmp_path / FIRST.path
    path.write_bytes(path.read_bytes().replace(b"running", b"stopped"))
    with pytest.raises(CorruptFile):
        wanted_of(home, "clicks")
    found, damaged = list_wanted(home)
    assert [wanted.application for wanted in found] == ["views"]
    assert [error.condition for error in damaged] == ["FILE_CORRUPT"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "1a", "x" * 101, "ä", "a\n", "service"])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        find_wanted(str(tmp_path), name)


def test_a_lease_that_nobody_renews_any_more_holds_nothing() -> None:
    """In a remote home a run was killed, and its lease stays. One that lives elsewhere renews its own."""
    home, now_s = f"mock:///{uuid.uuid4().hex}", 1000.0
    started: list[str] = []

    def launch(home: str, application: str, revision: int) -> subprocess.Popen[bytes]:
        started.append(application)
        ended = subprocess.Popen(["true"])
        ended.wait()  # nobody asks again what became of it
        return ended

    def looks(seconds: float, *, renewed: bool) -> str:
        nonlocal now_s
        for _ in range(int(seconds)):
            now_s += 1
            if renewed:
                store.replace("apps/clicks/lease.json", lease_document("another", int(now_s) // 5))
            keeper.step()
        return keeper.decisions["clicks"].condition

    store = open_store(home)
    store.make_folder("apps/clicks")
    want(home, FIRST)
    keeper = Keeper(home, launch=launch, holders=Holders(home, lambda: now_s))
    assert looks(60, renewed=True) == "elsewhere"
    assert looks(Holders.SILENT_S - 2, renewed=False) == "elsewhere", "it may still live"
    assert started == []
    looks(3, renewed=False)
    assert started == ["clicks"]
