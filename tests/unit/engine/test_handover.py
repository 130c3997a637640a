"""A run makes room when another query is to go on in its place, and only then."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dovetail.engine import handover
from dovetail.engine.handover import (
    Offer,
    Request,
    Requests,
    TakeoverAnswer,
    answer,
    answer_to,
    answered,
    ask,
)
from dovetail.engine.hold import running
from dovetail.errors import StateError
from dovetail.log import document


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


OFFER = Offer("CREATE APPLICATION app;", "app.pql", 3, {"file": "/app.pql", "settings": {"a": "b"}})


def test_an_offer_reaches_the_run_and_its_answer_comes_back(tmp_path: Path) -> None:
    home = str(tmp_path)
    (tmp_path / "apps/app").mkdir(parents=True)
    number = ask(home, "app", OFFER)
    request = Requests(home, "app").wanted()
    assert request == Request(number, OFFER)
    assert answer_to(home, "app", number) is None
    answer(home, "app", TakeoverAnswer(number, 4, None))
    assert answer_to(home, "app", number) == TakeoverAnswer(number, 4, None)
    assert answer_to(home, "app", "another") is None, "an answer to somebody else is none"
    assert Requests(home, "app").wanted() is None
    answer(
        home, "app", TakeoverAnswer(number, 0, StateError("no", where="here", expected="this", hint="that"))
    )
    found = answer_to(home, "app", number)
    assert found is not None
    assert isinstance(found.error, StateError)
    assert str(found.error) == "no\n  where:    here\n  expected: this\n  hint:     that"
    second = ask(home, "app", OFFER)
    answer(home, "app", TakeoverAnswer(number, 5, None))
    assert Requests(home, "app").wanted() == Request(second, OFFER), "who asked meanwhile is heard, too"
    file = tmp_path / handover.answer_path("app")
    file.write_bytes(file.read_bytes()[:-7])
    assert answer_to(home, "app", number) is None


def test_a_request_of_an_earlier_release_makes_no_offer(tmp_path: Path) -> None:
    (tmp_path / "apps/app").mkdir(parents=True)
    body = {"application": "app", "asked_at_us": time.time_ns() // 1000}
    file = tmp_path / handover.handover_path("app")
    file.write_bytes(document.encode(handover.KIND, handover.VERSION, body))
    assert Requests(str(tmp_path), "app").wanted() == Request("", None)
