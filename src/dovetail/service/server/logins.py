"""Who makes a request: by a token, or by a session and, where something changes, its secret.

Laws. A request that changes something and comes with a session must also carry the session's own secret,
which no other site can know, and must not come from another site. A user who is blocked, or whose token was
dropped, is refused at the next request. Passwords can only be tried slowly.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response

from dovetail.service.access.caller import Caller
from dovetail.service.access.passwords import is_password
from dovetail.service.access.people import read_access
from dovetail.service.access.roles import NotKnown, Refused, TooMany
from dovetail.service.access.tokens import find_token
from dovetail.service.server.ledger import SESSION_S
from dovetail.service.server.state import Daemon, daemon_of

COOKIE = "dovetail_session"
CSRF_HEADER, CSRF_FIELD = "x-csrf", "csrf"
SAFE = ("GET", "HEAD", "OPTIONS")
WINDOW_S = 300.0
MOST_TRIES = {"user": 30, "address": 50, "both": 5}
"""Failed log-ins within five minutes: of one name from one address, of an address, of a name."""


async def caller_of(request: Request) -> Caller:
    """Who makes a request, by its token or its session."""
    daemon = daemon_of(request)
    given = request.headers.get("authorization", "")
    if given.lower().startswith("bearer "):
        caller = await asyncio.to_thread(_by_token, daemon, given[7:].strip(), address_of(request))
    else:
        caller = await asyncio.to_thread(_by_session, daemon, request)
        if request.method not in SAFE:
            require_own_page(request)
            if await _secret(request) != caller.csrf:
                raise Refused(
                    "this request does not come from a page of this service",
                    expected="the secret of your session",
                    hint="load the page again and repeat what you did",
                )
    request.state.caller = caller
    return caller


def log_in(daemon: Daemon, user: str, password: str, address: str) -> str:
    """A session's secret; the same error for a wrong name and a wrong password, after the same time."""
    both = f"both {user[:100]} {address}"
    keys = {"both": both, "address": f"address {address}", "user": f"user {user[:100]}"}
    since_s = time.time() - WINDOW_S
    for kind, key in keys.items():
        if daemon.ledger.tries(key, since_s) >= MOST_TRIES[kind]:
            raise TooMany(
                "there were too many log-ins that failed",
                expected="a pause of five minutes",
                hint="`dovetail user password NAME` sets a password that was forgotten",
            )
    known = read_access(daemon.home).user(user)
    active = known is not None and known.active
    if not is_password(known.password if known and active else None, password):
        daemon.ledger.tried(*keys.values())
        raise NotKnown("the name or the password is wrong", expected="a user with a password")
    daemon.ledger.forget_tries(both)
    return daemon.ledger.new_session(user, "password")


def give_cookie(daemon: Daemon, answer: Response, secret: str) -> None:
    secure = daemon.address.startswith("https://")
    answer.set_cookie(
        COOKIE, secret, max_age=SESSION_S, httponly=True, samesite="strict", path="/", secure=secure
    )


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def require_own_page(request: Request) -> None:
    """Browsers say where a request comes from."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    foreign = origin is not None and urlsplit(origin).netloc not in daemon_of(request).hosts
    if foreign or site in ("cross-site", "same-site"):
        raise Refused("this request comes from another site", expected="a page of this service")


def _by_token(daemon: Daemon, given: str, address: str) -> Caller:
    token = find_token(daemon.home, given)
    access = read_access(daemon.home)
    user = access.user(token.user) if token is not None and token.user is not None else None
    if token is None or (token.user is not None and (user is None or not user.active)):
        raise NotKnown(
            "the token is not valid", expected="a token from `dovetail token new` that has not expired"
        )
    return Caller(
        token.user or token.name,
        access,
        local=token.user is None,
        limit=token.role,
        scope=token.scope,
        way="token",
        address=address,
    )


def _by_session(daemon: Daemon, request: Request) -> Caller:
    session = daemon.ledger.session(request.cookies.get(COOKIE, ""))
    access = read_access(daemon.home)
    if session is not None:
        user, address = access.user(session.user), address_of(request)
        if session.way == "link" and daemon.links:
            return Caller(session.user, access, local=True, csrf=session.csrf, address=address)
        groups = frozenset(session.groups)
        if session.way == "oidc" and (user is None or (user.oidc and user.active)):
            return Caller(session.user, access, groups, csrf=session.csrf, way="oidc", address=address)
        if session.way == "password" and user is not None and user.active:
            return Caller(session.user, access, csrf=session.csrf, way="password", address=address)
    raise NotKnown(
        "you are not logged in",
        expected="a session or a token",
        hint="open the link that `dovetail serve` prints; `dovetail serve --link` prints a new one"
        if daemon.links
        else "log in with your name and password",
    )


async def _secret(request: Request) -> str | None:
    said = request.headers.get(CSRF_HEADER)
    kind = request.headers.get("content-type", "")
    if said is None and kind.startswith("application/x-www-form-urlencoded"):
        form: Mapping[str, Any] = await request.form()
        return str(form.get(CSRF_FIELD))
    return said
