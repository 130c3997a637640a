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
from queue import Queue

from dovetail.errors import DovetailError
from dovetail.log.homes.filesystem import Store

_MOST_WAITING = 16
"""With this many files waiting, `send` blocks: a home that slow would only fall further behind."""


class _Copier:
    def __init__(self) -> None:
        self.queue: Queue[tuple[Store, str, bytes]] = Queue(_MOST_WAITING)
        threading.Thread(target=self._copy, name="dovetail-copying", daemon=True).start()

    def _copy(self) -> None:
        while True:
            store, path, data = self.queue.get()
            try:
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


def send(store: Store, path: str, data: bytes) -> None:
    """Write a file in the background."""
    _copier(os.getpid()).queue.put((store, path, data))


def settle() -> None:
    """Wait until every file that was sent is written, or has failed."""
    _copier(os.getpid()).queue.join()
