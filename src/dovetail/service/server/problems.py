"""Errors over HTTP: problem+json (RFC 9457) with our own what, where, expected and hint. The command line
says the same words."""

from __future__ import annotations

from typing import Any

from dovetail.errors import CategoryNotFound, DovetailError, StateError
from dovetail.service.server.access import NotKnown, Refused

MEDIA_TYPE = "application/problem+json"


def status_of(error: DovetailError) -> int:
    if isinstance(error, NotKnown):
        return 401
    if isinstance(error, Refused):
        return 403
    if isinstance(error, CategoryNotFound) or error.what.startswith(("there is no ", "the service has no ")):
        return 404
    return 409 if isinstance(error, StateError) else 422


def problem(error: DovetailError) -> dict[str, Any]:
    said = error.to_json()["error"]
    return {
        "type": f"urn:dovetail:{said['condition']}",
        "title": error.what,
        "status": status_of(error),
        **said,
    }
