"""Errors over HTTP: problem+json (RFC 9457) with our own what, where, expected and hint. The command line
says the same words."""

from __future__ import annotations

from typing import Any

from dovetail.errors import CategoryNotFound, DovetailError, HomeError, InputError, StateError, Unreachable
from dovetail.service.access.roles import NotKnown, Refused, TooMany

MEDIA_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[DovetailError], int], ...] = (
    (NotKnown, 401),
    (Refused, 403),
    (TooMany, 429),
    (CategoryNotFound, 404),
    (Unreachable, 503),
    (HomeError, 503),
)


class HttpError(DovetailError):
    """A request that no page or call accepts."""

    condition = "REQUEST_INVALID"

    def __init__(self, what: str, status: int = 400, **more: Any) -> None:
        super().__init__(what, **more)
        self.status = status


def status_of(error: DovetailError) -> int:
    if isinstance(error, HttpError):
        return error.status
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status
    named = isinstance(error, StateError | InputError)
    if named and error.what.startswith(("there is no ", "the service has no ")):
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
