"""How much of the machine the applications of an owner may take together, and those of everybody.

    service/quotas/<owner>.json       memory of join state, rows per second, tasks
    service/quotas/everybody.json     the same for all that run here; without it, most of the memory

Law: an owner's applications that run never need more than the quota. If they do, the one that was changed
last is held, then the one before, until the others fit. One that is held keeps what it has seen and its last
figures, and goes on when the quota or the others leave room. The machine and other owners do not notice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from dovetail.errors import CorruptFile, InputError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.memory import machine_bytes
from dovetail.service.units import size

KIND, VERSION = "dovetail.quota", 1
FOLDER = "service/quotas"
EVERYBODY = "everybody"
"""All owners together, on this machine."""
JOINS_SHARE = 0.7
"""Share of the machine's memory that join state may take unless somebody says otherwise."""
_OWNER = re.compile(r"[A-Za-z0-9_.@-]{1,100}")
_REMEDY = "set the quota again with `dovetail service quota`, or delete the file: nothing is limited then"


class QuotaError(StateError):
    """An owner's applications would take more than they may."""

    condition = "QUOTA_EXCEEDED"


@dataclass(frozen=True)
class Quota:
    """None: not limited."""

    owner: str
    memory_bytes: int | None = None
    rows_per_s: int | None = None
    tasks: int | None = None


@dataclass(frozen=True)
class Usage:
    """What an application takes, or will take by its estimate. `since_us`: when it was changed last. `here`:
    on this machine, and not on a cluster."""

    application: str
    since_us: int
    memory_bytes: int = 0
    rows_per_s: float = 0.0
    tasks: int = 0
    here: bool = True


def set_quota(home: str, quota: Quota) -> None:
    if not _OWNER.fullmatch(quota.owner) or quota.owner.startswith("."):
        raise InputError(f"{quota.owner[:120]!r} cannot be an owner", expected="letters, digits and . _ @ -")
    for name in ("memory_bytes", "rows_per_s", "tasks"):
        value = getattr(quota, name)
        if value is not None and value < 0:
            raise InputError(f"a quota cannot be {value}", where=name, expected="zero or more")
    store = open_store(home)
    store.make_folder(FOLDER)
    store.replace(f"{FOLDER}/{quota.owner}.json", document.encode(KIND, VERSION, asdict(quota)))


def drop_quota(home: str, owner: str) -> None:
    open_store(home).delete(f"{FOLDER}/{owner}.json")


def quotas(home: str) -> dict[str, Quota]:
    """By owner."""
    store = open_store(home)
    names = [entry.name for entry in store.files(FOLDER) if entry.name.endswith(".json")]
    found = [_read(home, name) for name in sorted(names)]
    return {quota.owner: quota for quota in found if quota is not None}


def words(quota: Quota) -> str:
    parts = [
        f"{size(quota.memory_bytes)} of join state" if quota.memory_bytes is not None else "",
        f"{quota.rows_per_s:,} rows/s" if quota.rows_per_s is not None else "",
        f"{quota.tasks} tasks" if quota.tasks is not None else "",
    ]
    return ", ".join(filter(None, parts)) or "no limit"


def exceeded(quota: Quota, used: Sequence[Usage]) -> str | None:
    """Which part of a quota the applications together exceed, in words."""
    who = "all applications" if quota.owner == EVERYBODY else quota.owner
    memory, rate = sum(one.memory_bytes for one in used), sum(one.rows_per_s for one in used)
    tasks = sum(one.tasks for one in used)
    if quota.memory_bytes is not None and memory > quota.memory_bytes:
        return f"{size(memory)} of join state, and {who} may have {size(quota.memory_bytes)}"
    if quota.rows_per_s is not None and rate > quota.rows_per_s:
        return f"{rate:,.0f} rows/s, and {who} may have {quota.rows_per_s:,}"
    if quota.tasks is not None and tasks > quota.tasks:
        return f"{tasks} tasks, and {who} may have {quota.tasks}"
    return None


def held(known: Mapping[str, Quota], used: Mapping[str, Sequence[Usage]]) -> dict[str, str]:
    """Which applications are held, and why. `used`: by owner, all that should run, also those held now."""
    found: dict[str, str] = {}
    for owner, quota in sorted(known.items(), key=lambda each: each[0] == EVERYBODY):
        among = used.get(owner, ()) if owner != EVERYBODY else _left_here(used, found)
        running = sorted(among, key=lambda one: (one.since_us, one.application))
        while running and (over := exceeded(quota, running)) is not None:
            found[running.pop().application] = f"together they would take {over}"
    return found


def _left_here(used: Mapping[str, Sequence[Usage]], held: Mapping[str, str]) -> list[Usage]:
    return [one for each in used.values() for one in each if one.here and one.application not in held]


def _read(home: str, name: str) -> Quota | None:
    path = f"{FOLDER}/{name}"
    where = f"{open_store(home).root}/{path}"
    try:
        body = document.decode(open_store(home).read(path), KIND, VERSION, where=where, remedy=_REMEDY)
        fields = said.fields(body, Quota.__dataclass_fields__)
        limits = {
            part: None if fields[part] is None else said.whole(fields[part])
            for part in ("memory_bytes", "rows_per_s", "tasks")
        }
        owner = said.text(fields["owner"])
        if f"{owner}.json" != name:
            raise ValueError(f"it is that of {owner}")
        return Quota(owner, **limits)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise CorruptFile(f"the file is not a quota: {error}", where=where, hint=_REMEDY) from error


def allowed(home: str, owner: str) -> Quota:
    """An owner's quota; if it cannot be read, deploying a query is an error."""
    return limits(home).get(owner) or Quota(owner)


def limits(home: str) -> dict[str, Quota]:
    """By owner, with the quota of everybody together, which may be the default."""
    whole = Quota(EVERYBODY, memory_bytes=round(JOINS_SHARE * machine_bytes()))
    return {EVERYBODY: whole, **quotas(home)}
