"""`/api/v1`: what the command line can do, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from dovetail.errors import InputError, StateError
from dovetail.service.alarms.settings import mute
from dovetail.service.keeping import verbs
from dovetail.service.keeping.events import Event, events, record
from dovetail.service.keeping.landing import land
from dovetail.service.keeping.wanted import Wanted
from dovetail.service.server import reading
from dovetail.service.server.access import Caller, Role
from dovetail.service.server.overview import Overview, overview, overviews
from dovetail.service.server.problems import problem
from dovetail.service.server.state import Daemon, caller_of, daemon_of

router = APIRouter(prefix="/api/v1")
LIVE_S = 2.0


def allowed(role: Role) -> Any:
    """A caller of at least this role."""

    def require(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
        caller.require(role)
        return caller

    return Depends(require)


Here = Annotated[Daemon, Depends(daemon_of)]
Viewer = Annotated[Caller, allowed("viewer")]
Author = Annotated[Caller, allowed("author")]
Deployer = Annotated[Caller, allowed("deployer")]
Admin = Annotated[Caller, allowed("admin")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
IfMatch = Annotated[str | None, Header(alias="If-Match")]


class QueryText(BaseModel):
    """A PQL text."""

    text: Annotated[str, Field(max_length=1 << 20)]


class Rollback(BaseModel):
    version: Annotated[int | None, Field(ge=1)] = None


class Scale(BaseModel):
    tasks: Annotated[str, Field(pattern=r"^(auto|[0-9]{1,2})$")]


class Clone(BaseModel):
    name: Name


@router.get("/applications")
def list_all(here: Here, _: Viewer) -> list[dict[str, Any]]:
    return [one.to_json() for one in overviews(here.home, here.keeper)]


@router.post("/applications", status_code=201)
def create(query: QueryText, here: Here, caller: Author) -> dict[str, Any]:
    """A new application, checked and not started."""
    return _said(here, verbs.create(here.home, query.text, by=caller.name))


@router.post("/check")
def check(query: QueryText, here: Here, _: Viewer, application: Name | None = None) -> dict[str, Any]:
    """Every rule of landing, without touching anything."""
    landing = land(here.home, query.text, application)
    return {
        "ok": landing.ok,
        "application": landing.plan.application if landing.plan else None,
        "findings": [{"rule": found.rule, **problem(found.error)} for found in landing.findings],
        "changes": list(landing.changes),
        "warnings": list(landing.warnings),
    }


@router.get("/applications/{name}")
def one(name: Name, here: Here, _: Viewer, response: Response) -> dict[str, Any]:
    found = _found(here, name)
    if found.wanted is not None:
        response.headers["ETag"] = _tag(found.wanted)
    return {
        **found.to_json(),
        "text": found.wanted.text if found.wanted else None,
        "figures": found.figures,
    }


@router.put("/applications/{name}")
def deploy(
    name: Name, query: QueryText, here: Here, caller: Deployer, response: Response, if_match: IfMatch = None
) -> dict[str, Any]:
    """Let the application run by this query. With `If-Match` nothing is done if somebody was faster."""
    if verbs.name_in(query.text) != name:
        land(here.home, query.text, name).require()
    wanted, landing = verbs.deploy(here.home, query.text, by=caller.name, revision=_seen(if_match))
    response.headers["ETag"] = _tag(wanted)
    return {**_said(here, wanted), "changes": list(landing.changes)}


@router.post("/applications/{name}/start")
def start(name: Name, here: Here, caller: Deployer, if_match: IfMatch = None) -> dict[str, Any]:
    return _said(here, verbs.start(here.home, name, by=caller.name, revision=_seen(if_match)))


@router.post("/applications/{name}/stop")
def stop(name: Name, here: Here, caller: Deployer, if_match: IfMatch = None) -> dict[str, Any]:
    return _said(here, verbs.stop(here.home, name, by=caller.name, revision=_seen(if_match)))


@router.post("/applications/{name}/restart")
def restart(name: Name, here: Here, caller: Deployer, if_match: IfMatch = None) -> dict[str, Any]:
    return _said(here, verbs.restart(here.home, name, by=caller.name, revision=_seen(if_match)))


@router.post("/applications/{name}/rollback")
def rollback(
    name: Name, to: Rollback, here: Here, caller: Deployer, if_match: IfMatch = None
) -> dict[str, Any]:
    revision = _seen(if_match)
    return _said(here, verbs.rollback(here.home, name, to.version, by=caller.name, revision=revision))


@router.post("/applications/{name}/scale")
def scale(name: Name, to: Scale, here: Here, caller: Deployer) -> dict[str, Any]:
    verbs.scale(here.home, name, to.tasks, by=caller.name)
    return _found(here, name).to_json()


@router.post("/applications/{name}/clone", status_code=201)
def clone(name: Name, to: Clone, here: Here, caller: Author) -> dict[str, Any]:
    return _said(here, verbs.clone(here.home, name, to.name, by=caller.name))


@router.delete("/applications/{name}")
def delete(name: Name, here: Here, caller: Admin, if_match: IfMatch = None) -> dict[str, Any]:
    """Stop it now and remove what is its own after a day."""
    wanted, goes = verbs.delete(here.home, name, by=caller.name, revision=_seen(if_match))
    return {**_said(here, wanted), "goes": goes}


@router.post("/applications/{name}/restore")
def restore(name: Name, here: Here, caller: Admin) -> dict[str, Any]:
    return _said(here, verbs.restore(here.home, name, by=caller.name))


@router.get("/applications/{name}/versions")
def versions(name: Name, here: Here, _: Viewer) -> list[dict[str, Any]]:
    return reading.versions(here.home, name)


@router.get("/applications/{name}/events")
def events_of(
    name: Name, here: Here, _: Viewer, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> list[dict[str, Any]]:
    return [reading.plain_row(row) for row in events(here.home, name, limit)]


@router.get("/applications/{name}/history")
def history(
    name: Name, here: Here, _: Viewer, minutes: Annotated[float, Query(gt=0, le=10_080)] = 60
) -> dict[str, list[Any]]:
    """Figures over time, as columns."""
    return here.history(name, minutes)


@router.get("/applications/{name}/rows")
def rows(
    name: Name,
    here: Here,
    _: Viewer,
    table: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> dict[str, Any]:
    """The newest result rows."""
    return reading.result_rows(here.home, name, table, limit)


@router.get("/applications/{name}/why")
def why(
    name: Name,
    here: Here,
    _: Viewer,
    key: Annotated[list[str] | None, Query(max_length=16)] = None,
    join: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> dict[str, Any]:
    """What became of the left rows with a key."""
    return reading.why(here.home, name, key or [], join, limit)


@router.get("/applications/{name}/output")
def output(name: Name, here: Here, _: Viewer) -> Response:
    """The end of what the application's process has printed."""
    return Response(reading.log_tail(here.home, _found(here, name).name), media_type="text/plain")


@router.get("/alarms")
def alarms(here: Here, _: Viewer) -> list[dict[str, Any]]:
    """The alarms that ring now."""
    return [asdict(held) for held in here.bell.ringing]


class Muted(BaseModel):
    application: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]{0,99}|\*)$")]
    alarm: Annotated[str, Field(pattern=r"^([a-z_]{1,40}|\*)$")]
    hours: Annotated[float, Field(ge=0, le=10_000)]


@router.post("/alarms/mute", status_code=204)
def mute_alarm(to: Muted, here: Here, caller: Deployer) -> None:
    """Let an alarm hold without ringing, for some hours; 0: let it ring again."""
    mute(here.home, to.application, to.alarm, to.hours)
    record(here.home, Event(to.application, "muted", f"{to.alarm} for {to.hours:g} hours", caller.name))


@router.get("/log")
def categories(here: Here, _: Viewer) -> list[dict[str, Any]]:
    return reading.categories(here.home)


@router.get("/log/{category}")
def category(
    category: str, here: Here, _: Viewer, limit: Annotated[int, Query(ge=0, le=1000)] = 20
) -> dict[str, Any]:
    """A category with its newest rows."""
    return reading.category(here.home, category, limit)


@router.post("/log/{category}", status_code=201)
async def append(
    category: str,
    request: Request,
    here: Here,
    caller: Deployer,
    producer: Annotated[str | None, Header(max_length=200)] = None,
    sequence: Annotated[int | None, Header(ge=0)] = None,
) -> dict[str, Any]:
    """Append rows to a category: JSON lines, or an Arrow stream. With a producer and a sequence the same rows
    enter once, however often they are sent."""
    if (producer is None) != (sequence is None):
        raise InputError("a producer and a sequence go together", expected="both headers, or none")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    body = await reading.body_of(request)
    return await asyncio.to_thread(reading.append, here.home, category, kind, body, producer, sequence)


@router.get("/stream")
async def live(here: Here, _: Viewer, request: Request) -> StreamingResponse:
    """All applications again and again, as server-sent events."""

    async def figures() -> AsyncIterator[str]:
        while not await request.is_disconnected():
            found = await asyncio.to_thread(overviews, here.home, here.keeper)
            yield f"event: applications\ndata: {json.dumps([each.to_json() for each in found])}\n\n"
            await asyncio.sleep(LIVE_S)

    return StreamingResponse(figures(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _found(here: Daemon, name: str) -> Overview:
    found = overview(here.home, name, here.keeper)
    if found is None:
        raise StateError(f"there is no application {name}", where=here.home, hint="GET /api/v1/applications")
    return found


def _said(here: Daemon, wanted: Wanted) -> dict[str, Any]:
    here.wake()
    return _found(here, wanted.application).to_json()


def _tag(wanted: Wanted) -> str:
    return f'"{wanted.revision}"'


def _seen(if_match: str | None) -> int | None:
    """The revision that a caller has seen."""
    if if_match is None or if_match == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isdigit():
        raise InputError("If-Match has no revision", where="If-Match", expected='an ETag such as "7"')
    return int(text)
