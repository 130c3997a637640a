"""`application.json`: the plan that an application was started with, without what may change between runs."""

from __future__ import annotations

from typing import Any

from dovetail.errors import CorruptFile, StateError
from dovetail.log import document
from dovetail.log.filesystem import open_store
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import JoinStage, Plan

KIND, VERSION = "dovetail.application", 1
_TUNING = {"tasks", "max_step_rows", "warnings", "pacing", "validity", "splits_hot_keys"}
"""Parts of a plan that may change from run to run: they do not touch the state."""
_STAND_INS = {"tasks": None, "max_step_rows": 1}
"""What takes the place of those that a join cannot be without, when a plan is read back."""
_REMEDY = "restore it from a copy of the home, or start the application in a new home"


def application_path(application: str) -> str:
    return f"apps/{application}/application.json"


def stable(plan: Plan) -> dict[str, Any]:
    """What may not change as long as there is state."""
    made: dict[str, Any] = _without_tuning(plan.to_json())
    return made


def encode(plan: Plan) -> bytes:
    return document.encode(KIND, VERSION, {"application": plan.application, "plan": stable(plan)})


def decode(data: bytes, *, where: str) -> Any:
    """The stable part of the plan in a file's bytes."""
    return document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY).get("plan")


def read_application(home: str, application: str) -> Plan:
    """The plan of an application that was started in this home."""
    store, path = open_store(home), application_path(application)
    where = f"{store.root}/{path}"
    try:
        data = store.read(path)
    except FileNotFoundError:
        there = sorted(name for name in store.folders("apps") if store.size(application_path(name)))
        raise StateError(
            f"there is no application {application}",
            where=store.root,
            expected=f"one that was started in this home: {', '.join(there) or 'none yet'}",
            hint=did_you_mean(application, there, listed=True) or "--home or DOVETAIL_HOME chooses the home",
        ) from None
    found = decode(data, where=where)
    try:
        stages = [
            {**_STAND_INS, **stage} if stage["kind"] == JoinStage.__name__ else stage
            for stage in found["stages"]
        ]
        return Plan.from_json({**found, "stages": stages})
    except (KeyError, TypeError) as error:
        raise CorruptFile(f"this is not a plan: {error}", where=where, hint=_REMEDY) from None


def _without_tuning(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_tuning(part) for name, part in value.items() if name not in _TUNING}
    if isinstance(value, list):
        return [_without_tuning(part) for part in value]
    return value
