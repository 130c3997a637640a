"""The actions on applications. The command line, the API and the portal call these, and nothing else.

Every verb takes its caller, and writes one revision of what is wanted and one event. The keeper does the
rest, whether it runs now or later. `revision` is the one that the caller has seen: if there is a newer one by
now, nothing is done.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from dovetail.errors import InputError, StateError
from dovetail.service.keeping.events import Event, record
from dovetail.service.keeping.landing import Landing, land
from dovetail.service.keeping.presence import still_said, version_of
from dovetail.service.keeping.quotas import Quota, QuotaError, Usage, allowed, exceeded
from dovetail.service.keeping.removal import belongings
from dovetail.service.keeping.usage import usages
from dovetail.service.keeping.wanted import RECOVERABLE_US, Place, State, Wanted, find_wanted, want, wanted_of
from dovetail.service.scaler.sample import Mode

_APPLICATION = re.compile(r"(\bCREATE\s+APPLICATION\s+)(\w+)", re.IGNORECASE)


def create(home: str, text: str, *, by: str, owner: str | None = None) -> Wanted:
    """A new application, checked and not started."""
    return _new(home, land(home, text, owner=owner or by), "created", by, "stopped")


def deploy(
    home: str,
    text: str,
    *,
    by: str,
    revision: int | None = None,
    owner: str | None = None,
    begins: Sequence[str] = (),
    reslice: bool = False,
) -> tuple[Wanted, Landing]:
    """Let an application run this query: a new application, or an existing one that continues with it.
    `begins`, `reslice`: see `Wanted`."""
    name = name_in(text)
    known = find_wanted(home, name) if name else None
    if known is None or known.state == "deleted":
        landing = land(home, text, owner=owner or by, begins=begins, reslice=reslice)
        return _new(home, landing, "deployed", by, "running"), landing
    _require_seen(known, revision)
    landing = land(home, text, known.application, begins=begins, reslice=reslice)
    landing.require()
    if (known.text, known.state) == (text, "running"):
        return known, landing
    words = "deployed" if not landing.changes else "deployed: " + "; ".join(landing.changes)[:2_000]
    placed, said = _placed(known, landing), {**_reserved(landing), **_said(landing)}
    made = known.next("deployed", by, state="running", text=text, place=placed, **said)
    return _want(home, made, words), landing


def start(home: str, application: str, *, by: str, revision: int | None = None) -> Wanted:
    known = _live(home, application, revision)
    if known.state == "running":
        return known
    begins, reslice = still_said(home, known)
    landing = land(home, known.text, application, begins=begins, reslice=reslice)
    landing.require()
    return _want(home, known.next("started", by, state="running", **_reserved(landing)), "started")


def stop(home: str, application: str, *, by: str, revision: int | None = None) -> Wanted:
    known = _live(home, application, revision)
    return (
        known
        if known.state == "stopped"
        else _want(home, known.next("stopped", by, state="stopped"), "stopped")
    )


def restart(home: str, application: str, *, by: str, revision: int | None = None) -> Wanted:
    known = _live(home, application, revision)
    again = known.next("restarted", by, state="running", restarts=known.restarts + 1)
    return _want(home, again, "restarted")


def rollback(
    home: str,
    application: str,
    number: int | None = None,
    *,
    by: str,
    revision: int | None = None,
    begins: Sequence[str] = (),
    reslice: bool = False,
) -> Wanted:
    """Back to the query of an earlier version: a change like any other."""
    from dovetail.changes.versions import read_version
    from dovetail.plan.application_file import read_current

    known = _live(home, application, revision)
    current = read_current(home, application).version
    wanted = number or read_version(home, application, current).parent
    text = read_version(home, application, wanted).text if wanted else None
    if text is None:
        raise StateError(
            f"application {application} has no query to go back to",
            expected="an earlier version that was a PQL text",
            hint=f"`dovetail versions {application}` lists them",
        )
    landing = land(home, text, application, begins=begins, reslice=reslice)
    landing.require()
    deed, said = f"rolled back to version {wanted}", {**_reserved(landing), **_said(landing)}
    return _want(home, known.next(deed, by, state="running", text=text, **said), deed)


def place(
    home: str, application: str, where: Place, master: str = "", *, by: str, revision: int | None = None
) -> Wanted:
    """Let an application share a Spark driver with others, or have a process of its own, on any Spark master.
    If it runs, it goes on there where it is."""
    known = _live(home, application, revision)
    if where == "pool" and master:
        raise InputError(
            "a pool has the Spark master of the service",
            where=f"master {master}",
            expected="no master with a pool",
            hint="give the application a process of its own",
        )
    if where == "pool" and known.place != "pool":
        landing = land(home, known.text, application)
        if landing.plan is not None and _needs_own(landing):
            raise InputError(
                f"application {application} reads or writes S3, which the home's pools do not reach",
                expected="a process of its own, or a home on S3",
            )
    if (known.place, known.master) == (where, master):
        return known
    words = "moved to a pool" if where == "pool" else f"moved to a process of its own{_on(master)}"
    return _want(home, known.next(words, by, place=where, master=master), words)


def clone(home: str, application: str, name: str, *, by: str, owner: str | None = None) -> Wanted:
    """The same query under another name, not started. Its tables need other places first."""
    known = _live(home, application, None)
    text, count = _APPLICATION.subn(lambda found: found[1] + name, known.text, count=1)
    if not count:
        raise InputError("the query has no CREATE APPLICATION", expected="a PQL text that names it")
    if (there := find_wanted(home, name)) is not None and there.state != "deleted":
        raise StateError(f"there is an application {name} already", expected="a name that is free")
    number = there.revision + 1 if there else 1
    words = f"cloned from {application}"
    made = Wanted(
        name,
        number,
        "stopped",
        text,
        owner or by,
        by,
        time.time_ns() // 1000,
        words,
        place=known.place,
        master=known.master,
    )
    return _want(home, made, words)


def give(home: str, application: str, owner: str, *, by: str, revision: int | None = None) -> Wanted:
    """Another owner: a user, or `@group`. Its query must be within their reach."""
    from dovetail.pql.parser import parse_all
    from dovetail.service.access.people import known_who, read_access
    from dovetail.service.access.reach import beyond

    known = _live(home, application, revision)
    access = read_access(home)
    known_who(access, owner)
    for error in beyond(access, owner, parse_all(known.text, name="query").program, home):
        raise error
    return _want(home, known.next(f"given to {owner}", by, owner=owner), f"given to {owner}")


def delete(home: str, application: str, *, by: str, revision: int | None = None) -> tuple[Wanted, list[str]]:
    """Stop it and, after a day, remove what is its own. Gives what that will be."""
    known = _live(home, application, revision)
    goes = belongings(home, application)
    return _want(home, known.next("deleted", by, state="deleted"), "deleted"), goes


def restore(home: str, application: str, *, by: str) -> Wanted:
    """Undo a deletion, within a day."""
    known = wanted_of(home, application)
    if known.state != "deleted":
        return known
    if time.time_ns() // 1000 - known.at_us > RECOVERABLE_US:
        raise StateError(f"application {application} was deleted more than a day ago", expected="a day")
    return _want(home, known.next("restored", by, state="stopped"), "restored")


def scale(home: str, application: str, tasks: str, *, by: str) -> None:
    """How many tasks its joins run in, or `auto`."""
    from dovetail.service.scaling import scale_application

    known = _live(home, application, None)
    _require_tasks(home, known, tasks)
    scale_application(home, application, tasks)
    record(home, Event(application, "scaled", f"tasks: {tasks}", by))


def let_scale(home: str, application: str, mode: Mode, *, by: str, revision: int | None = None) -> Wanted:
    """Let the service change the number of tasks by itself, only say what it would do, or neither."""
    known = _live(home, application, revision)
    if known.scaler == mode:
        return known
    words = {"act": "is scaled by the service", "advise": "gets advice", "off": "is left to people"}[mode]
    return _want(home, known.next(f"scaler: {mode}", by, scaler=mode), f"its number of tasks {words}")


def name_in(text: str) -> str | None:
    """The application that a text names; None if it does not parse that far."""
    from dovetail.pql.parser import parse_all

    return parse_all(text, name="query").program.application or None


def _new(home: str, landing: Landing, deed: str, by: str, state: State) -> Wanted:
    landing.require()
    assert landing.plan is not None
    name = landing.plan.application
    before = find_wanted(home, name)
    number = before.revision + 1 if before else 1
    owner, where = landing.owner or by, "own" if _needs_own(landing) else "pool"
    now_us, reserved = time.time_ns() // 1000, _reserved(landing)
    made = Wanted(
        name,
        number,
        state,
        landing.text,
        owner,
        by,
        now_us,
        deed,
        place=where,  # type: ignore[arg-type]
        reserved_bytes=reserved["reserved_bytes"],
        filled_s=reserved["filled_s"],
        **_said(landing),
    )
    return _want(home, made, deed)


def _reserved(landing: Landing) -> dict[str, int]:
    """The memory to reserve, by the estimate, from the moment the query is accepted."""
    assert landing.estimate is not None
    return {"reserved_bytes": landing.estimate.memory_bytes, "filled_s": landing.estimate.filled_s}


def _said(landing: Landing) -> dict[str, Any]:
    """What goes with a query, and the version beside which it was looked at."""
    assert landing.plan is not None
    beside = version_of(landing.home, landing.plan.application)
    return {"begins": landing.begins, "reslice": landing.reslice, "beside": beside}


def _placed(known: Wanted, landing: Landing) -> Place:
    """Where it is, unless its new query needs more of Spark than a pool has."""
    return "own" if known.place == "pool" and _needs_own(landing) else known.place


def _needs_own(landing: Landing) -> bool:
    from dovetail.spark.s3 import uses_s3

    assert landing.plan is not None
    return "://" not in landing.home and uses_s3(landing.plan)


def _on(master: str) -> str:
    return f" on {master}" if master else ""


def _require_tasks(home: str, known: Wanted, tasks: str) -> None:
    """The number must fit into what the owner may have, with what the others take."""
    from dovetail.service.scaling import joins_of

    if not tasks.isdigit() or not int(tasks):
        return  # `auto`, or nothing that `scale` takes
    name = known.application
    others = [one for one in usages(home).get(known.owner, ()) if one.application != name]
    here = Usage(name, 0, tasks=int(tasks) * len(joins_of(home, name)))
    quota = allowed(home, known.owner)
    words = exceeded(Quota(quota.owner, tasks=quota.tasks), [*others, here])
    if words is not None:
        raise QuotaError(
            f"the applications of {known.owner} would take {words}",
            where=f"application {name}",
            expected="fewer tasks",
            hint="let another application have fewer, or ask for a larger quota",
        )


def _live(home: str, application: str, revision: int | None) -> Wanted:
    known = wanted_of(home, application)
    if known.state == "deleted":
        raise StateError(
            f"application {application} was deleted by {known.by}",
            expected="an application that is there",
            hint="restore it first: that is possible for a day",
        )
    _require_seen(known, revision)
    return known


def _require_seen(known: Wanted, revision: int | None) -> None:
    if revision is not None and revision != known.revision:
        raise StateError(
            f"application {known.application} was changed by {known.by} meanwhile: {known.deed}",
            where=f"revision {known.revision}",
            expected=f"revision {revision}, which you have seen",
            hint="look at it again, and repeat your change if it still makes sense",
        )


def _want(home: str, wanted: Wanted, words: str) -> Wanted:
    made = want(home, wanted)
    record(home, Event(wanted.application, wanted.deed.split()[0], words, wanted.by))
    return made
