"""`/api/v1`, the part about how applications are kept: where they run, and what would go with one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from dovetail.service.keeping import verbs
from dovetail.service.keeping.removal import belongings
from dovetail.service.server.api import Deployer, Here, IfMatch, Name, Viewer, _said, _seen

router = APIRouter(prefix="/api/v1")


class Place(BaseModel):
    """`pool`: with others in one process. `own`: in a process of its own, on any Spark master."""

    where: Literal["pool", "own"]
    master: Annotated[str, Field(max_length=1000)] = ""


@router.post("/applications/{name}/place")
def place(name: Name, to: Place, here: Here, caller: Deployer, if_match: IfMatch = None) -> dict[str, Any]:
    """Move it into a pool, or out of one. It goes on where it was."""
    revision = _seen(if_match)
    return _said(here, verbs.place(here.home, name, to.where, to.master, by=caller.name, revision=revision))


@router.get("/applications/{name}/belongings")
def what_goes(name: Name, here: Here, _: Viewer) -> list[str]:
    """What would be removed with it, a day after its deletion."""
    return belongings(here.home, name)
