"""A run that changes its query in place, and what fails while it does.

Law: a query that no longer counts does not go on."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dovetail.changes.takeover import Takeover
from dovetail.engine.handover import Offer, Request, TakeoverAnswer
from dovetail.errors import DovetailError, StateError, Unreachable
from dovetail.plan.physical import Plan
from dovetail.service import hosting
from dovetail.service.hosting import Host, Offered

AWAY = Unreachable("the database does not answer")
OFFER = Offer("text", "app.pql", 1, {})


class Rehearsed(Host):
    """One whose queries end at once: the first with an offer, the one after it as a run does that is
    stopped."""

    ran: list[tuple[str, int]]

    def _execute(self, plan: Plan, version: int, *_: Any) -> Any:
        self.ran.append((plan.warnings[0], version))
        if len(self.ran) == 1:
            prepared: Any = SimpleNamespace(plan=query("new"), stages=[], gates=SimpleNamespace(remove=list))
            self._offered = Offered(Request(1, OFFER), takeover("new"), prepared)
        else:
            self.stop.set()
        return None, SimpleNamespace(last=None)


def query(name: str) -> Plan:
    return Plan("app", (), (name,))


def takeover(name: str) -> Takeover:
    return Takeover("home", query(name), None, None, ())


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[TakeoverAnswer]:
    """Given to the maker of the offer. There is no home and no Spark."""
    given: list[TakeoverAnswer] = []
    monkeypatch.setattr(hosting, "settle", lambda spark, takeover, *_: (takeover, {}))
    monkeypatch.setattr(
        hosting, "take_over", lambda takeover, steps: 1 + (takeover.plan.warnings == ("new",))
    )
    monkeypatch.setattr(hosting, "let_out", lambda *_: None)
    monkeypatch.setattr(hosting, "remove_leftovers", lambda *_: None)
    monkeypatch.setattr(hosting, "answer", lambda home, application, said: given.append(said))
    return given


def host(**given: Any) -> Rehearsed:
    fields: dict[str, Any] = {
        "spark": None,
        "home": "home",
        "mode": "stream",
        "index_dir": None,
        "held": None,
        "stop": threading.Event(),
        "follower": SimpleNamespace(summary=lambda run, last: None),
        "announce": lambda version, changes: None,
        "compile": None,
        "fits": None,
        "terms": {},
        "log": Path("spark.log"),
    }
    made = Rehearsed(**{**fields, **given})
    made.ran = []
    return made


def on_the_second(error: DovetailError) -> Any:
    calls: list[Any] = []

    def call(*given: Any) -> Any:
        calls.append(given)
        if len(calls) > 1:
            raise error
        return given[1], {}

    return call


def test_an_offer_that_counts_is_gone_on_with(answers: list[TakeoverAnswer]) -> None:
    took: list[Offer] = []
    made = host(took=took.append)
    made.run(takeover("old"), 0.0)
    assert made.ran == [("old", 1), ("new", 2)]
    assert took == [OFFER]
    assert answers == [TakeoverAnswer(1, 2, None)]


def test_the_old_query_goes_on_if_it_cannot_come_to_rest(
    answers: list[TakeoverAnswer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "settle", on_the_second(AWAY))
    made = host()
    made.run(takeover("old"), 0.0)
    assert made.ran == [("old", 1), ("old", 1)]
    assert answers == [TakeoverAnswer(1, 1, AWAY)]


@pytest.mark.parametrize("what", ["let_out", "remove_leftovers"])
@pytest.mark.parametrize("error", [AWAY, StateError("it cannot be read")], ids=["away", "damaged"])
def test_the_old_query_does_not_go_on_once_the_new_one_counts(
    answers: list[TakeoverAnswer], monkeypatch: pytest.MonkeyPatch, what: str, error: DovetailError
) -> None:
    def fails(*_: Any) -> None:
        if made.ran:
            raise error

    monkeypatch.setattr(hosting, what, fails)
    made = host()
    with pytest.raises(type(error)):
        made.run(takeover("old"), 0.0)
    assert made.ran == [("old", 1)]
    assert answers == [], "who asked sees that the run has ended, and takes over"


def test_what_hears_of_an_offer_cannot_bring_the_old_query_back(answers: list[TakeoverAnswer]) -> None:
    def fails(offer: Offer) -> None:
        raise StateError("it cannot be noted")

    made = host(took=fails)
    with pytest.raises(StateError, match="cannot be noted"):
        made.run(takeover("old"), 0.0)
    assert made.ran == [("old", 1)]
