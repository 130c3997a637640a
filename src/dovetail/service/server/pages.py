"""The portal: pages made on the server. They can be read without JavaScript; with it figures stay current,
and a query is checked while it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import dovetail
from dovetail.errors import DovetailError, InputError, StateError
from dovetail.service import units
from dovetail.service.access.caller import Caller
from dovetail.service.dry_run import dry_run
from dovetail.service.keeping import verbs
from dovetail.service.keeping.events import events
from dovetail.service.keeping.landing import Landing, land
from dovetail.service.keeping.removal import belongings
from dovetail.service.server import reading
from dovetail.service.server.api import (
    Author,
    CategoryName,
    Deployer,
    Here,
    Known,
    Name,
    Viewer,
    readable,
    require_category,
    require_own,
    require_role,
    unknown,
    visible,
)
from dovetail.service.server.live_graph import draw_live
from dovetail.service.server.overview import Overview, overview
from dovetail.service.server.pinned import PINNED
from dovetail.service.server.problems import status_of
from dovetail.service.server.state import Daemon
from dovetail.service.server.time_line import draw_fates

T = TypeVar("T")
Begins = Annotated[str, Form(max_length=1000)]
Reslice = Annotated[str, Form(max_length=10)]
router = APIRouter(include_in_schema=False)
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.globals.update(version=dovetail.__version__, pinned=PINNED)
_TEMPLATES.filters.update(
    mark=lambda error: _mark(error.where),
    count=lambda value: "—" if value is None else units.count(round(value)),
    size=lambda value: "—" if value is None else units.size(value),
    span=units.span,
    instant=units.instant,
    share=units.share,
    path=lambda value: quote(str(value), safe=""),
)
FIRST = """CREATE APPLICATION clicks;

CREATE INPUT TABLE clicks (eventtime TIMESTAMP, ad_id BIGINT, user_id BIGINT)
FROM SCRIBE("clicks");

CREATE INPUT TABLE impressions (eventtime TIMESTAMP, ad_id BIGINT, campaign STRING)
FROM SCRIBE("impressions");

CREATE VIEW clicked AS
SELECT c.eventtime AS eventtime, c.ad_id AS ad_id, i.campaign AS campaign
FROM clicks AS c LEFT OUTER JOIN impressions AS i
  ON c.ad_id = i.ad_id AND
     i.eventtime BETWEEN c.eventtime - INTERVAL '10 minutes' AND c.eventtime + INTERVAL '30 seconds';

CREATE TABLE result AS
SELECT eventtime, ad_id, campaign FROM clicked
STORAGE SCRIBE (category = "clicked");
"""
"""What the editor begins with: a whole application, to be changed."""


class SaidWith(TypedDict):
    """What goes with a query: see `Wanted`."""

    begins: list[str]
    reslice: bool


_PLACE = re.compile(r"query:(\d+):(\d+)\n.*\n\s*\| *(\^+)", re.DOTALL)


def _mark(where: str | None) -> dict[str, int] | None:
    """Line, column and length of what an error is about, if it is in the text."""
    found = _PLACE.match(where or "")
    return {"line": int(found[1]), "column": int(found[2]), "length": len(found[3])} if found else None


def is_page(request: Request) -> bool:
    return not request.url.path.startswith(("/api/", "/static/", "/healthz", "/readyz", "/metrics"))


def show(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    caller: Caller | None = values.pop("caller", None)
    page = _TEMPLATES.get_template(template).render(
        request=request, caller=caller, csrf=caller.csrf if caller else "", **values
    )
    return HTMLResponse(page, status)


def error_page(request: Request, error: DovetailError, status: int) -> Response:
    return show(request, "error.html", status, error=error)


@router.get("/")
def home(request: Request, here: Here, caller: Known) -> Response:
    found = visible(here, caller)
    return show(request, "home.html", caller=caller, found=found, bell=here.bell, home=here.home)


@router.get("/fragments/applications")
def home_fragment(request: Request, here: Here, caller: Known) -> Response:
    found = visible(here, caller)
    return show(request, "applications.html", caller=caller, found=found, bell=here.bell)


@router.get("/new")
def new(request: Request, here: Here, caller: Known) -> Response:
    landing = land(here.home, FIRST, owner=caller.owner)
    return _editor(request, caller, FIRST, None, None, landing)


@router.get("/applications/{name}/edit")
def edit(
    request: Request,
    name: Name,
    here: Here,
    caller: Author,
    advice: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> Response:
    """The query as it is, or as a piece of advice would have it."""
    found = _found(here, name)
    if found.wanted is None:
        raise StateError(
            f"{name} was started by hand", hint="deploy its query here to let the service run it"
        )
    text = found.wanted.text if advice is None else _advised(here.home, name, found.wanted.text, advice)
    return _editor(request, caller, text, name, found.wanted.revision, land(here.home, text, name))


@router.post("/fragments/check")
def check(
    request: Request,
    here: Here,
    caller: Known,
    text: Annotated[str, Form()] = "",
    application: Annotated[str, Form(max_length=100)] = "",
    begins: Begins = "",
    reslice: Reslice = "",
) -> Response:
    if application:
        require_role(here, caller, "author", application)
    landing = land(here.home, text, application or None, caller.owner, **_said(begins, reslice))
    return show(request, "checked.html", caller=caller, landing=landing, drawing=_drawing(landing))


@router.post("/fragments/preview")
def preview_fragment(
    request: Request,
    here: Here,
    caller: Known,
    text: Annotated[str, Form()] = "",
    application: Annotated[str, Form(max_length=100)] = "",
    begins: Begins = "",
    reslice: Reslice = "",
) -> Response:
    found = _tried(here, caller, text, application, **_said(begins, reslice))
    return show(request, "tried.html", caller=caller, **found)


@router.post("/preview")
def preview(
    request: Request,
    here: Here,
    caller: Known,
    text: Annotated[str, Form()] = "",
    application: Annotated[str, Form(max_length=100)] = "",
    begins: Begins = "",
    reslice: Reslice = "",
) -> Response:
    """The same as a page, without JavaScript."""
    found = _tried(here, caller, text, application, **_said(begins, reslice))
    return show(request, "preview.html", caller=caller, text=text, application=application, **found)


@router.post("/deploy")
def deploy(
    request: Request,
    here: Here,
    caller: Known,
    text: Annotated[str, Form()] = "",
    application: Annotated[str, Form(max_length=100)] = "",
    begins: Begins = "",
    reslice: Reslice = "",
    revision: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """Deploys an editor's text, or shows the editor again with the errors."""
    seen, said = int(revision) if revision.isdigit() else None, _said(begins, reslice)
    try:
        require_own(here, caller, "deployer", text, application or verbs.name_in(text))
        request.state.deed = application or verbs.name_in(text) or ""
        wanted, _ = verbs.deploy(here.home, text, by=caller.name, revision=seen, owner=caller.owner, **said)
    except DovetailError as error:
        request.state.said = error.what
        landing = land(here.home, text, application or None, caller.owner, **said)
        status = status_of(error)
        return _editor(request, caller, text, application or None, seen, landing, error, status)
    here.wake()
    return RedirectResponse(f"/applications/{wanted.application}", 303)


@router.get("/applications/{name}")
def application(request: Request, name: Name, here: Here, caller: Viewer) -> Response:
    found = _found(here, name)
    landing = Landing(here.home, found.wanted.text if found.wanted else "", name)
    return show(
        request,
        "application.html",
        caller=caller,
        one=found,
        bell=here.bell,
        versions=_or_none(reading.versions, here.home, name) or [],
        events=events(here.home, name, 30),
        drawing=_drawing(landing),
        graph=_or_none(draw_live, here.home, name, found.figures),
        goes=belongings(here.home, name),
        output=reading.log_tail(here.home, name),
    )


@router.get("/fragments/applications/{name}")
def application_fragment(request: Request, name: Name, here: Here, caller: Viewer) -> Response:
    found = _found(here, name)
    graph = _or_none(draw_live, here.home, name, found.figures)
    return show(request, "figures.html", caller=caller, one=found, bell=here.bell, graph=graph)


@router.get("/fragments/secret")
def secret(caller: Known) -> Response:
    """For pages that stay open: the session goes on, and this is its secret."""
    return JSONResponse({"csrf": caller.csrf})


@router.get("/applications/{name}/rows")
def rows(request: Request, name: Name, here: Here, caller: Viewer, table: str | None = None) -> Response:
    found = _found(here, name)
    made = reading.result_rows(here.home, name, table, 50)
    return show(request, "rows.html", caller=caller, one=found, table=table or "", **made)


@router.get("/fragments/applications/{name}/rows")
def rows_fragment(
    request: Request, name: Name, here: Here, caller: Viewer, table: str | None = None
) -> Response:
    made = reading.result_rows(here.home, name, table or None, 50)
    return show(request, "rows_table.html", caller=caller, **made)


@router.get("/applications/{name}/aside")
def aside(request: Request, name: Name, here: Here, caller: Viewer) -> Response:
    found = reading.rows_aside(here.home, name)
    return show(request, "aside.html", caller=caller, one=_found(here, name), found=found)


@router.get("/applications/{name}/diff")
def diff(
    request: Request,
    name: Name,
    here: Here,
    caller: Viewer,
    old: Annotated[int, Query(ge=1, le=10**9)],
    new: Annotated[int, Query(ge=1, le=10**9)],
) -> Response:
    made = reading.difference(here.home, name, old, new)
    return show(request, "diff.html", caller=caller, one=_found(here, name), **made)


@router.get("/applications/{name}/why")
def why(
    request: Request,
    name: Name,
    here: Here,
    caller: Viewer,
    key: Annotated[list[str] | None, Query(max_length=16)] = None,
    join: str | None = None,
) -> Response:
    found = _found(here, name)
    answer = reading.why(here.home, name, key, join or None, 20) if key else None
    drawing = draw_fates(answer) if answer else None
    return show(request, "why.html", caller=caller, one=found, key=key or [], answer=answer, drawing=drawing)


@router.post("/applications/{name}/do")
def do(
    request: Request,
    name: Name,
    here: Here,
    caller: Deployer,
    verb: Annotated[str, Form()],
    revision: Annotated[str, Form()] = "",
    value: Annotated[str, Form()] = "",
) -> Response:
    """A button of the application's page."""
    request.state.deed = f"{verb} {value}".strip()
    seen = int(revision) if revision.isdigit() else None
    match verb:
        case "start":
            verbs.start(here.home, name, by=caller.name, revision=seen)
        case "stop":
            verbs.stop(here.home, name, by=caller.name, revision=seen)
        case "restart":
            verbs.restart(here.home, name, by=caller.name, revision=seen)
        case "rollback":
            number = int(value) if value.isdigit() else None
            verbs.rollback(here.home, name, number, by=caller.name, revision=seen)
        case "scale":
            verbs.scale(here.home, name, value, by=caller.name)
        case "delete":
            require_role(here, caller, "admin", name)
            verbs.delete(here.home, name, by=caller.name, revision=seen)
        case "restore":
            require_role(here, caller, "admin", name)
            verbs.restore(here.home, name, by=caller.name)
        case _:
            raise InputError(f"there is no button {verb!r}", expected="a button of the page")
    here.wake()
    return RedirectResponse("/" if verb == "delete" else f"/applications/{name}", 303)


@router.get("/log")
def log(request: Request, here: Here, caller: Known) -> Response:
    found = reading.categories(here.home, readable(here, caller))
    return show(request, "log.html", caller=caller, found=found)


@router.get("/log/{category}")
def category(request: Request, category: CategoryName, here: Here, caller: Known) -> Response:
    require_category(here, caller, category)
    return show(request, "category.html", caller=caller, one=reading.category(here.home, category, 50))


def _found(here: Daemon, name: str) -> Overview:
    found = overview(here.home, name, here.keeper)
    if found is None:
        raise unknown(name)
    return found


def _editor(
    request: Request,
    caller: Caller,
    text: str,
    application: str | None,
    revision: int | None,
    landing: Landing,
    error: DovetailError | None = None,
    status: int = 200,
) -> Response:
    return show(
        request,
        "editor.html",
        status,
        caller=caller,
        text=text,
        application=application or "",
        revision=revision or "",
        begins=", ".join(landing.begins),
        reslice=landing.reslice,
        landing=landing,
        drawing=_drawing(landing),
        error=error,
    )


def _drawing(landing: Landing) -> str | None:
    """The plan of a query as a picture; None: there is no plan."""
    from dovetail.pql.parser import parse
    from dovetail.service.server.plan_picture import draw_plan

    if not landing.may_look:
        return None
    if landing.plan is None and landing.text:
        try:
            program = parse(landing.text, name="query")
        except DovetailError:
            return None
        return _or_none(draw_plan, program, landing.home)
    return None if landing.program is None else _or_none(draw_plan, landing.program, landing.home)


def _advised(home: str, application: str, text: str, number: int) -> str:
    from dovetail.service.advised import following, numbered_advice

    chosen = [one for one in numbered_advice(home, application) if one.number == number]
    if not chosen:
        raise StateError(f"there is no advice {number} for {application}", hint="it may have changed by now")
    return following(home, application, text, "query", chosen)


def _said(begins: str, reslice: str) -> SaidWith:
    """What goes with a query, as its author has filled it in."""
    return {"begins": [one.strip() for one in begins.split(",") if one.strip()], "reslice": bool(reslice)}


def _tried(
    here: Daemon, caller: Caller, text: str, application: str, **said: Unpack[SaidWith]
) -> dict[str, Any]:
    """A dry run of a text that would be accepted, or its errors."""
    if application:
        require_role(here, caller, "author", application)
    try:
        land(here.home, text, application or None, caller.owner, **said).require()
        return {"tried": dry_run(here.home, text), "error": None}
    except DovetailError as error:
        return {"tried": None, "error": error}


def _or_none(function: Callable[..., T], *arguments: Any) -> T | None:
    """A part that cannot be shown is left out, so that the rest of the page is still shown."""
    try:
        return function(*arguments)
    except DovetailError:
        return None
