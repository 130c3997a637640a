"""`application.json`: the plan of an application's last run, and which parts of it may not change."""

from __future__ import annotations

from typing import Any

from dovetail.errors import CorruptFile, DovetailError, StateError, UnknownVersion
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import Plan

KIND, VERSION = "dovetail.application", 2
_TUNING = {
    "tasks",
    "max_step_rows",
    "warnings",
    "pacing",
    "validity",
    "splits_hot_keys",
    "history_us",
    "idle_timeout_us",
    "promises",
    "inherits",
    "left_inherits",
    "right_inherits",
    "confirmed_by",
}
"""Parts of a plan that may change from run to run, because they do not affect the state."""
_REMEDY = "restore it from a copy of the home, or start the application in a new home"


def application_path(application: str) -> str:
    return f"apps/{application}/application.json"


def stable(plan: Plan) -> dict[str, Any]:
    """The parts that may not change while there is state."""
    made: dict[str, Any] = _without_tuning(plan.to_json())
    return made


def encode(plan: Plan) -> bytes:
    return document.encode(KIND, VERSION, {"application": plan.application, "plan": plan.to_json()})


def decode(data: bytes, *, where: str) -> Plan:
    """The plan in a file's bytes."""
    body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        return Plan.from_json(body.get("plan"))
    except UnknownVersion as error:
        raise UnknownVersion(error.what, where=where, expected=error.expected, hint=error.hint) from None
    except DovetailError as error:  # a part of a plan that its own class refuses
        raise CorruptFile(error.what, where=where, hint=_REMEDY) from None


def list_applications(home: str) -> list[str]:
    """The applications that were started in this home, by name."""
    store = open_store(home)
    return sorted(name for name in store.folders("apps") if store.size(application_path(name)))


def read_application(home: str, application: str) -> Plan:
    """The plan of an application that was started in this home."""
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
    plan = decode(data, where=where)
    if plan.application != application:
        raise CorruptFile(f"the file belongs to application {plan.application}", where=where, hint=_REMEDY)
    return plan


def _without_tuning(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_tuning(part) for name, part in value.items() if name not in _TUNING}
    if isinstance(value, list):
        return [_without_tuning(part) for part in value]
    return value
