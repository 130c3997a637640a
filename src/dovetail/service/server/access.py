"""Who may do what. On this machine's loopback address people come in by a link that works once, programs by a
token; there is no other way in.

    link      printed on the terminal of `dovetail serve`, turns into a session of twelve hours
    token     a document in the home with a hash, a role and an end; `dovetail token` makes one

Laws. A request that changes something and comes with a session must also carry the session's own secret,
which no other site can know. Requests for another host's name are refused, so that no foreign page reaches
this daemon by a name of its own.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from dovetail.errors import DovetailError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said

KIND, VERSION = "dovetail.token", 1
FOLDER = "service/tokens"
Role = Literal["viewer", "author", "deployer", "admin"]
"""viewer: sees everything. author: checks, creates. deployer: starts, changes and stops. admin: deletes."""
ROLES: tuple[Role, ...] = get_args(Role)
_REMEDY = "delete the file, and make another token with `dovetail token`"


class Refused(DovetailError):
    """Whoever asks may not do this."""

    condition = "NOT_ALLOWED"


class NotKnown(DovetailError):
    """Nobody has said who asks."""

    condition = "NOT_LOGGED_IN"


@dataclass(frozen=True)
class Caller:
    """Who makes a request. `csrf`: the secret that a change must carry; None: it came with a token."""

    name: str
    role: Role
    csrf: str | None = None

    def require(self, role: Role) -> None:
        if ROLES.index(self.role) < ROLES.index(role):
            raise Refused(
                f"{self.name} may not do this",
                expected=f"the role {role}",
                hint=f"{self.name} has the role {self.role}; ask an admin for a token",
            )


@dataclass(frozen=True)
class Token:
    id: str
    name: str
    role: Role
    hash: str
    ends_us: int


def new_token(home: str, name: str, role: Role, days: float) -> str:
    """Make a token and give its secret, which is kept nowhere."""
    if role not in ROLES:
        raise StateError(f"there is no role {role!r}", expected=f"one of {', '.join(ROLES)}")
    number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    ends_us = time.time_ns() // 1000 + round(days * 86_400_000_000)
    token = Token(number, name, role, _hash(secret), ends_us)
    store = open_store(home)
    store.make_folder(FOLDER)
    store.replace(f"{FOLDER}/{number}.json", document.encode(KIND, VERSION, asdict(token)))
    return f"{number}.{secret}"


def list_tokens(home: str) -> list[Token]:
    names = [entry.name.removesuffix(".json") for entry in open_store(home).files(FOLDER)]
    return [token for name in sorted(names) if (token := _read(home, name)) is not None]


def drop_token(home: str, number: str) -> None:
    if _read(home, number) is None:
        raise StateError(f"there is no token {number}", hint="`dovetail token list` shows them")
    open_store(home).delete(f"{FOLDER}/{number}.json")


def by_token(home: str, given: str) -> Caller | None:
    number, _, secret = given.partition(".")
    token = _read(home, number) if number.isalnum() else None
    if token is None or token.ends_us < time.time_ns() // 1000:
        return None
    return Caller(token.name, token.role) if secrets.compare_digest(token.hash, _hash(secret)) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(home: str, number: str) -> Token | None:
    path = f"{FOLDER}/{number}.json"
    try:
        body = document.decode(open_store(home).read(path), KIND, VERSION, where=path, remedy=_REMEDY)
        fields = said.fields(body, Token.__dataclass_fields__)
        texts = {name: said.text(fields[name]) for name in ("id", "name", "role", "hash")}
        if texts["id"] != number or texts["role"] not in ROLES:
            return None
        return Token(**texts, ends_us=said.time_us(fields["ends_us"]))  # type: ignore[arg-type]
    except (FileNotFoundError, DovetailError, ValueError):
        return None  # a token that cannot be read opens nothing
