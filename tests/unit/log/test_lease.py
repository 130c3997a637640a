"""Law: a lease has one holder; a live one is not taken away, a dead one is, and whoever lost it knows."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from dovetail.errors import HomeError, StateError
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.log.homes.lease import Lease, Terms

QUICK = Terms(renew_s=0.05, expires_s=300.0, settle_s=0.05, look_s=0.02)
"""Renewed often, and taken for dead late: the thread that renews it may get no core for a while."""
ASLEEP = Terms(renew_s=3600, expires_s=5 * 3600)
"""The thread that renews it sleeps for longer than a test takes."""


class Clock:
    """Time passes when somebody pauses, and no sooner."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def store() -> Store:
    store = open_store(f"mock:///{uuid.uuid4().hex}")
    store.make_folder("")
    return store


@pytest.fixture
def lease(store: Store) -> Iterator[Callable[..., Lease]]:
    made: list[Lease] = []

    def make(terms: Terms = QUICK, clock: Clock | AtOnce | None = None) -> Lease:
        timed = {"clock": clock, "pause": clock.pause} if clock else {}
        made.append(Lease(store, "lease.json", "application app", terms, **timed))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.release()


class AtOnce:
    """Two have looked, and found the lease free, before either writes; and a write of the one takes less than
    the other waits before it looks again."""

    def __init__(self, looked: threading.Barrier, written: threading.Barrier) -> None:
        self._meetings = [looked]
        self._written = written

    def __call__(self) -> float:
        while self._meetings:
            self._meetings.pop().wait()
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        assert seconds == QUICK.settle_s, "it was free"
        self._written.wait()


def lost(held: Lease) -> bool:
    try:
        held.check()
    except StateError:
        return True
    return False


def test_a_second_holder_is_refused_while_the_first_renews(lease: Callable[..., Lease]) -> None:
    first = lease()
    first.take()
    with pytest.raises(StateError, match="running already"):
        lease().take()
    first.check()
    first.release()
    lease().take()


def test_the_lease_of_a_holder_that_died_is_taken_and_one_that_wakes_up_knows(
    lease: Callable[..., Lease],
) -> None:
    slept = Clock()
    dead, heir = lease(ASLEEP, slept), lease(ASLEEP, Clock())
    dead.take()
    heir.take()
    heir.check()
    slept.pause(ASLEEP.expires_s)
    assert lost(dead)
    dead.release()
    assert heir.holder() == (heir.owner, 1), "a lease that was lost is not given back"


def test_of_two_that_begin_at_once_one_has_it(lease: Callable[..., Lease]) -> None:
    looked, written = threading.Barrier(2), threading.Barrier(2)
    both = [lease(QUICK, AtOnce(looked, written)) for _ in range(2)]
    held: list[Lease] = []
    refused: list[StateError] = []

    def begin(one: Lease) -> None:
        try:
            one.take()
            held.append(one)
        except StateError as error:
            refused.append(error)

    threads = [threading.Thread(target=begin, args=(one,)) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(held) == len(refused) == 1
    held[0].check()


def test_a_holder_that_cannot_renew_stops_before_others_may_take_it(
    lease: Callable[..., Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    held = lease(ASLEEP, clock)
    held.take()

    def fail(path: str, data: bytes) -> None:
        raise HomeError("the network is gone")

    monkeypatch.setattr(held.store, "replace", fail)
    clock.now_s = ASLEEP.expires_s - 2 * ASLEEP.renew_s
    held.renew()
    assert not lost(held), "what fails once may work the next time"
    clock.pause(1)
    held.renew()
    assert lost(held)
    assert clock() < ASLEEP.expires_s
    monkeypatch.undo()


def test_a_document_that_does_not_read_is_taken_for_dead(lease: Callable[..., Lease], store: Store) -> None:
    store.replace("lease.json", b"{")
    one = lease(ASLEEP, Clock())
    one.take()
    assert one.holder() == (one.owner, 1)
