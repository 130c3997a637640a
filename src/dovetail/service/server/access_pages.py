"""The portal's pages about people: users, groups, roles and reaches for admins of everything, and tokens for
everybody. What they do is what `dovetail user`, `access` and `token` do.

Laws. A token's secret is in one answer and nowhere else. Users who are not admins of everything see, make and
drop only their own tokens, which allow no more than they themselves may. A token cannot make tokens: a
limited one could make itself an unlimited one.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from dovetail.errors import DovetailError, InputError, StateError
from dovetail.service.access import people
from dovetail.service.access.caller import Caller
from dovetail.service.access.passwords import hashed
from dovetail.service.access.people import Access, User
from dovetail.service.access.roles import EVERYTHING, FUNCTIONS, ROLES, Refused
from dovetail.service.access.tokens import Token, drop_token, list_tokens, new_token
from dovetail.service.server.api import Everywhere, Here, Known
from dovetail.service.server.pages import show
from dovetail.service.server.problems import status_of
from dovetail.service.server.state import Daemon

router = APIRouter(include_in_schema=False)
MOST_DAYS = 3_650.0
Short = Annotated[str, Form(max_length=200)]
Long = Annotated[str, Form(max_length=10_000)]


@router.get("/access")
def access(request: Request, here: Here, caller: Everywhere) -> Response:
    return _access(request, here, caller)


@router.post("/access/do")
def change_access(
    request: Request,
    here: Here,
    caller: Everywhere,
    verb: Short,
    revision: Short,
    name: Short = "",
    password: Annotated[str, Form(max_length=1_000)] = "",
    groups: Long = "",
    way: Short = "",
    role: Short = "",
    application: Short = EVERYTHING,
    read: Long = "",
    write: Long = "",
) -> Response:
    """A button of the page. If it fails, the error comes back with the page."""
    request.state.deed = f"{verb} {name} {role} {application if role else ''}".strip()
    words, places = tuple(groups.replace("@", " ").replace(",", " ").split()), (read.split(), write.split())

    def wanted(before: Access) -> Access:
        match verb:
            case "add":
                return _added(before, User(name, _password(way, password), way == "oidc", words), role)
            case "password":
                return people.change_user(before, name, password=hashed(password))
            case "groups":
                return people.change_user(before, name, groups=words)
            case "keep out" | "let in":
                return people.change_user(before, name, active=verb == "let in")
            case "remove":
                return people.remove_user(before, name)
            case "grant":
                return people.grant(before, name, role, application)
            case "revoke":
                return people.revoke(before, name, role, application)
            case "reach":
                return people.set_reach(before, name, *places)
        raise InputError(f"there is no button {verb!r}", expected="a button of the page")

    try:
        if not revision.isdigit():
            raise InputError("the page did not send the revision that it showed", expected="a number")
        people.change(here.home, wanted, int(revision))
    except DovetailError as error:
        request.state.said = error.what
        return _access(request, here, caller, error)
    if verb in ("password", "keep out", "remove"):
        here.ledger.end_sessions(name)
    return RedirectResponse("/access", 303)


@router.get("/tokens")
def tokens(request: Request, here: Here, caller: Known) -> Response:
    return _tokens(request, here, caller)


@router.post("/tokens/new")
def make_token(
    request: Request,
    here: Here,
    caller: Known,
    name: Annotated[str, Form(min_length=1, max_length=100)],
    role: Short = "viewer",
    days: Annotated[float, Form(gt=0, le=MOST_DAYS)] = 90.0,
    scope: Long = EVERYTHING,
    user: Short = "",
) -> Response:
    """The answer shows the secret, this once."""
    request.state.deed = f"for {name}: {role} of {scope}"
    try:
        _require_session(caller)
        if role not in ROLES:
            raise InputError(f"there is no role {role!r}", expected=f"one of {', '.join(ROLES)}")
        whose = _whose(here, caller, user)
        secret = new_token(here.home, name, role, days, tuple(scope.split()), whose)
    except DovetailError as error:
        request.state.said = error.what
        return _tokens(request, here, caller, error=error)
    return _tokens(request, here, caller, secret=secret)


@router.post("/tokens/drop")
def revoke_token(request: Request, here: Here, caller: Known, number: Short) -> Response:
    request.state.deed = number
    _require_session(caller)
    if number not in {token.id for token in _seen(here, caller)}:
        raise StateError(f"there is no token {number}", hint="the list shows all that are yours")
    drop_token(here.home, number)
    return RedirectResponse("/tokens", 303)


def _added(before: Access, user: User, role: str) -> Access:
    if not before.users and role != "admin":
        raise StateError("the first user must be an admin", hint="choose the role admin for this one")
    after = people.add_user(before, user)
    return people.grant(after, user.name, role) if role else after


def _password(way: str, given: str) -> str | None:
    """Those who log in elsewhere, or not at all, have none."""
    return hashed(given) if way == "password" else None


def _whose(here: Daemon, caller: Caller, user: str) -> str | None:
    """For the caller. An admin of everything may also make them for others, and for the home itself."""
    if caller.may("admin"):
        found = people.read_access(here.home)
        return people.known_user(found, user).name if user else None
    if user not in ("", caller.name):
        raise Refused(f"{caller.name} may not make tokens for {user}", expected="a token of your own")
    return people.known_user(caller.access, caller.name).name


def _require_session(caller: Caller) -> None:
    if caller.csrf is None:
        raise Refused("a token cannot make or drop tokens", expected="a user who has logged in")


def _seen(here: Daemon, caller: Caller) -> list[Token]:
    everything = caller.may("admin")
    return [token for token in list_tokens(here.home) if everything or token.user == caller.name]


def _tokens(
    request: Request, here: Daemon, caller: Caller, secret: str = "", error: DovetailError | None = None
) -> Response:
    return show(
        request,
        "tokens.html",
        status_of(error) if error else 200,
        caller=caller,
        found=_seen(here, caller),
        now_us=time.time_ns() // 1000,
        users=[user.name for user in caller.access.users] if caller.may("admin") else [],
        roles=ROLES,
        secret=secret,
        error=error,
    )


def _access(request: Request, here: Daemon, caller: Caller, error: DovetailError | None = None) -> Response:
    found = people.read_access(here.home)
    values: dict[str, Any] = {
        "found": found,
        "groups": _groups(found),
        "roles": (*ROLES, FUNCTIONS),
        "error": error,
    }
    return show(request, "access.html", status_of(error) if error else 200, caller=caller, **values)


def _groups(found: Access) -> dict[str, list[str]]:
    """Each group that users are in, or that something was granted to, with its members."""
    who = {*(one.who for one in found.grants), *(one.who for one in found.reaches)}
    named = {name[1:] for name in who if name.startswith("@")}
    named |= {group for user in found.users for group in user.groups}
    return {group: [user.name for user in found.users if group in user.groups] for group in sorted(named)}
