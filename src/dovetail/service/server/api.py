"""`/api/v1`: what the command line can do, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from dovetail.errors import CategoryNotFound, DovetailError, InputError, StateError
from dovetail.service.access.caller import Caller
from dovetail.service.access.roles import EVERYTHING, Refused, Role
from dovetail.service.alarms.settings import mute
from dovetail.service.keeping import verbs
from dovetail.service.keeping.events import Event, events, record
from dovetail.service.keeping.landing import land
from dovetail.service.keeping.wanted import Wanted, find_wanted
from dovetail.service.server import reading
from dovetail.service.server.logins import caller_of
from dovetail.service.server.overview import Overview, overview, overviews
from dovetail.service.server.problems import problem
from dovetail.service.server.state import Daemon, daemon_of

router = APIRouter(prefix="/api/v1")
LIVE_S = 2.0


Here = Annotated[Daemon, Depends(daemon_of)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
CategoryName = Annotated[str, Field(min_length=1, max_length=200)]


def allowed(role: Role) -> Any:
    """A caller with at least this role for the application in the address. To those who may not even see it,
    it is not there."""

    def require(
        request: Request, name: Name, here: Here, caller: Annotated[Caller, Depends(caller_of)]
    ) -> Caller:
        require_role(here, caller, role, name)
        return caller

    return Depends(require)


def require_role(here: Daemon, caller: Caller, role: Role, name: str) -> None:
    wanted = find_wanted(here.home, name)
    owner = wanted.owner if wanted else None
    if not caller.may("viewer", name, owner):
        raise unknown(name)
    caller.require(role, name, owner)


def unknown(name: str) -> StateError:
    return StateError(f"there is no application {name}", hint="the list shows all that you may see")


def everywhere(role: Role) -> Any:
    """A caller with at least this role for all applications."""

    def require(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
        caller.require(role)
        return caller

    return Depends(require)


Known = Annotated[Caller, Depends(caller_of)]
Viewer = Annotated[Caller, allowed("viewer")]
Author = Annotated[Caller, allowed("author")]
Deployer = Annotated[Caller, allowed("deployer")]
Admin = Annotated[Caller, allowed("admin")]
Everywhere = Annotated[Caller, everywhere("admin")]
IfMatch = Annotated[str | None, Header(alias="If-Match", max_length=100)]


class Said(BaseModel):
    """What goes with a changed query, as `--from` and `--reslice` of `dovetail run`: where inputs begin whose
    source has changed (`clicks=earliest`), and whether joins begin afresh."""

    begins: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)] = []
    reslice: bool = False


class QueryText(Said):
    """A PQL text."""

    text: Annotated[str, Field(max_length=1 << 20)]


class Rollback(Said):
    version: Annotated[int | None, Field(ge=1)] = None


class Scale(BaseModel):
    tasks: Annotated[str, Field(pattern=r"^(auto|[0-9]{1,2})$")]


class Clone(BaseModel):
    name: Name


@router.get("/applications")
def list_all(here: Here, caller: Known) -> list[dict[str, Any]]:
    """All applications that the caller may see."""
    return [one.to_json() for one in visible(here, caller)]


@router.post("/applications", status_code=201)
def create(query: QueryText, here: Here, caller: Known) -> dict[str, Any]:
    """A new application, checked and not started."""
    require_own(here, caller, "author", query.text)
    return _said(here, verbs.create(here.home, query.text, by=caller.name, owner=caller.owner))


@router.post("/check")
def check(query: QueryText, here: Here, caller: Known, application: Name | None = None) -> dict[str, Any]:
    """Every rule of landing, without touching anything."""
    if application is not None:
        require_role(here, caller, "author", application)
    landing = land(
        here.home,
        query.text,
        application,
        caller.owner,
        begins=query.begins,
        reslice=query.reslice,
    )
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
    name: Name, query: QueryText, here: Here, caller: Known, response: Response, if_match: IfMatch = None
) -> dict[str, Any]:
    """Let the application run this query. With `If-Match` nothing is done if somebody was faster."""
    require_own(here, caller, "deployer", query.text, name)
    wanted, landing = verbs.deploy(
        here.home,
        query.text,
        by=caller.name,
        revision=_seen(if_match),
        owner=caller.owner,
        begins=query.begins,
        reslice=query.reslice,
    )
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
    made = verbs.rollback(
        here.home,
        name,
        to.version,
        by=caller.name,
        revision=_seen(if_match),
        begins=to.begins,
        reslice=to.reslice,
    )
    return _said(here, made)


@router.post("/applications/{name}/scale")
def scale(name: Name, to: Scale, here: Here, caller: Deployer) -> dict[str, Any]:
    verbs.scale(here.home, name, to.tasks, by=caller.name)
    return _found(here, name).to_json()


@router.post("/applications/{name}/clone", status_code=201)
def clone(name: Name, to: Clone, here: Here, caller: Viewer) -> dict[str, Any]:
    """The same query under another name, which belongs to the caller."""
    caller.require("author", to.name)
    return _said(here, verbs.clone(here.home, name, to.name, by=caller.name, owner=caller.owner))


class Give(BaseModel):
    owner: Annotated[str, Field(min_length=1, max_length=101)]


@router.post("/applications/{name}/give")
def give(name: Name, to: Give, here: Here, caller: Admin, if_match: IfMatch = None) -> dict[str, Any]:
    """Another owner: a user, or `@group`."""
    return _said(here, verbs.give(here.home, name, to.owner, by=caller.name, revision=_seen(if_match)))


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
def alarms(here: Here, caller: Known) -> list[dict[str, Any]]:
    """The alarms that ring now, of applications that the caller may see."""
    seen = {one.name for one in visible(here, caller)}
    return [asdict(held) for held in here.bell.ringing if held.application in seen or caller.may("viewer")]


class Muted(BaseModel):
    application: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]{0,99}|\*)$")]
    alarm: Annotated[str, Field(pattern=r"^([a-z_]{1,40}|\*)$")]
    hours: Annotated[float, Field(ge=0, le=10_000)]


@router.post("/alarms/mute", status_code=204)
def mute_alarm(to: Muted, here: Here, caller: Known) -> None:
    """Let an alarm hold without ringing, for some hours; 0: let it ring again."""
    if to.application == "*":
        caller.require("deployer")
    else:
        require_role(here, caller, "deployer", to.application)
    mute(here.home, to.application, to.alarm, to.hours)
    record(here.home, Event(to.application, "muted", f"{to.alarm} for {to.hours:g} hours", caller.name))


@router.get("/log")
def categories(here: Here, caller: Known) -> list[dict[str, Any]]:
    """The categories that the caller may see."""
    return reading.categories(here.home, readable(here, caller))


@router.get("/log/{category}")
def category(
    category: CategoryName, here: Here, caller: Known, limit: Annotated[int, Query(ge=0, le=1000)] = 20
) -> dict[str, Any]:
    """A category with its newest rows."""
    require_category(here, caller, category)
    return reading.category(here.home, category, limit)


@router.post("/log/{category}", status_code=201)
async def append(
    category: CategoryName,
    request: Request,
    here: Here,
    caller: Known,
    producer: Annotated[str | None, Header(max_length=200)] = None,
    sequence: Annotated[int | None, Header(ge=0)] = None,
) -> dict[str, Any]:
    """Append rows to a category: JSON lines, or an Arrow stream. With a producer and a sequence the same rows
    enter once, however often they are sent."""
    if not caller.may_append(category):
        raise Refused(
            f"{caller.name} may not append to {category}",
            expected="the role deployer for all applications, or a category that you may write",
            hint=f"an admin can say `dovetail access reach {caller.owner} --write log:{category}`",
        )
    if (producer is None) != (sequence is None):
        raise InputError("a producer and a sequence go together", expected="both headers, or none")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    body = await request.body()
    return await asyncio.to_thread(reading.append, here.home, category, kind, body, producer, sequence)


@router.get("/stream")
async def live(here: Here, caller: Known, request: Request) -> StreamingResponse:
    """All applications again and again, as server-sent events, until the caller's session or token ends."""

    async def figures() -> AsyncIterator[str]:
        while not await request.is_disconnected():
            try:
                now = await caller_of(request)
            except DovetailError as error:
                yield f"event: end\ndata: {json.dumps(problem(error))}\n\n"
                return
            found = await asyncio.to_thread(visible, here, now)
            yield f"event: applications\ndata: {json.dumps([each.to_json() for each in found])}\n\n"
            await asyncio.sleep(LIVE_S)

    return StreamingResponse(figures(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def visible(here: Daemon, caller: Caller) -> list[Overview]:
    found = overviews(here.home, here.keeper)
    return [one for one in found if caller.may("viewer", one.name, one.wanted.owner if one.wanted else None)]


def readable(here: Daemon, caller: Caller) -> Callable[[str], bool]:
    """Which categories a caller may see: those of the applications that they may see, and those in reach."""
    seen = frozenset() if caller.may("viewer") else _shown(here, caller)
    names = () if caller.may("viewer") else tuple(f"{one.name}." for one in visible(here, caller))
    return lambda category: category.startswith(names) or caller.may_see(category, seen)


def require_category(here: Daemon, caller: Caller, category: str) -> None:
    if not readable(here, caller)(category):
        raise CategoryNotFound(f"there is no category {category}", hint="the list shows all that you may see")


def require_own(here: Daemon, caller: Caller, role: Role, text: str, name: str | None = None) -> None:
    """A query for an application that may not be there yet: the role for the name that it gives itself."""
    if name is not None and find_wanted(here.home, name) is not None:
        require_role(here, caller, role, name)
    elif name is not None:
        caller.require(role, name)
    found = verbs.name_in(text)
    if name is not None and found != name:
        land(here.home, text, name, caller.owner).require()
    elif name is None:
        caller.require(role, found or EVERYTHING)


def _shown(here: Daemon, caller: Caller) -> frozenset[str]:
    names = [one.name for one in visible(here, caller)]
    return frozenset(category for name in names for category in reading.written(here.home, name))


def _found(here: Daemon, name: str) -> Overview:
    found = overview(here.home, name, here.keeper)
    if found is None:
        raise unknown(name)
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
