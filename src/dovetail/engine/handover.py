"""A run is asked to end so that another can go on where it stops, with a changed query.

The request is a small file beside the lock. The run that holds the application looks for it a few times a
second, or every few seconds in a remote home, and stops cleanly. Whoever has asked waits for the lock. A
request that nobody has answered for long counts no more: its writer may have died."""

from __future__ import annotations

import time

from dovetail.errors import DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said

KIND, VERSION = "dovetail.handover", 1
WAITED_S = 120.0
"""How long a run may take to end, and how long a request counts."""
_LOOK_S, _FAR_LOOK_S = 0.5, 5.0


def handover_path(application: str) -> str:
    return f"apps/{application}/handover.json"


def ask(home: str, application: str) -> None:
    body = {"application": application, "asked_at_us": time.time_ns() // 1000}
    open_store(home).replace(handover_path(application), document.encode(KIND, VERSION, body))


def answered(home: str, application: str) -> None:
    """The application is held by whoever asked for it, or by somebody else: the request is over."""
    open_store(home).delete(handover_path(application))


class Requests:
    """What a run looks at to learn that another wants to go on in its place."""

    def __init__(self, home: str, application: str) -> None:
        self._store, self._path = open_store(home), handover_path(application)
        self._every_s = _LOOK_S if self._store.local else _FAR_LOOK_S
        self._looked_s = -self._every_s

    def wanted(self) -> bool:
        """Another run waits for this one to end."""
        now_s = time.monotonic()
        if now_s - self._looked_s < self._every_s:
            return False
        self._looked_s = now_s
        try:
            data = self._store.read(self._path)
            body = document.decode(data, KIND, VERSION, where=self._path, remedy="delete the file")
            asked_at_us = said.whole(body["asked_at_us"])
        except (FileNotFoundError, DovetailError, KeyError, ValueError):
            return False  # none, or one that cannot be read: nobody is stopped by a damaged file
        return time.time_ns() // 1000 - asked_at_us < WAITED_S * 1e6
