"""How users log in and out: the link, a password, an identity provider."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from dovetail.errors import DovetailError
from dovetail.service.access import oidc
from dovetail.service.access.audit import Deed, audit
from dovetail.service.access.people import LOCAL, read_access
from dovetail.service.access.roles import NotKnown, Refused, TooMany
from dovetail.service.server.api import Here, Known
from dovetail.service.server.ledger import LINK_S, Journey
from dovetail.service.server.logins import (
    COOKIE,
    address_of,
    give_cookie,
    log_in,
    require_own_page,
)
from dovetail.service.server.pages import show
from dovetail.service.server.problems import status_of
from dovetail.service.server.state import Daemon, daemon_of

router = APIRouter(include_in_schema=False)
JOURNEY = "dovetail_journey"
BACK = "/oidc/back"


@router.get("/login")
def enter(
    request: Request,
    here: Here,
    link: Annotated[str, Query(max_length=200)] = "",
    back: Annotated[str, Query(max_length=500)] = "/",
) -> Response:
    """A link works once: it becomes a session."""
    if not link:
        return _form(request, here, back)
    secret = here.ledger.log_in(link) if here.links else None
    if secret is None:
        return _form(request, here, back, "This link was used already, or is too old.", 403)
    audit(here.home, Deed(LOCAL, "link", "logged in", address=address_of(request)))
    return _inside(here, secret, back)


@router.post("/login")
def password(
    request: Request,
    here: Here,
    user: Annotated[str, Form(max_length=100)] = "",
    given: Annotated[str, Form(max_length=1_000, alias="password")] = "",
    back: Annotated[str, Form(max_length=500)] = "/",
) -> Response:
    require_own_page(request)
    address = address_of(request)
    try:
        secret = log_in(here, user, given, address)
    except (NotKnown, TooMany) as error:
        if isinstance(error, NotKnown):
            audit(here.home, Deed(user, "password", "logged in", outcome=error.what, address=address))
        answer = _form(request, here, back, error.what, status_of(error))
        if isinstance(error, TooMany):
            answer.headers["Retry-After"] = "300"
        return answer
    audit(here.home, Deed(user, "password", "logged in", address=address))
    return _inside(here, secret, back)


@router.get("/oidc")
def set_out(here: Here, back: Annotated[str, Query(max_length=500)] = "/") -> Response:
    provider = _provider(here)
    journey = oidc.begin(provider, here.address + BACK)
    here.ledger.set_out(journey.state, Journey(journey.nonce, journey.verifier, own(back)))
    answer = RedirectResponse(journey.address, 303)
    secure = here.address.startswith("https://")
    # lax: the provider's page leads back here, which is a way from another site
    answer.set_cookie(
        JOURNEY, journey.state, max_age=LINK_S, httponly=True, samesite="lax", path=BACK, secure=secure
    )
    return answer


@router.get(BACK)
def come_back(
    request: Request,
    here: Here,
    code: Annotated[str, Query(max_length=4_000)] = "",
    state: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    provider, address = _provider(here), address_of(request)
    journey = here.ledger.come_back(state) if state and state == request.cookies.get(JOURNEY) else None
    name = "unknown"
    try:
        if journey is None or not code:
            raise Refused("this log-in did not begin in this browser, or took too long")
        name, groups = oidc.finish(provider, here.address + BACK, code, journey.nonce, journey.verifier)
        oidc.let_in(read_access(here.home), name, groups)
    except DovetailError as error:
        audit(here.home, Deed(name, "oidc", "logged in", outcome=error.what, address=address))
        return _form(request, here, "/", error.what, status_of(error))
    audit(here.home, Deed(name, "oidc", "logged in", address=address))
    # A page, not a redirect: a strict cookie does not go along on a way that began on another site.
    page = show(request, "arrived.html", back=journey.back)
    give_cookie(here, page, here.ledger.new_session(name, "oidc", groups))
    page.delete_cookie(JOURNEY, path=BACK)
    return page


@router.post("/logout")
def log_out(request: Request, here: Here, _: Known) -> Response:
    here.ledger.log_out(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


async def not_logged_in(request: Request) -> Response:
    """What a page shows without a valid session. A part of a page that refreshes itself says so in its place;
    a text that somebody has written comes back, to be copied."""
    here = daemon_of(request)
    if request.url.path.startswith("/fragments/"):
        return show(request, "expired.html", 401)
    text = ""
    if request.method == "POST" and "form" in request.headers.get("content-type", ""):
        text = str((await request.form()).get("text", ""))[: 1 << 20]
    back = request.url.path if request.method == "GET" else "/"
    return await asyncio.to_thread(_form, request, here, back, "", 401, text)


def own(back: str) -> str:
    """A page of this service to go to, and never another address, whatever was asked for."""
    fine = back.startswith("/") and not back.startswith("//") and "\\" not in back and back.isprintable()
    return back if fine else "/"


def _inside(here: Daemon, secret: str, back: str) -> Response:
    answer = RedirectResponse(own(back), 303)
    give_cookie(here, answer, secret)
    return answer


def _form(
    request: Request, here: Daemon, back: str, said: str = "", status: int = 200, text: str = ""
) -> HTMLResponse:
    return show(
        request,
        "login.html",
        status,
        said=said,
        back=own(back),
        text=text,
        links=here.links,
        passwords=any(user.password for user in read_access(here.home).users),
        provider=oidc.read_provider(here.home),
    )


def _provider(here: Daemon) -> oidc.Provider:
    found = oidc.read_provider(here.home)
    if found is None:
        raise Refused("there is no identity provider here", hint="`dovetail access oidc` names one")
    return found
