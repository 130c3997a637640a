"""Files that are copied to a home behind the back of those who wrote them, one after another, by one thread
of this process. A copy that fails is not tried again: whoever needs the file must be able to do without."""

from __future__ import annotations

import functools
import os
import threading
from queue import Queue

from dovetail.errors import DovetailError
from dovetail.log.homes.filesystem import Store

_MOST_WAITING = 16
"""Then the sender waits: a home that slow would only fall further behind."""


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
                pass  # its folder may be gone with the home; a home that is full is told when somebody waits
            finally:
                self.queue.task_done()


@functools.cache
def _copier(process: int) -> _Copier:
    """One for each process: a thread does not live on in a fork."""
    return _Copier()


def send(store: Store, path: str, data: bytes) -> None:
    """Have a file written, soon."""
    _copier(os.getpid()).queue.put((store, path, data))


def settle() -> None:
    """Wait until all that was sent is written, or could not be."""
    _copier(os.getpid()).queue.join()
