"""`application.json`: the plan of an application, which of its versions that is, and which parts of a plan
say nothing about its meaning."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.errors import CorruptFile, DovetailError, StateError, UnknownVersion
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import Plan

KIND, VERSION = "dovetail.application", 3
READ = (2, VERSION)
"""Until version 3 an application had one plan for ever: its first."""
_TUNING = {
    "tasks",
    "max_step_rows",
    "warnings",
    "pacing",
    "validity",
    "splits_hot_keys",
    "history_us",
    "history_bytes",
    "idle_timeout_us",
    "promises",
    "inherits",
    "left_inherits",
    "right_inherits",
    "confirmed_by",
    "query",
    "reading",
    "begun",
    "filled",
    "whole",
}
"""Parts of a plan that may change from run to run, because they do not affect the state."""
_REMEDY = "restore it from a copy of the home, or start the application in a new home"


def application_path(application: str) -> str:
    return f"apps/{application}/application.json"


class Current(NamedTuple):
    plan: Plan
    version: int


def stable(plan: Plan) -> dict[str, Any]:
    """The parts that may not change while there is state."""
    made: dict[str, Any] = _without_tuning(plan.to_json())
    return made


def encode(plan: Plan, version: int = 1) -> bytes:
    body = {"application": plan.application, "version": version, "plan": plan.to_json()}
    return document.encode(KIND, VERSION, body)


def decode(data: bytes, *, where: str) -> Current:
    """What a file's bytes say."""
    body = document.decode(data, KIND, READ, where=where, remedy=_REMEDY)
    try:
        return Current(Plan.from_json(body.get("plan")), json_values.whole(body.get("version", 1), 1))
    except UnknownVersion as error:
        raise UnknownVersion(error.what, where=where, expected=error.expected, hint=error.hint) from None
    except DovetailError as error:  # a part of a plan that its own class refuses
        raise CorruptFile(error.what, where=where, hint=_REMEDY) from None
    except ValueError as error:
        raise CorruptFile(f"the file does not say its version: {error}", where=where, hint=_REMEDY) from None


def list_applications(home: str) -> list[str]:
    """The applications that were started in this home, by name."""
    store = open_store(home)
    return sorted(name for name in store.folders("apps") if store.size(application_path(name)))


def read_application(home: str, application: str) -> Plan:
    """The plan of an application that was started in this home."""
    return read_current(home, application).plan


def read_current(home: str, application: str) -> Current:
    """The same, and which version it is."""
    store, path = open_store(home), application_path(application)
    where = f"{store.root}/{path}"
    try:
        data = store.read(path)
    except FileNotFoundError:
        there = list_applications(home)
        raise StateError(
            f"there is no application {application}",
            where=store.root,
            expected=f"one that was started in this home: {', '.join(there) or 'none yet'}",
            hint=did_you_mean(application, there, listed=True) or "--home or DOVETAIL_HOME chooses the home",
        ) from None
    current = decode(data, where=where)
    if current.plan.application != application:
        what = f"the file belongs to application {current.plan.application}"
        raise CorruptFile(what, where=where, hint=_REMEDY)
    return current


def difference(found: Any, wanted: Any, path: str = "plan") -> str:
    """The first place where two plans differ."""
    if type(found) is type(wanted) and isinstance(found, dict):
        for name in [*found, *wanted]:
            if found.get(name) != wanted.get(name):
                return difference(found.get(name), wanted.get(name), f"{path}.{name}")
    if type(found) is type(wanted) and isinstance(found, list) and len(found) == len(wanted):
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if one != other:
                return difference(one, other, f"{path}[{number}]")
    return f"{path} was {found!r}, is now {wanted!r}"


def _without_tuning(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_tuning(part) for name, part in value.items() if name not in _TUNING}
    if isinstance(value, list):
        return [_without_tuning(part) for part in value]
    return value
