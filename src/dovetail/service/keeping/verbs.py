"""What people do with applications. The command line, the API and the portal call these, and nothing else.

Every verb takes who calls it, writes one revision of what is wanted, and one event. What follows from it is
the keeper's work, whether it runs now or later. `revision` is the one that the caller has seen: if there is a
newer one by now, nothing is done.
"""

from __future__ import annotations

import re
import time

from dovetail.errors import InputError, StateError
from dovetail.service.keeping.events import Event, record
from dovetail.service.keeping.landing import Landing, land
from dovetail.service.keeping.removal import belongings
from dovetail.service.keeping.wanted import RECOVERABLE_US, State, Wanted, find_wanted, want, wanted_of

_APPLICATION = re.compile(r"(\bCREATE\s+APPLICATION\s+)(\w+)", re.IGNORECASE)


def create(home: str, text: str, *, by: str, owner: str | None = None) -> Wanted:
    """A new application, checked and not started."""
    return _new(home, land(home, text, owner=owner or by), "created", by, "stopped")


def deploy(
    home: str, text: str, *, by: str, revision: int | None = None, owner: str | None = None
) -> tuple[Wanted, Landing]:
    """Let an application run by this query: a new one, or one that is there and goes on with it."""
    name = name_in(text)
    known = find_wanted(home, name) if name else None
    if known is None or known.state == "deleted":
        landing = land(home, text, owner=owner or by)
        return _new(home, landing, "deployed", by, "running"), landing
    _require_seen(known, revision)
    landing = land(home, text, known.application)
    landing.require()
    if (known.text, known.state) == (text, "running"):
        return known, landing
    words = "deployed" if not landing.changes else "deployed: " + "; ".join(landing.changes)[:2_000]
    return _want(home, known.next("deployed", by, state="running", text=text), words), landing


def start(home: str, application: str, *, by: str, revision: int | None = None) -> Wanted:
    known = _live(home, application, revision)
    if known.state == "running":
        return known
    land(home, known.text, application).require()
    return _want(home, known.next("started", by, state="running"), "started")


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
    home: str, application: str, number: int | None = None, *, by: str, revision: int | None = None
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
    land(home, text, application).require()
    deed = f"rolled back to version {wanted}"
    return _want(home, known.next(deed, by, state="running", text=text), deed)


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
    made = Wanted(name, number, "stopped", text, owner or by, by, time.time_ns() // 1000, words)
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

    _live(home, application, None)
    scale_application(home, application, tasks)
    record(home, Event(application, "scaled", f"tasks: {tasks}", by))


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
    owner = landing.owner or by
    made = Wanted(name, number, state, landing.text, owner, by, time.time_ns() // 1000, deed)
    return _want(home, made, deed)


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
