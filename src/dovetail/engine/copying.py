"""Copies files to a home in the background: one thread of this process, one file after another.

A copy that fails is not tried again, and the failure is not reported. That is safe only for files that their
reader can replace. Snapshots are such files: before each step the coordinator lists what the home really has
(`home_snapshots.py`) and starts the recovery path there. A copy that never arrived makes that path a step
longer. It can make no row disappear, because the log keeps every commit that the path reads.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
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


class _Copier:
    def __init__(self) -> None:
        self.queue: Queue[tuple[Store, str, bytes, Sequence[Needed]]] = Queue(_MOST_WAITING)
        threading.Thread(target=self._copy, name="dovetail-copying", daemon=True).start()

    def _copy(self) -> None:
        while True:
            store, path, data, needs = self.queue.get()
            try:
                if bring(store, needs):
                    store.replace(path, data)
            except (DovetailError, OSError):
                # The home may be deleted by now. A home that is full reports it to a step that waits for its
                # copy, and steps begin to wait when the recovery path gets long (`LONG_WAY`).
                pass
            finally:
                self.queue.task_done()


@functools.cache
def _copier(process: int) -> _Copier:
    """One per process: threads do not survive a fork."""
    return _Copier()


def send(store: Store, path: str, data: bytes, needs: Sequence[Needed] = ()) -> None:
    """Write a file in the background, after those that it names: without them it is not written."""
    _copier(os.getpid()).queue.put((store, path, data, needs))


def bring(store: Store, needs: Sequence[Needed]) -> bool:
    """Copy the files that a store lacks, each from its copy on this host; False if one is nowhere."""
    for needed in needs:
        if store.size(needed.path) is None:
            try:
                data = needed.here.read_bytes()
            except FileNotFoundError:
                return False
            store.replace(needed.path, data)
    return True


def settle() -> None:
    """Wait until every file that was sent is written, or has failed."""
    _copier(os.getpid()).queue.join()
