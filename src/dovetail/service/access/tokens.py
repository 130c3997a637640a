"""Tokens for programs: hashed, with a role, a scope and an end. Documents in the home, `service/tokens/`.

Law: a token allows no more than its role, and nothing outside its scope. If it belongs to a user, it allows
no more than that user's current rights.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.errors import DovetailError, InputError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.access.roles import EVERYTHING, ROLES, Role

KIND, VERSIONS = "dovetail.token", (1, 2)
"""Before version 2 a token had no scope and belonged to nobody."""
FOLDER = "service/tokens"
_REMEDY = "delete the file, and make another token with `dovetail token`"
_PATTERN = re.compile(r"[A-Za-z0-9_*]{1,100}")


@dataclass(frozen=True)
class Token:
    """`scope`: patterns of application names. `user`: its owner; None: it belongs to the home itself."""

    id: str
    name: str
    role: Role
    hash: str
    ends_us: int
    scope: tuple[str, ...] = (EVERYTHING,)
    user: str | None = None


def new_token(
    home: str,
    name: str,
    role: Role,
    days: float,
    scope: tuple[str, ...] = (EVERYTHING,),
    user: str | None = None,
) -> str:
    """Make a token and give its secret, which is kept nowhere."""
    if role not in ROLES:
        raise StateError(f"there is no role {role!r}", expected=f"one of {', '.join(ROLES)}")
    if not scope or not all(_PATTERN.fullmatch(one) for one in scope):
        raise InputError("a token's scope names no applications", expected="names, or patterns such as ads_*")
    number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    ends_us = time.time_ns() // 1000 + round(days * 86_400_000_000)
    token = Token(number, name, role, _hash(secret), ends_us, scope, user)
    store = open_store(home)
    store.make_folder(FOLDER)
    store.replace(f"{FOLDER}/{number}.json", document.encode(KIND, VERSIONS[-1], asdict(token)))
    return f"{number}.{secret}"


def list_tokens(home: str) -> list[Token]:
    names = [entry.name.removesuffix(".json") for entry in open_store(home).files(FOLDER)]
    return [token for name in sorted(names) if (token := _read(home, name)) is not None]


def drop_token(home: str, number: str) -> Token:
    token = _read(home, number) if number.isalnum() else None
    if token is None:
        raise StateError(f"there is no token {number}", hint="`dovetail token list` shows them")
    open_store(home).delete(f"{FOLDER}/{number}.json")
    return token


def find_token(home: str, given: str) -> Token | None:
    """The token of a secret, before its end."""
    number, _, secret = given.partition(".")
    token = _read(home, number) if number.isascii() and number.isalnum() else None
    if token is None or token.ends_us < time.time_ns() // 1000:
        return None
    return token if secrets.compare_digest(token.hash, _hash(secret)) else None


def _hash(secret: str) -> str:
    """Secrets are random and long, so a plain hash keeps them."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(home: str, number: str) -> Token | None:
    path = f"{FOLDER}/{number}.json"
    try:
        body = document.decode(open_store(home).read(path), KIND, VERSIONS, where=path, remedy=_REMEDY)
        found = _token({"scope": [EVERYTHING], "user": None, **body})
        return found if found.id == number else None
    except (FileNotFoundError, DovetailError, ValueError):
        return None  # a token that cannot be read opens nothing


def _token(body: dict[str, Any]) -> Token:
    fields = said.fields(body, Token.__dataclass_fields__)
    texts = {name: said.text(fields[name]) for name in ("id", "name", "role", "hash")}
    if texts["role"] not in ROLES:
        raise ValueError(f"{texts['role']!r} is not a role")
    scope = tuple(said.text(one) for one in said.items(fields["scope"]))
    user = None if fields["user"] is None else said.text(fields["user"])
    ends_us = said.time_us(fields["ends_us"])
    return Token(**texts, ends_us=ends_us, scope=scope, user=user)  # type: ignore[arg-type]
