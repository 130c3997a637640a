"""Law: one run at a time holds an application, together with the processes it has started.

In a local home the lock is on a file and belongs to an open file, not to a process: the JVM inherits it. A
driver that is killed leaves a JVM that notices a moment later and may write until then. So the next run waits
until that JVM has ended. In a remote home a run holds a lease.

A JVM that runs several applications started before some of their locks were taken, and cannot inherit those.
It has inherited another lock, which the locks of its applications name (`outlived_by`): a run that takes the
lock of an application from a dead run waits for that one, too.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from dovetail.errors import HomeError, StateError
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.lease import Lease, Terms

Check = Callable[[], None]
"""Raises if the application is no longer held."""
LEASE = Terms()
AFTERLIFE_S = 60.0
"""How long a JVM may take to end after its driver was killed."""
_LOOK_S = 0.1

_held: set[int] = set()
_outliving: list[str] = []
"""The lock that the JVM of this process has inherited, if that is not the application's own."""


@contextmanager
def outlived_by(home: str, folder: str, what: str) -> Iterator[None]:
    """Hold a folder's lock for a JVM that is started meanwhile, and name it in the locks of all applications
    that this process holds. A remote home has leases, which a dead process does not renew."""
    store = open_store(home)
    store.make_folder(folder)
    if not store.local:
        yield
        return
    path = os.path.join(store.root, folder, "lock")
    with _locked(path, what):
        _outliving.append(path)
        try:
            yield
        finally:
            _outliving.remove(path)


def held_locks() -> tuple[int, ...]:
    """Descriptors of the locks that this process holds, for a JVM that it starts to share."""
    return tuple(_held)


def is_held(path: str) -> bool:
    """Whether a run, or what is left of it, holds the file. A run that starts at the same time may find
    our shared lock and tries again: the file then names a holder that is dead."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        if os.fstat(descriptor).st_size == 0:
            return False  # no run has ever had it
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def any_held(home: str) -> bool:
    """Whether an application of a local home is held: a look at its files, and nothing more."""
    store = open_store(home)
    return store.local and any(
        is_held(os.path.join(store.root, "apps", name, "lock")) for name in store.folders("apps")
    )


@contextmanager
def running(home: str, application: str, *, wait_s: float = 0.0) -> Iterator[Check]:
    """Hold the application for one run; a second run of it is refused. `wait_s`: how long to wait for a run
    that has been asked to end."""
    deadline = time.monotonic() + wait_s
    with ExitStack() as held:
        while True:
            try:
                check = held.enter_context(holding(home, f"apps/{application}", f"application {application}"))
                break
            except StateError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_LOOK_S)
        yield check


@contextmanager
def holding(home: str, folder: str, what: str) -> Iterator[Check]:
    """Hold what a folder of the home belongs to, or raise at once."""
    store = open_store(home)
    store.make_folder(folder)
    if store.local:
        with _locked(os.path.join(store.root, folder, "lock"), what):
            yield lambda: None
        return
    lease = Lease(store, f"{folder}/lease.json", what, LEASE)
    lease.take()
    try:
        yield lease.check
    finally:
        lease.release()


@contextmanager
def _locked(path: str, what: str) -> Iterator[None]:
    """Hold a file; refused while another run, or what is left of it, does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise HomeError(f"the home cannot be written: {error.strerror}", where=path) from error
    try:
        if not _taken(descriptor):
            raise StateError(
                f"{what} is running already",
                where=path,
                expected="one at a time",
                hint="stop the other run, or use another home (--home)",
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, " ".join([str(os.getpid()), *_outliving]).encode(), 0)
        _held.add(descriptor)
        try:
            yield
        finally:
            _held.remove(descriptor)
            os.ftruncate(descriptor, 0)  # it was given back: nothing of this run is left
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for those that have inherited it
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    """Lock a file. If the run that holds it has died, wait for what it has left behind."""
    deadline = time.monotonic() + AFTERLIFE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            pid, outliving = _holder(descriptor)
            if pid is None or _alive(pid) or not outliving or not _left_behind(outliving, pid):
                return True
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            if time.monotonic() > deadline:
                return False
        except BlockingIOError:
            pid, _ = _holder(descriptor)
            if pid is None or _alive(pid) or time.monotonic() > deadline:
                return False
        time.sleep(_LOOK_S)


def _left_behind(outliving: str, pid: int) -> bool:
    """Whether something that a dead process started still has the lock it inherited. If somebody else has
    taken that lock since, nothing is left: they have waited for it."""
    if not is_held(outliving):
        return False
    try:
        descriptor = os.open(outliving, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return _holder(descriptor)[0] == pid
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> tuple[int | None, str]:
    """Who has written the file last and has not given it back, and the lock that what it started has."""
    pid, _, outliving = os.pread(descriptor, 4096, 0).decode(errors="replace").partition(" ")
    return (int(pid) if pid.isdigit() else None), outliving


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
