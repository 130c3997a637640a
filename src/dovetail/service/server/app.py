"""The daemon as an ASGI application: API, portal, health, and what every answer carries."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

import dovetail
from dovetail.errors import DovetailError, InputError
from dovetail.service.access.audit import Deed, audit
from dovetail.service.access.caller import Caller
from dovetail.service.access.roles import NotKnown
from dovetail.service.memory import machine_bytes
from dovetail.service.server import access_pages, api, entrance, keeping_api, pages
from dovetail.service.server.bounds import Bounded
from dovetail.service.server.exposition import PROMETHEUS_TYPE, Watch, service_metrics
from dovetail.service.server.logins import SAFE, caller_of
from dovetail.service.server.overview import overviews
from dovetail.service.server.problems import MEDIA_TYPE, HttpError, problem, status_of
from dovetail.service.server.state import Daemon

FOLDER = Path(__file__).parent
STALE_S = 30.0
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_NO_CHANGE = ("/api/v1/log/", "/api/v1/check", "/api/v1/preview", "/fragments/", "/preview")
"""Requests that carry a body and change nothing; rows for the log have a record of their own."""


def make_app(daemon: Daemon) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        keeping = asyncio.create_task(daemon.keep())
        yield
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping
        daemon.ledger.close()

    app = FastAPI(
        title="Dovetail",
        version=dovetail.__version__,
        summary="Streaming joins as a service.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.daemon = daemon
    app.add_middleware(Bounded)
    app.middleware("http")(_guard)
    app.exception_handler(DovetailError)(_failed)
    app.exception_handler(RequestValidationError)(_malformed)
    app.exception_handler(HTTPException)(_not_taken)
    app.include_router(api.router)
    app.include_router(entrance.router)
    app.include_router(keeping_api.router)
    app.include_router(pages.router)
    app.include_router(access_pages.router)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    app.get("/healthz", include_in_schema=False)(_healthy)
    app.get("/readyz", include_in_schema=False)(_ready)
    app.get("/metrics", include_in_schema=False)(_metrics)
    return app


async def _guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    """Only for those who call us by our own name; what every answer carries; and who changed what."""
    daemon: Daemon = request.app.state.daemon
    if request.headers.get("host", "") not in daemon.hosts:
        return PlainTextResponse("this service is not known by that name\n", status_code=421)
    response = await go_on(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if daemon.address.startswith("https://"):
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    if not request.url.path.startswith("/static/"):
        response.headers.setdefault("Cache-Control", "no-store")
    if request.method not in SAFE and not request.url.path.startswith(_NO_CHANGE):
        try:
            await asyncio.to_thread(_audit, daemon, request, response.status_code)
        except DovetailError as error:  # a full disk: what was asked for failed by it, too, or is done
            daemon.trouble = f"a change could not be written down: {error}"
    return response


def _audit(daemon: Daemon, request: Request, status: int) -> None:
    """Logins record their own user. A request without a known user changes nothing."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        return
    deed = f"{request.method} {request.url.path} {getattr(request.state, 'deed', '')}".rstrip()
    outcome = "done" if status < 400 else f"{status} {getattr(request.state, 'said', '')}".rstrip()
    application = str(request.path_params.get("name", ""))
    audit(daemon.home, Deed(caller.name, caller.way, deed, application, outcome, caller.address))


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, DovetailError)
    request.state.said = error.what
    if pages.is_page(request):
        if isinstance(error, NotKnown):
            return await entrance.not_logged_in(request)
        return pages.error_page(request, error, status_of(error))
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, NotKnown) else None
    return JSONResponse(problem(error), status_of(error), headers, media_type=MEDIA_TYPE)


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    found = InputError("the request is not what was expected", where=where, expected=str(first["msg"]))
    return await _failed(request, found)


async def _not_taken(request: Request, error: Exception) -> Response:
    """An unknown address or method, or a body that is too large."""
    assert isinstance(error, HTTPException)
    words = str(error.detail or HTTPStatus(error.status_code).phrase)
    answer = await _failed(request, HttpError(words, error.status_code))
    answer.headers.update(error.headers or {})
    return answer


async def _healthy() -> PlainTextResponse:
    return PlainTextResponse("ok\n")


def _metrics(request: Request, caller: Annotated[Caller, Depends(caller_of)]) -> Response:
    daemon: Daemon = request.app.state.daemon
    caller.require("viewer")
    watch = Watch(daemon.looked_at_s, machine_bytes(), daemon.lost, daemon.scaler.stuck)
    found = overviews(daemon.home, daemon.keeper)
    return Response(service_metrics(found, watch), media_type=PROMETHEUS_TYPE)


async def _ready(request: Request) -> PlainTextResponse:
    """The keeper has looked at the home lately, without an error."""
    daemon: Daemon = request.app.state.daemon
    fresh = daemon.looked_once and time.time() - daemon.looked_at_s < STALE_S
    if fresh and daemon.trouble is None:
        return PlainTextResponse("ready\n")
    return PlainTextResponse(
        f"not ready: {daemon.trouble or 'no look at the home lately'}\n", status_code=503
    )
