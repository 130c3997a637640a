"""The daemon as an ASGI application: API, portal, health, and what every answer carries."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

import dovetail
from dovetail.errors import DovetailError, InputError
from dovetail.service.server import api, keeping_api, pages
from dovetail.service.server.access import Caller, NotKnown
from dovetail.service.server.exposition import PROMETHEUS_TYPE, service_metrics
from dovetail.service.server.overview import overviews
from dovetail.service.server.problems import MEDIA_TYPE, problem, status_of
from dovetail.service.server.state import Daemon, caller_of

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
    app.middleware("http")(_guard)
    app.exception_handler(DovetailError)(_failed)
    app.exception_handler(RequestValidationError)(_malformed)
    app.include_router(api.router)
    app.include_router(keeping_api.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    app.get("/healthz", include_in_schema=False)(_healthy)
    app.get("/readyz", include_in_schema=False)(_ready)
    app.get("/metrics", include_in_schema=False)(_metrics)
    return app


async def _guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    """Only for those who call us by our own name; and what every answer carries."""
    daemon: Daemon = request.app.state.daemon
    if request.headers.get("host", "") not in daemon.hosts:
        return PlainTextResponse("this service is not known by that name\n", status_code=421)
    response = await go_on(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if not request.url.path.startswith("/static/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, DovetailError)
    if pages.is_page(request):
        if isinstance(error, NotKnown):
            return pages.not_logged_in(request)
        return pages.error_page(request, error, status_of(error))
    return JSONResponse(problem(error), status_of(error), media_type=MEDIA_TYPE)


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    found = InputError("the request is not what was expected", where=where, expected=str(first["msg"]))
    return await _failed(request, found)


async def _healthy() -> PlainTextResponse:
    return PlainTextResponse("ok\n")


def _metrics(request: Request, _: Annotated[Caller, Depends(caller_of)]) -> Response:
    daemon: Daemon = request.app.state.daemon
    return Response(service_metrics(overviews(daemon.home, daemon.keeper)), media_type=PROMETHEUS_TYPE)


async def _ready(request: Request) -> PlainTextResponse:
    """The keeper has looked at the home lately, and nothing was in its way."""
    daemon: Daemon = request.app.state.daemon
    fresh = time.time() - daemon.looked_at_s < STALE_S
    if fresh and daemon.trouble is None:
        return PlainTextResponse("ready\n")
    return PlainTextResponse(
        f"not ready: {daemon.trouble or 'no look at the home lately'}\n", status_code=503
    )
