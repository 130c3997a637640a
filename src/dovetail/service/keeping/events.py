"""What happened to applications, and who did it: a category of the log, `service.events`.

Every change that somebody makes is an event with a name in `by`. What the service does by itself says so. The
category keeps what happened for a week, like everything that the product writes by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from dovetail.service.own_rows import append_row, newest_first, own_schema

EVENTS = "service.events"
SCHEMA = own_schema("application", "kind", "words", "by")


@dataclass(frozen=True)
class Event:
    application: str
    kind: str
    words: str
    by: str


def record(home: str, event: Event) -> None:
    append_row(home, EVENTS, SCHEMA, (event.application, event.kind, event.words, event.by))


def events(home: str, application: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
    """The newest first, of one application or of all."""
    found = (row for row in newest_first(home, EVENTS) if application in (None, row["application"]))
    return list(islice(found, limit))
