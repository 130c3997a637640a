"""Connects the scaler with the applications that the service keeps: how many tasks one may have, and the
events about it."""

from __future__ import annotations

from dovetail.engine.masters import is_cluster, local_cores
from dovetail.errors import DovetailError
from dovetail.service.keeping.events import Event, record
from dovetail.service.keeping.presence import master_of
from dovetail.service.keeping.quotas import allowed
from dovetail.service.keeping.usage import usages
from dovetail.service.keeping.wanted import Wanted
from dovetail.service.scaler.decide import DOWN_AFTER_S
from dovetail.service.scaler.decisions import Decided
from dovetail.service.scaler.loop import History, Scaler

SEEN_S = DOWN_AFTER_S + 120.0
UNKNOWN_CORES = 64
"""A cluster has as many as it has: Spark queues what does not fit."""
SCALER = "scaler"


def scale_look(home: str, scaler: Scaler, wanted: Wanted, history: History, now_s: float) -> list[Decided]:
    """Let the scaler look at an application. Its decision becomes an event of the application."""
    pooled = wanted.place == "pool"
    try:
        most = most_tasks(home, wanted)
        found = scaler.look(wanted.application, wanted.scaler, pooled, most, history, now_s)
    except DovetailError as error:
        record(home, Event(wanted.application, "scaler", f"it cannot decide: {error.what}", SCALER))
        return []
    for one in found:
        record(home, Event(one.application, "scaled" if one.made else "advised", words(one), SCALER))
    return found


def words(decided: Decided) -> str:
    said = decided.verdict
    if said.direction == "hold" or decided.join.startswith("slicers"):
        return f"{decided.join}: {said.reason}"
    verb = "from" if decided.made else "should go from"
    return f"{decided.join} {verb} {decided.before} to {said.tasks} tasks: {said.reason}"


def most_tasks(home: str, wanted: Wanted) -> tuple[int, str]:
    """How many tasks a join may have, and by what: the cores of its master, or what is left of the quota."""
    master, name = master_of(wanted), wanted.application
    most = (UNKNOWN_CORES, "what Spark allows") if is_cluster(master) else (local_cores(master), "cores")
    quota = allowed(home, wanted.owner).tasks
    if quota is None:
        return most
    others = sum(one.tasks for one in usages(home).get(wanted.owner, ()) if one.application != name)
    left = max(1, quota - others)
    return (left, f"the quota of {wanted.owner}") if left < most[0] else most
