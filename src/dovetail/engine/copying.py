"""Work in the background: a thread of this process copies files to a home, one after another, and a second
one does longer work that nothing waits for (`piece_merging.py`).

A copy that fails is not tried again, and the failure is not reported. That is safe only for files that their
reader can replace. Snapshots are such files: before each step the coordinator lists what the home really has
(`home_snapshots.py`) and starts the recovery path there. A copy that never arrived makes that path a step
longer. It can make no row disappear, because the log keeps every commit that the path reads.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from dovetail.errors import DovetailError
from dovetail.log.homes.filesystem import Store

_MOST_WAITING = 16
"""With this many files waiting, `send` blocks: a home that slow would only fall further behind."""


class Needed(NamedTuple):
    """A file that another one names: where it is in the home, and on this host."""

    path: str
    here: Path


Job = Callable[[], None]
_AT_ONCE = threading.Event()


class _Worker:
    """A thread that does one job after another. An error with a file ends only its own job."""

    def __init__(self, name: str) -> None:
        self.jobs: Queue[Job] = Queue(_MOST_WAITING)
        threading.Thread(target=self._work, name=f"dovetail-{name}", daemon=True).start()

    def _work(self) -> None:
        while True:
            job = self.jobs.get()
            try:
                _do(job)
            finally:
                self.jobs.task_done()


def _do(job: Job) -> None:
    # The home may be deleted by now. A home that is full reports it to a step that waits for its copy, and
    # steps begin to wait when the recovery path gets long (`LONG_WAY`).
    with suppress(DovetailError, OSError):
        job()


@functools.cache
def _worker(process: int, name: str) -> _Worker:
    """One per process: threads do not survive a fork."""
    return _Worker(name)


def send(store: Store, path: str, data: bytes, needs: Sequence[Needed] = ()) -> None:
    """Write a file in the background, after those that it names: without them it is not written."""

    def copy() -> None:
        if bring(store, needs):
            store.replace(path, data)

    _put("copying", copy)


def aside(job: Job) -> None:
    """Do something in the background that nothing waits for, beside the copies and not before them."""
    _put("merging", job)


def _put(name: str, job: Job) -> None:
    if _AT_ONCE.is_set():
        _do(job)
    else:
        _worker(os.getpid(), name).jobs.put(job)


@contextmanager
def at_once() -> Iterator[None]:
    """Do jobs where they are sent, and not in the background: for tests that count what is done, or kill this
    process in the middle of it."""
    settle()
    _AT_ONCE.set()
    try:
        yield
    finally:
        _AT_ONCE.clear()


def bring(store: Store, needs: Sequence[Needed]) -> bool:
    """Copy the files that a store lacks, each from its copy on this host; False if one is nowhere. They are
    all in one folder of the store, which is listed once: there may be very many."""
    if not needs:
        return True
    there = set(store.names(os.path.dirname(needs[0].path)))
    for needed in needs:
        if os.path.basename(needed.path) not in there:
            try:
                data = needed.here.read_bytes()
            except FileNotFoundError:
                return False
            store.replace(needed.path, data)
    return True


def settle() -> None:
    """Wait until every file that was sent is written, or has failed, and all that was put aside is done."""
    for name in ("merging", "copying"):
        _worker(os.getpid(), name).jobs.join()
