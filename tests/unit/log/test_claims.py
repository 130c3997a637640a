"""Law: of all who want a lock on a store without locks one has it; one that died loses it, one that slept
does nothing more."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dovetail.errors import HomeError
from dovetail.log.homes.claims import EXPIRES_S, HOLD_S, LOOKS, Claims
from dovetail.log.homes.filesystem import Entry

LOCK = "category/retain.lock"


class Objects:
    """What an object store can do: create an object only if there is none. `before_create` is somebody else's
    turn, between a look and what follows from it."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, float]] = {}
        self.now_s = 0.0
        self.before_create: Callable[[], None] | None = None
        self._one_at_a_time = threading.Lock()

    def files(self, folder: str) -> list[Entry]:
        with self._one_at_a_time:
            found = list(self.objects.items())
        return [
            Entry(path.rpartition("/")[2], len(data), time)
            for path, (data, time) in found
            if path.startswith(f"{folder}/")
        ]

    def create(self, path: str, data: bytes) -> bool:
        if (others := self.before_create) is not None:
            self.before_create = None
            others()
        with self._one_at_a_time:
            return self.objects.setdefault(path, (data, self.now_s))[0] == data

    def replace(self, path: str, data: bytes) -> None:
        with self._one_at_a_time:
            self.objects[path] = data, self.now_s

    def delete(self, path: str) -> None:
        with self._one_at_a_time:
            self.objects.pop(path, None)

    def process(self, pause: Callable[[float], None] = lambda seconds: None) -> Claims:
        return Claims(self, lambda: self.now_s, lambda: self.now_s, pause)


def takes(claims: Claims) -> bool:
    with claims.held(LOCK, wait=False) as held:
        return held


def test_one_has_it_and_then_the_next() -> None:
    store = Objects()
    first, second = store.process(), store.process()
    with first.held(LOCK, wait=False) as held:
        assert held
        assert not takes(second)
    for _ in range(5):
        assert takes(second)
        assert takes(first)
    assert sorted(path[-5:] for path in store.objects) == [".over", "00010"], "older claims are deleted"


def test_who_waits_gets_it_when_it_is_given_back() -> None:
    store = Objects()
    looks: list[float] = []
    with store.process().held(LOCK, wait=False):
        impatient = store.process(looks.append)
        with impatient.held(LOCK, wait=True) as held:
            assert not held
    assert len(looks) == LOOKS - 1
    holder = store.process().held(LOCK, wait=False)
    holder.__enter__()
    patient = store.process(lambda seconds: holder.__exit__(None, None, None) and None)
    with patient.held(LOCK, wait=True) as held:
        assert held


def test_the_lock_of_a_dead_process_is_taken_and_one_that_wakes_up_may_not_write() -> None:
    store = Objects()
    sleeper, heir = store.process(), store.process()
    with sleeper.held(LOCK, wait=False) as held:
        assert held
        sleeper.check()
        store.now_s = HOLD_S + 1
        assert not takes(heir)
        with pytest.raises(HomeError, match="asleep"):
            sleeper.check()
        store.now_s = EXPIRES_S + 1
        with heir.held(LOCK, wait=False) as taken:
            assert taken
            heir.check()
            with pytest.raises(HomeError, match="asleep"):
                sleeper.check()
    sleeper.check()
    assert takes(heir)


@pytest.mark.parametrize("others_hold", [True, False])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_one_that_slept_between_its_looks_is_late(rounds: int, others_hold: bool) -> None:
    """Others have come and gone meanwhile, and their claims were deleted, the one it wants to make too."""
    store = Objects()
    sleeper, others = store.process(), store.process()
    assert takes(others)
    last = others.held(LOCK, wait=False)

    def meanwhile() -> None:
        for _ in range(rounds):
            assert takes(others)
        if others_hold:
            assert last.__enter__()

    store.before_create = meanwhile
    assert takes(sleeper) == (rounds == 0 and not others_hold)
    if others_hold:
        assert not takes(sleeper)
        last.__exit__(None, None, None)
    assert takes(sleeper)


def test_many_at_once() -> None:
    store = Objects()
    inside, most, done = [0], [0], []

    def work(claims: Claims) -> None:
        while len(done) < 60:
            with claims.held(LOCK, wait=False) as held:
                if held:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    done.append(None)
                    inside[0] -= 1

    threads = [threading.Thread(target=work, args=(store.process(),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
