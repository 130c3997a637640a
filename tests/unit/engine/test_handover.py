"""A run ends when another wants to go on in its place, and only then."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dovetail.engine import handover
from dovetail.engine.handover import Requests, answered, ask
from dovetail.engine.hold import running
from dovetail.errors import StateError


def test_a_request_is_seen_until_it_is_answered(tmp_path: Path) -> None:
    home = str(tmp_path)
    (tmp_path / "apps/app").mkdir(parents=True)
    assert not Requests(home, "app").wanted()
    ask(home, "app")
    assert Requests(home, "app").wanted()
    assert not Requests(home, "other").wanted()
    answered(home, "app")
    assert not Requests(home, "app").wanted()


def test_an_old_request_and_a_damaged_one_stop_nobody(tmp_path: Path, monkeypatch: Any) -> None:
    home, file = str(tmp_path), tmp_path / handover.handover_path("app")
    file.parent.mkdir(parents=True)
    ask(home, "app")
    later = time.time_ns() + int(2e9 * handover.WAITED_S)
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: later)
        assert not Requests(home, "app").wanted()
    assert Requests(home, "app").wanted()
    file.write_bytes(file.read_bytes()[:-9])
    assert not Requests(home, "app").wanted()


def test_whoever_has_asked_waits_for_the_other_to_end(tmp_path: Path) -> None:
    home, begun, over = str(tmp_path), threading.Event(), []

    def first() -> None:
        with running(home, "app"):
            begun.set()
            requests = Requests(home, "app")
            while not requests.wanted():
                begun.wait(0.01)
            over.append("first")

    one = threading.Thread(target=first)
    one.start()
    begun.wait()
    with pytest.raises(StateError, match="is running already"), running(home, "app"):
        pass
    ask(home, "app")
    with running(home, "app", wait_s=60):
        assert over == ["first"]
    one.join()
