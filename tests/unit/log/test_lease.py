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

QUICK = Terms(renew_s=0.05, expires_s=1.0, settle_s=0.05, look_s=0.02)
PATIENCE_S = 30


@pytest.fixture
def store() -> Store:
    store = open_store(f"mock:///{uuid.uuid4().hex}")
    store.make_folder("")
    return store


@pytest.fixture
def lease(store: Store) -> Iterator[Callable[[], Lease]]:
    made: list[Lease] = []

    def make() -> Lease:
        made.append(Lease(store, "lease.json", "application app", QUICK))
        return made[-1]

    yield make
    for one in made:
        one._over.set()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def lost(held: Lease) -> bool:
    try:
        held.check()
    except StateError:
        return True
    return False


def test_a_second_holder_is_refused_while_the_first_renews(lease: Callable[[], Lease]) -> None:
    first = lease()
    first.take()
    with pytest.raises(StateError, match="running already"):
        lease().take()
    first.check()
    first.release()
    lease().take()


def test_the_lease_of_a_holder_that_died_is_taken_and_one_that_wakes_up_knows(
    lease: Callable[[], Lease], store: Store
) -> None:
    dead, heir = lease(), lease()
    dead._write()  # and never again
    heir.take()
    heir.check()
    dead._keep()  # as its thread goes on after a long sleep
    assert lost(dead)
    dead.release()
    assert heir._found_owner() == heir.owner, "a lease that was lost is not given back"


def test_of_two_that_begin_at_once_one_has_it(lease: Callable[[], Lease]) -> None:
    both = [lease() for _ in range(2)]
    meet = threading.Barrier(2)
    refused: list[StateError] = []

    def begin(one: Lease) -> None:
        meet.wait()
        try:
            one.take()
        except StateError as error:
            refused.append(error)

    threads = [threading.Thread(target=begin, args=(one,)) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holders = [one for one in both if one._thread is not None and not lost(one)]
    assert len(holders) == 1
    assert len(refused) == 1


def test_a_holder_that_cannot_renew_stops_before_others_may_take_it(
    lease: Callable[[], Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = lease()
    held.take()

    def fail(path: str, data: bytes) -> None:
        raise HomeError("the network is gone")

    monkeypatch.setattr(held.store, "replace", fail)
    until(lambda: lost(held))
    monkeypatch.undo()


def test_a_document_that_does_not_read_is_taken_for_dead(lease: Callable[[], Lease], store: Store) -> None:
    store.replace("lease.json", b"{")
    one = lease()
    one.take()
    assert one._found_owner() == one.owner
