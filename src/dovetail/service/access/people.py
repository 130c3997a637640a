"""Users, groups, what they may do and what their queries may reach: one document in the home for each
revision, none ever changed.

    service/access/00000003.json    users with hashed passwords, grants, reaches

Law: the newest revision counts, and a revision is made only if its number is free. Of two admins who change
it at once the second gets an error. Without users, anybody who can open the daemon's link is its admin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from dovetail.errors import CorruptFile, InputError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.access.roles import EVERYTHING, FUNCTIONS, ROLES, Role

KIND, VERSION = "dovetail.access", 1
FOLDER = "service/access"
KEPT = 50
LOCAL = "admin"
"""Somebody who logged in with the daemon's link, and so can read the home itself."""
RESERVED = (LOCAL, "service", "everybody")
_NAME = re.compile(r"(\d{8})\.json")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,99}")
_PATTERN = re.compile(r"[A-Za-z0-9_*]{1,100}")
_REMEDY = "delete the file: the revision before it counts then"


@dataclass(frozen=True)
class User:
    """`password`: an argon2 hash; None: by OIDC or token only. `groups`: their names, without `@`."""

    name: str
    password: str | None = None
    oidc: bool = False
    groups: tuple[str, ...] = ()
    active: bool = True


@dataclass(frozen=True)
class Grant:
    """`who`: a user, or `@group`. `application`: a name, or a pattern such as `ads_*`."""

    who: str
    application: str
    role: str

    def is_for(self, application: str) -> bool:
        return self.application == EVERYTHING or fnmatchcase(application, self.application)


@dataclass(frozen=True)
class Reach:
    """What queries of a user or a group may read and write; see `reach.py` for how places are written."""

    who: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    revision: int = 0
    users: tuple[User, ...] = ()
    grants: tuple[Grant, ...] = ()
    reaches: tuple[Reach, ...] = ()

    def user(self, name: str) -> User | None:
        return next((user for user in self.users if user.name == name), None)

    def names_of(self, name: str, more_groups: Iterable[str] = ()) -> frozenset[str]:
        """A user's name and `@groups`: what grants and reaches may name. Empty for a blocked user."""
        user = self.user(name)
        if user is not None and not user.active:
            return frozenset()
        groups = {*(user.groups if user else ()), *more_groups}
        return frozenset({name, *(f"@{group}" for group in groups)})

    def role(self, names: frozenset[str], application: str) -> Role | None:
        """The highest that was granted; of `*`, what was granted for all applications."""
        found = [
            ROLES.index(grant.role)
            for grant in self.grants
            if grant.who in names and grant.role in ROLES and grant.is_for(application)
        ]
        return ROLES[max(found)] if found else None

    def may_have_functions(self, names: frozenset[str], application: str) -> bool:
        return any(
            grant.who in names and grant.role == FUNCTIONS and grant.is_for(application)
            for grant in self.grants
        )


def read_access(home: str) -> Access:
    numbers = _numbers(home)
    return _read(home, numbers[-1]) if numbers else Access()


def change(home: str, change: Callable[[Access], Access], revision: int | None = None) -> Access:
    """Write what follows from a change. An error if somebody else was faster."""
    store, before = open_store(home), read_access(home)
    if revision is not None and revision != before.revision:
        raise _raced(before.revision)
    after = replace(change(before), revision=before.revision + 1)
    if (after.users, after.grants, after.reaches) == (before.users, before.grants, before.reaches):
        return before
    if before.users and not _admins(after):
        raise StateError(
            "nobody would be left who may change users",
            expected="one active user with the role admin for all applications",
            hint="grant it to somebody else first",
        )
    store.make_folder(FOLDER)
    if not store.create(_path(after.revision), document.encode(KIND, VERSION, asdict(after))):
        raise _raced(after.revision)
    for number in _numbers(home)[:-KEPT]:
        store.delete(_path(number))
    return after


def add_user(access: Access, user: User) -> Access:
    if not _USER.fullmatch(user.name) or user.name.lower() in RESERVED:
        raise InputError(
            f"{user.name[:120]!r} cannot be the name of a user",
            expected=f"letters, digits and any of `_.@+-`, at most 100; not {', '.join(RESERVED)}",
        )
    if access.user(user.name) is not None:
        raise StateError(f"there is a user {user.name} already", expected="a name that is free")
    return replace(access, users=(*access.users, user))


def change_user(access: Access, name: str, **changed: Any) -> Access:
    known_user(access, name)
    users = (replace(user, **changed) if user.name == name else user for user in access.users)
    return replace(access, users=tuple(users))


def remove_user(access: Access, name: str) -> Access:
    known_user(access, name)
    return replace(
        access,
        users=tuple(user for user in access.users if user.name != name),
        grants=tuple(grant for grant in access.grants if grant.who != name),
        reaches=tuple(reach for reach in access.reaches if reach.who != name),
    )


def grant(access: Access, who: str, role: str, application: str = EVERYTHING) -> Access:
    if role not in (*ROLES, FUNCTIONS):
        raise InputError(f"there is no role {role!r}", expected=f"one of {', '.join((*ROLES, FUNCTIONS))}")
    if not _PATTERN.fullmatch(application):
        raise InputError(
            f"{application[:120]!r} names no applications", expected="a name, or a pattern such as ads_*"
        )
    known_who(access, who)
    made = Grant(who, application, role)
    return access if made in access.grants else replace(access, grants=(*access.grants, made))


def revoke(access: Access, who: str, role: str, application: str = EVERYTHING) -> Access:
    left = tuple(one for one in access.grants if one != Grant(who, application, role))
    if left == access.grants:
        raise StateError(f"{who} does not have the role {role} for {application}")
    return replace(access, grants=left)


def set_reach(access: Access, who: str, read: Iterable[str], write: Iterable[str]) -> Access:
    """Instead of what was there. Without any place: no reach of its own."""
    from dovetail.service.access.places import pattern_of

    known_who(access, who)
    made = Reach(who, tuple(map(pattern_of, read)), tuple(map(pattern_of, write)))
    others = tuple(one for one in access.reaches if one.who != who)
    return replace(access, reaches=(*others, made) if made.read or made.write else others)


def known_user(access: Access, name: str) -> User:
    found = access.user(name)
    if found is None:
        names = ", ".join(user.name for user in access.users) or "none yet"
        raise StateError(f"there is no user {name}", expected=f"one of: {names}")
    return found


def known_who(access: Access, who: str) -> None:
    """A user, or a group. A group is there as soon as it is named: OIDC may bring its members."""
    if who.startswith("@"):
        if not _USER.fullmatch(who[1:]):
            raise InputError(f"{who[:120]!r} cannot be the name of a group", expected="@ and a name")
    else:
        known_user(access, who)


def shown(access: Access) -> dict[str, Any]:
    """All of it but the hashes of passwords."""
    found = asdict(access)
    for user in found["users"]:
        user["password"] = user["password"] is not None
    return found


def _admins(access: Access) -> list[User]:
    return [user for user in access.users if access.role(access.names_of(user.name), EVERYTHING) == "admin"]


def _raced(revision: int) -> StateError:
    return StateError(
        "users were changed by somebody else meanwhile",
        where=f"revision {revision}",
        hint="look at them again, and repeat your change if it still makes sense",
    )


def _path(number: int) -> str:
    return f"{FOLDER}/{number:08d}.json"


def _numbers(home: str) -> list[int]:
    names = [entry.name for entry in open_store(home).files(FOLDER)]
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


@lru_cache(maxsize=8)
def _read(home: str, number: int) -> Access:
    """Kept: every request asks, and a revision never changes."""
    store = open_store(home)
    where = f"{store.root}/{_path(number)}"
    body = document.decode(store.read(_path(number)), KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        fields = said.fields(body, Access.__dataclass_fields__)
        found = Access(
            said.whole(fields["revision"], 1),
            tuple(_user(one) for one in said.items(fields["users"])),
            tuple(_grant(one) for one in said.items(fields["grants"])),
            tuple(_reach(one) for one in said.items(fields["reaches"])),
        )
        if found.revision != number:
            raise ValueError(f"it is revision {found.revision}")
    except ValueError as error:
        raise CorruptFile(f"the file names no access: {error}", where=where, hint=_REMEDY) from error
    return found


def _user(body: Any) -> User:
    fields = said.fields(body, User.__dataclass_fields__)
    password = None if fields["password"] is None else said.text(fields["password"])
    flags = said.flag(fields["oidc"]), said.flag(fields["active"])
    return User(said.text(fields["name"]), password, flags[0], _texts(fields["groups"]), flags[1])


def _grant(body: Any) -> Grant:
    fields = said.fields(body, Grant.__dataclass_fields__)
    found = Grant(*(said.text(fields[name]) for name in ("who", "application", "role")))
    if found.role not in (*ROLES, FUNCTIONS):
        raise ValueError(f"{found.role!r} is not a role")
    return found


def _reach(body: Any) -> Reach:
    fields = said.fields(body, Reach.__dataclass_fields__)
    return Reach(said.text(fields["who"]), _texts(fields["read"]), _texts(fields["write"]))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(said.text(one) for one in said.items(value))
