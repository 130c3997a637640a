"""Law: a lease has one holder at a time, as long as files become visible to others within seconds.

A home on an object store has no locks. There a holder writes a small document with its name, and writes it
again every few seconds. No two clocks are compared: a process that wants the lease watches the document, and
takes it when it has not changed for `expires_s` of its own clock. After taking it, the process waits a moment
and looks whether somebody else wrote at the same time: the last writer has it. A holder that finds another's
name, or cannot renew in time, no longer holds the lease and must stop (`check`).

Why a holder that slept does no harm. While it holds the lease, its store asks `check` before it creates a
file. If the holder's clock says that others may have taken the lease, `check` looks at the document first,
and raises if it has another name. Between that look and the write the holder may fall asleep again. Then the
write itself decides: it creates a commit only if its number is free (`conditional.py`), and its heir has used
the number. On a store that cannot create a file conditionally this last gap stays open.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from dovetail.errors import DovetailError, StateError
from dovetail.log.homes.clocks import awake_s
from dovetail.log.homes.filesystem import Store


def document(owner: str, renewals: int) -> bytes:
    """What is written. Host and process are for people who read it."""
    body = {"owner": owner, "renewals": renewals, "host": socket.gethostname(), "process": os.getpid()}
    return json.dumps(body).encode()


@dataclass(frozen=True)
class Terms:
    """A holder renews several times before its lease is taken for dead."""

    renew_s: float = 5.0
    expires_s: float = 30.0
    settle_s: float = 2.0  # what a write of somebody else may take
    look_s: float = 1.0


@dataclass
class Lease:
    """One holder's claim on the document at `path`."""

    store: Store
    path: str
    what: str  # is held
    terms: Terms = field(default_factory=Terms)
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    clock: Callable[[], float] = awake_s
    pause: Callable[[float], None] = time.sleep
    _over: threading.Event = field(default_factory=threading.Event)
    _lost: StateError | None = None
    _renewals: int = 0
    _renewed_s: float = 0.0
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _guard: ExitStack = field(default_factory=ExitStack)
    _thread: threading.Thread | None = None

    def take(self) -> None:
        """Hold the lease, or raise: at once if its holder renews it, else when it is dead."""
        self._wait_until_free()
        # Write, wait, look, in this order. Two who find the lease free at once both write, and the store
        # keeps the later document. Both look after both have written, and see it, so at most one finds its
        # own name. To look first and write then would let both through.
        self._write()
        self.pause(self.terms.settle_s)
        if self.holder() != (self.owner, self._renewals):
            raise self._refused("another run began at the same moment")
        self._guard.enter_context(self.store.guarded(self.check))
        self._thread = threading.Thread(target=self._keep, name=f"lease {self.path}", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises if the lease was lost. Costs nothing while it is renewed in time."""
        if self._lost is None and self.clock() - self._renewed_s > self.terms.expires_s - self.terms.renew_s:
            self.renew()  # the thread that renews it was asleep as well, with all of this process
        if self._lost is not None:
            raise self._lost

    def release(self) -> None:
        """Give the lease back, if it is still ours."""
        # The thread ends before the document is looked at and deleted. It could otherwise renew in between,
        # and write the document again after it was deleted: the next run would then wait for a holder that is
        # gone.
        self._guard.close()
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._lost is None and self._found_owner() == self.owner:
            self.store.delete(self.path)

    def _wait_until_free(self) -> None:
        first, since = self.holder(), self.clock()
        while first is not None and self.clock() - since < self.terms.expires_s:
            self.pause(self.terms.look_s)
            now = self.holder()
            if now is None:
                return
            # Any change means that somebody lives, also a change of owner. The time that counts is ours,
            # since the first look: the holder's clock, and the store's, may be wrong by hours.
            if now != first:
                raise self._refused("its lease is renewed")

    def _keep(self) -> None:
        """Renew until released."""
        while self._lost is None and not self._over.wait(self.terms.renew_s):
            self.renew()

    def renew(self) -> None:
        """Renew the lease, if it is still ours. Errors of the store are tolerated while it can still be ours:
        until two renewals before others may take it, so that this process stops before they start."""
        with self._writing:
            try:
                if taken := self._found_owner() != self.owner:
                    self._lost = self._ended(taken)
                else:
                    self._write()
            except (DovetailError, OSError):
                if self.clock() - self._renewed_s > self.terms.expires_s - 2 * self.terms.renew_s:
                    self._lost = self._ended(taken=False)

    def _write(self) -> None:
        self._renewals += 1
        began = self.clock()  # before the write: others may see it as early as now
        self.store.replace(self.path, document(self.owner, self._renewals))
        self._renewed_s = began

    def holder(self) -> tuple[str, int] | None:
        """Who holds the lease and how often it was renewed; None if nobody does. A document that does not
        read has no living holder, but is watched like any other."""
        try:
            data = self.store.read(self.path)
        except FileNotFoundError:
            return None
        try:
            body = json.loads(data)
            return str(body["owner"]), int(body["renewals"])
        except (ValueError, KeyError, TypeError):
            return "", 0

    def _found_owner(self) -> str | None:
        found = self.holder()
        return found[0] if found else None

    @property
    def _where(self) -> str:
        return f"{self.store.root}/{self.path}"

    def _refused(self, why: str) -> StateError:
        return StateError(
            f"{self.what} is running already: {why}",
            where=self._where,
            expected="one run of an application at a time",
            hint="stop the other run, or use another home (--home)",
        )

    def _ended(self, taken: bool) -> StateError:
        reason = "another run has taken it" if taken else "the home could not be reached for too long"
        return StateError(
            f"{self.what} is no longer held by this run: {reason}",
            where=self._where,
            expected="one run of an application at a time",
            hint="what was committed before stays; start it again when no other run has it",
        )
