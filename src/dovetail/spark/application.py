"""Law: an application's directory belongs to one application, one plan and one run at a time.

`<home>/apps/<application>/` holds the plan it was started with, Spark's checkpoints and the join state. State
that was made by another plan would be read wrongly, so a run with another plan is refused and told what to
do.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.errors import HomeError, StateError
from dovetail.log import document
from dovetail.log.category import Category, list_categories
from dovetail.log.filesystem import Store, open_store
from dovetail.plan.physical import Plan

KIND, VERSION = "dovetail.application", 1
_TUNING = {"tasks", "max_step_rows", "warnings", "pacing", "validity", "splits_hot_keys"}
"""Parts of a plan that may change from run to run: they do not touch the state."""


@contextmanager
def claimed(home: str, plan: Plan) -> Iterator[None]:
    """Hold the application for one run of this plan."""
    with running(home, plan.application):
        claim(home, plan)
        yield


def claim(home: str, plan: Plan) -> None:
    """Make the application's directory, or check that it is this plan's."""
    store = open_store(home)
    path = f"apps/{plan.application}/application.json"
    store.make_folder(f"apps/{plan.application}")
    wanted = _stable(plan.to_json())
    body = {"application": plan.application, "plan": wanted}
    if store.create(path, document.encode(KIND, VERSION, body)):
        return
    where = f"{store.root}/{path}"
    found = document.decode(
        store.read(path),
        KIND,
        VERSION,
        where=where,
        remedy="restore it from a copy of the home, or start the application in a new home",
    )
    if found.get("plan") == wanted:
        return
    if not _has_run(store, plan.application):
        _forget_categories(home, plan.application)
        store.replace(path, document.encode(KIND, VERSION, body))
    else:
        raise StateError(
            f"application {plan.application} was started with another query",
            where=where,
            expected=f"the same query: {_difference(found.get('plan'), wanted)}",
            hint="give the changed application another name, or start it in another home (--home)",
        )


def _has_run(store: Store, application: str) -> bool:
    """A query of the application was started: there may be state. Before that a plan binds nobody."""
    return bool(store.folders(f"apps/{application}/checkpoints"))


def _forget_categories(home: str, application: str) -> None:
    """Let the intermediate categories of a plan that never ran be made anew, with other columns."""
    for name in list_categories(home):
        category = Category.open(home, name)
        if name.startswith(f"{application}.") and category.next_commit() == 0:
            category.store.delete(f"{category.folder}/category.json")


@contextmanager
def running(home: str, application: str) -> Iterator[None]:
    """Hold the application for one run; a second run of it is refused."""
    store = open_store(home)
    if not store.local:
        yield
        return
    store.make_folder(f"apps/{application}")
    path = os.path.join(store.root, "apps", application, "lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise HomeError(f"the home cannot be written: {error.strerror}", where=path) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StateError(
            f"application {application} is running already",
            where=path,
            expected="one run of an application at a time",
            hint="stop the other run, or use another home (--home)",
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)


def _stable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stable(part) for name, part in value.items() if name not in _TUNING}
    if isinstance(value, list):
        return [_stable(part) for part in value]
    return value


def _difference(found: Any, wanted: Any, path: str = "plan") -> str:
    """The first place where two plans differ."""
    if type(found) is type(wanted) and isinstance(found, dict):
        for name in [*found, *wanted]:
            if found.get(name) != wanted.get(name):
                return _difference(found.get(name), wanted.get(name), f"{path}.{name}")
    if type(found) is type(wanted) and isinstance(found, list) and len(found) == len(wanted):
        for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if one != other:
                return _difference(one, other, f"{path}[{number}]")
    return f"{path} was {found!r}, is now {wanted!r}"
