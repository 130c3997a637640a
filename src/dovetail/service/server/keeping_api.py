"""`/api/v1`, the part about how applications are kept: where they run, how much they may take, who scales
them, and what would go with one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from dovetail.service.keeping import quotas, verbs
from dovetail.service.keeping.events import Event, record
from dovetail.service.keeping.removal import belongings
from dovetail.service.scaler.decisions import decisions
from dovetail.service.server import reading
from dovetail.service.server.api import (
    Deployer,
    Everywhere,
    Here,
    IfMatch,
    Name,
    Viewer,
    _found,
    _said,
    _seen,
)

router = APIRouter(prefix="/api/v1")
Owner = Annotated[str, Field(pattern=r"^[A-Za-z0-9_@-][A-Za-z0-9_.@-]{0,99}$")]


class QuotaLimits(BaseModel):
    """What is left out, or null, is not limited."""

    memory_bytes: Annotated[int | None, Field(ge=0, le=1 << 60)] = None
    rows_per_s: Annotated[int | None, Field(ge=0, le=1 << 60)] = None
    tasks: Annotated[int | None, Field(ge=0, le=1 << 20)] = None


@router.get("/quotas")
def all_quotas(here: Here, _: Everywhere) -> list[dict[str, Any]]:
    return [asdict(quota) for quota in quotas.quotas(here.home).values()]


@router.put("/quotas/{owner}")
def set_quota(owner: Owner, to: QuotaLimits, here: Here, caller: Everywhere) -> dict[str, Any]:
    """What the applications of an owner may take together. Those beyond it are held."""
    quota = quotas.Quota(owner, to.memory_bytes, to.rows_per_s, to.tasks)
    quotas.set_quota(here.home, quota)
    record(here.home, Event("*", "quota", f"{owner}: {quotas.words(quota)}", caller.name))
    here.wake()
    return asdict(quota)


class ScalerMode(BaseModel):
    mode: Literal["act", "advise", "off"]


@router.post("/applications/{name}/scaler")
def scaler(name: Name, to: ScalerMode, here: Here, caller: Deployer) -> dict[str, Any]:
    """Whether the service changes the number of tasks by itself, or only says what it would do."""
    return _said(here, verbs.let_scale(here.home, name, to.mode, by=caller.name))


@router.get("/applications/{name}/scaler")
def decided(name: Name, here: Here, _: Viewer) -> list[dict[str, Any]]:
    """What the scaler has decided, newest first, with its reasons."""
    return [reading.plain_row(row) for row in decisions(here.home, name)]


class WantedPlace(BaseModel):
    """`pool`: with others in one process. `own`: in a process of its own, on any Spark master."""

    where: Literal["pool", "own"]
    master: Annotated[str, Field(max_length=1000)] = ""


@router.post("/applications/{name}/place")
def place(
    name: Name, to: WantedPlace, here: Here, caller: Deployer, if_match: IfMatch = None
) -> dict[str, Any]:
    """Move it into a pool, or out of one. It goes on where it was. A master is a place that code is sent to:
    only an admin of everything names one."""
    if to.master:
        caller.require("admin")
    revision = _seen(if_match)
    return _said(here, verbs.place(here.home, name, to.where, to.master, by=caller.name, revision=revision))


@router.get("/applications/{name}/belongings")
def what_goes(name: Name, here: Here, _: Viewer) -> list[str]:
    """What would be removed with it, a day after its deletion."""
    return belongings(here.home, _found(here, name).name)
