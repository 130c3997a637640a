"""A copy of a home, and a home from a copy: whole, checked, and made while applications are held."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from commands import run_command
from dovetail.engine.handover import Requests
from dovetail.engine.hold import running
from dovetail.errors import CorruptFile, InputError
from dovetail.service.backup import back_up, read_backup, restore
from dovetail.service.keeping.events import Event, events, record
from dovetail.service.keeping.wanted import Wanted, want, wanted_of


@pytest.fixture
def home(tmp_path: Path) -> str:
    made = str(tmp_path / "home")
    want(made, Wanted("clicks", 1, "running", "query", "ada", "ada", 5, "deployed"))
    for number in range(3):
        record(made, Event("clicks", "running", f"number {number}", "ada"))
    for name in ("service/ledger.sqlite", "service/processes/clicks/1-2.json", "apps/clicks/state/x.bin"):
        path = Path(made) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"abc")
    return made


def test_a_home_comes_back_as_it_was(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    assert run_command("backup", str(copy), "--home", home) == 0
    record(home, Event("clicks", "stopped", "after the copy", "ada"))
    (Path(home) / "apps/clicks/state/x.bin").unlink()
    assert run_command("restore", str(copy), "--home", str(other)) == 0
    assert "files" in capsys.readouterr().out
    assert wanted_of(str(other), "clicks") == wanted_of(home, "clicks")
    assert [event["words"] for event in events(str(other))] == ["number 2", "number 1", "number 0"]
    assert (other / "apps/clicks/state/x.bin").read_bytes() == b"abc"
    assert not (other / "service/ledger.sqlite").exists(), "of a host, not of the data"
    assert not (other / "service/processes").exists()
    record(str(other), Event("clicks", "started", "it goes on", "ada"))
    assert len(events(home)) == 4, "a home and its copy share nothing that changes"


def test_a_run_is_asked_to_make_room_and_nothing_is_copied_before_it_has(home: str, tmp_path: Path) -> None:
    ended = []

    def run() -> None:
        with running(home, "clicks"):
            begun.set()
            requests = Requests(home, "clicks")
            while requests.wanted() is None:
                time.sleep(0.05)
            (Path(home) / "apps/clicks/state/last.bin").write_bytes(b"the end")
            ended.append(True)

    begun = threading.Event()
    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(300)
    found = back_up(home, tmp_path / "copy")
    thread.join()
    assert ended
    assert "apps/clicks/state/last.bin" in found.files


@pytest.mark.parametrize("harm", ["flip", "remove", "cut"])
def test_a_damaged_copy_makes_no_home(home: str, tmp_path: Path, harm: str) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    back_up(home, copy)
    victim = copy / "apps/clicks/state/x.bin"
    content = victim.read_bytes()
    victim.unlink()
    if harm != "remove":
        victim.write_bytes(b"abd" if harm == "flip" else content[:1])
    with pytest.raises(CorruptFile, match="the copy is damaged"):
        restore(copy, str(other))
    assert not other.exists()


def test_what_is_no_copy_is_refused(home: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a copy of a home"):
        restore(tmp_path, str(tmp_path / "other"))
    copy = tmp_path / "copy"
    back_up(home, copy)
    with pytest.raises(InputError, match="exists already"):
        back_up(home, copy)
    with pytest.raises(InputError, match="not empty"):
        restore(copy, home)
    with pytest.raises(InputError, match="object store"):
        back_up("s3://bucket/home", tmp_path / "far")
    path = copy / "backup.json"
    path.write_bytes(path.read_bytes().replace(b"x.bin", b"y.bin"))
    with pytest.raises(CorruptFile):
        read_backup(copy)


def test_rows_that_come_meanwhile_are_left_out_whole(home: str, tmp_path: Path) -> None:
    stop = threading.Event()

    def appends() -> None:
        while not stop.is_set():
            record(home, Event("clicks", "row", "comes meanwhile", "ada"))

    thread = threading.Thread(target=appends)
    thread.start()
    try:
        back_up(home, tmp_path / "copy")
    finally:
        stop.set()
        thread.join()
    look = [sys.executable, "-m", "dovetail.service.backup", str(tmp_path / "copy")]
    assert subprocess.run(look, check=False).returncode == 0
    segments = list((tmp_path / "copy/log/service.events/segments").iterdir())
    assert len(segments) >= 3
    for segment in segments:
        segment.unlink()
    assert subprocess.run(look, check=False, capture_output=True).returncode != 0
