"""A run is asked to make room for a changed query: to go on with it, or to end so that another run can.

    handover.json          the request; may offer the query, for the existing run to go on with
    handover-answer.json   the answer to an offer: the version that took over, or why none did

The request is a small file beside the lock. The run that holds the application looks for it a few times a
second, or every few seconds in a remote home. It accepts an offer if its own terms apply: the same code, the
same settings. Otherwise it stops cleanly, and the process that asked waits for the lock. A request that has
not been answered for long no longer counts: its writer may have died."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.errors import DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said

KIND, VERSION = "dovetail.handover", 1
ANSWER_KIND, ANSWER_VERSION = "dovetail.handover-answer", 1
WAITED_S = 120.0
"""How long a run may take to end, and how long a request counts."""
_LOOK_S, _FAR_LOOK_S = 0.5, 5.0


@dataclass(frozen=True)
class Offer:
    """A query as it was written and what errors call it, the version that it was made from, and what must be
    the same in the run that takes it."""

    text: str
    name: str
    parent: int | None
    terms: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    number: str
    offer: Offer | None


@dataclass(frozen=True)
class TakeoverAnswer:
    """`error` None: this version has taken over, in the existing run."""

    number: str
    version: int
    error: DovetailError | None


def handover_path(application: str) -> str:
    return f"apps/{application}/handover.json"


def answer_path(application: str) -> str:
    return f"apps/{application}/handover-answer.json"


def ask(home: str, application: str, offer: Offer | None = None) -> str:
    """Returns the number that identifies the answer."""
    number = uuid.uuid4().hex
    body = {
        "application": application,
        "asked_at_us": time.time_ns() // 1000,
        "number": number,
        "offer": None if offer is None else asdict(offer),
    }
    store = open_store(home)
    store.make_folder(f"apps/{application}")  # of a run that is just about to begin
    store.replace(handover_path(application), document.encode(KIND, VERSION, body))
    return number


def answered(home: str, application: str) -> None:
    """The process that asked for the application, or another one, holds it now: the request is over."""
    open_store(home).delete(handover_path(application))


def answer(home: str, application: str, found: TakeoverAnswer) -> None:
    """For the run that the query was offered to. The request is over."""
    body = {
        "number": found.number,
        "version": found.version,
        "error": None if found.error is None else found.error.to_json(),
    }
    open_store(home).replace(answer_path(application), document.encode(ANSWER_KIND, ANSWER_VERSION, body))
    pending = Requests(home, application).wanted()
    if pending is None or pending.number == found.number:  # somebody else may have asked meanwhile
        answered(home, application)


def answer_to(home: str, application: str, number: str) -> TakeoverAnswer | None:
    """None: there is none yet, or it cannot be read."""
    path = answer_path(application)
    try:
        data = open_store(home).read(path)
        body = document.decode(data, ANSWER_KIND, ANSWER_VERSION, where=path, remedy="delete the file")
        error = body["error"]
        found = TakeoverAnswer(
            said.text(body["number"]),
            said.whole(body["version"]),
            None if error is None else DovetailError.from_json(error),
        )
    except (FileNotFoundError, DovetailError, KeyError, TypeError, ValueError):
        return None
    return found if found.number == number else None


class Requests:
    """What a run looks at to learn that another wants to go on in its place."""

    def __init__(self, home: str, application: str) -> None:
        self._store, self._path = open_store(home), handover_path(application)
        self._every_s = _LOOK_S if self._store.local else _FAR_LOOK_S
        self._looked_s = -self._every_s

    def wanted(self) -> Request | None:
        """Somebody waits for this run to make room."""
        now_s = time.monotonic()
        if now_s - self._looked_s < self._every_s:
            return None
        self._looked_s = now_s
        try:
            data = self._store.read(self._path)
            body = document.decode(data, KIND, VERSION, where=self._path, remedy="delete the file")
            asked_at_us = said.whole(body["asked_at_us"])
            # A release before offers were made asks without a number.
            request = Request(said.text(body.get("number", "")), _offer(body.get("offer")))
        except (FileNotFoundError, DovetailError, KeyError, TypeError, ValueError):
            return None  # none, or one that cannot be read: nobody is stopped by a damaged file
        return request if time.time_ns() // 1000 - asked_at_us < WAITED_S * 1e6 else None


def _offer(body: Any) -> Offer | None:
    if body is None:
        return None
    given = said.fields(body, Offer.__dataclass_fields__)
    parent = given["parent"]
    return Offer(
        text=said.text(given["text"]),
        name=said.text(given["name"]),
        parent=None if parent is None else said.whole(parent, 1),
        terms=said.fields(given["terms"]),
    )
