"""Roles, and the two errors of access.

    viewer     sees an application: its figures, rows, versions, events
    author     checks and creates it, not started
    deployer   deploys, starts, changes and stops it
    admin      deletes and restores it, and gives it to somebody else

Each role includes those before it. `functions` is separate: a function is arbitrary code, so the owner of an
application needs this role to deploy a query that has one, whatever else they may do.
"""

from __future__ import annotations

from typing import Literal, get_args

from dovetail.errors import DovetailError

Role = Literal["viewer", "author", "deployer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
FUNCTIONS = "functions"
EVERYTHING = "*"


class Refused(DovetailError):
    """The caller may not do this."""

    condition = "NOT_ALLOWED"


class NotKnown(DovetailError):
    """The caller is not known."""

    condition = "NOT_LOGGED_IN"


class TooMany(DovetailError):
    """Too many wrong passwords."""

    condition = "TOO_MANY_TRIES"


def at_least(found: Role | None, wanted: Role) -> bool:
    return found is not None and ROLES.index(found) >= ROLES.index(wanted)


def lower(one: Role | None, other: Role) -> Role | None:
    return None if one is None else ROLES[min(ROLES.index(one), ROLES.index(other))]
