"""A lock on a store that has none, but can create an object only if there is none of its name.

    retain.lock/00000000000000000007         claimed
    retain.lock/00000000000000000007.over    and given back; the next one is 8

Law: of the claims in a folder only the newest counts, and one process has made it. A process that wants the
lock looks for the newest claim. If that is over, or so old that its process must be dead, it creates the next
one; of several processes only one can. It then looks again: if it was asleep for long between its two looks,
others may have gone past its claim, and it sees a newer one. The newest is never deleted, so numbers grow.

A holder that falls asleep does no harm. By its own clock it knows that it has held the lock for `HOLD_S`,
long before others take it for dead (`EXPIRES_S`, by the store's times, which may differ from ours by
minutes). From then on it may neither write nor delete (`Claims.check`). Only if it falls asleep in the middle
of one request, and that for most of an hour, does the request come late.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from dovetail.errors import HomeError
from dovetail.log.homes.clocks import awake_s
from dovetail.log.homes.filesystem import Entry

HOLD_S = 1200.0
EXPIRES_S = 3600.0
LOOKS, LOOK_S = 10, 1.0
"""How often a waiting process looks again. Nobody waits for a claim that is held for longer: its holder may
be dead, and nothing that takes this lock is urgent."""
_OVER = ".over"


class _Objects(Protocol):
    def files(self, folder: str) -> list[Entry]: ...

    def create(self, path: str, data: bytes) -> bool: ...

    def replace(self, path: str, data: bytes) -> None: ...

    def delete(self, path: str) -> None: ...


class Claims:
    """The locks of one store. Those that a thread holds forbid it to write when they are too old."""

    def __init__(
        self,
        store: _Objects,
        clock: Callable[[], float] = awake_s,
        now_s: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store, self._clock, self._now_s, self._pause = store, clock, now_s, pause
        self._mine = threading.local()

    def check(self) -> None:
        """Raises if this thread holds a lock that others may take for given up."""
        since_s = getattr(self._mine, "since_s", None)
        if since_s is not None and self._clock() - since_s > HOLD_S:
            raise HomeError(
                "this process was asleep while it tidied a category, and must not go on",
                expected=f"at most {HOLD_S:.0f} seconds for it",
                hint="nothing is lost: the next writer or reader tidies it",
            )

    @contextmanager
    def held(self, folder: str, *, wait: bool) -> Iterator[bool]:
        """False if another has it."""
        number = None
        for look in range(LOOKS if wait else 1):
            if look:
                self._pause(LOOK_S)
            # Before the claim is made, not after: if this process sleeps while it makes it, the store's clock
            # runs from some moment in between, and ours must not start later than that.
            since_s = self._clock()
            if (number := self._claimed(folder)) is not None:
                break
        if number is None:
            yield False
            return
        self._mine.since_s = since_s
        try:
            yield True
        finally:
            # First, because giving back deletes files: a holder that is too old would be refused by its own
            # `check`. What is written and deleted there harms nobody who has taken the lock since.
            self._mine.since_s = None
            self._give_back(folder, number)

    def _claimed(self, folder: str) -> int | None:
        claims = self._claims(folder)
        newest = max(claims, default=-1)
        if newest >= 0 and not self._is_over(claims[newest]):
            return None
        mine = newest + 1
        if not self._store.create(f"{folder}/{mine:020d}", uuid.uuid4().hex.encode()):
            return None
        # `create` gives the number to one process, but not the lock: between the first look and the creation
        # others may have gone past this number and deleted it, and then it is free again. They leave the
        # newest claim, so this second look sees it. Without the look two processes would tidy at once.
        if max(self._claims(folder)) > mine:
            self._store.delete(f"{folder}/{mine:020d}")
            return None
        return mine

    def _is_over(self, entries: dict[str, Entry]) -> bool:
        return _OVER in entries or self._now_s() - entries[""].modified_s > EXPIRES_S

    def _claims(self, folder: str) -> dict[int, dict[str, Entry]]:
        """By number: the claim itself under "", and that it is over."""
        found: dict[int, dict[str, Entry]] = {}
        for entry in self._store.files(folder):
            digits, dot, rest = entry.name.partition(".")
            if digits.isdigit() and dot + rest in ("", _OVER):
                found.setdefault(int(digits), {})[dot + rest] = entry
        return {number: entries for number, entries in found.items() if "" in entries}

    def _give_back(self, folder: str, number: int) -> None:
        # Over first, then the older ones: a process that dies in between leaves too many files and no lock
        # that is held for ever. The newest stays, and with it the number from which the next one counts: if
        # it went, numbers would begin at 0 again, and a sleeper with an old number could take itself for the
        # newest.
        self._store.replace(f"{folder}/{number:020d}{_OVER}", b"")
        for older, entries in self._claims(folder).items():
            if older < number:
                for suffix in (_OVER, "") if _OVER in entries else ("",):
                    self._store.delete(f"{folder}/{older:020d}{suffix}")
