"""Limits the body of a request. Rows for the log may take more than other requests."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_ROWS = 64 << 20
MOST_ELSE = 4 << 20
"""A query has at most a million characters."""


class Bounded:
    """Counts what comes in. It does not go by what the request says about its length."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = MOST_ROWS if scope["path"].startswith("/api/v1/log/") else MOST_ELSE
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, f"the request has more than {most >> 20} MiB")
            return message

        await self._app(scope, counted, send)
