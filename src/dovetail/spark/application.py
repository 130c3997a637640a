"""Law: an application's directory belongs to one application, one plan and one run at a time.

`<home>/apps/<application>/` holds the plan it was started with, Spark's checkpoints and the join state. State
that was made by another plan would be read wrongly, so a run with another plan is refused and told what to
do.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.errors import HomeError, StateError
from dovetail.log.category import Category, list_categories
from dovetail.log.filesystem import Store, open_store
from dovetail.plan.application_file import application_path, decode, encode, stable
from dovetail.plan.physical import Plan

AFTERLIFE_S = 30.0
"""How long a JVM may take to end after its driver was killed."""
_LOOK_S = 0.1


@contextmanager
def claimed(home: str, plan: Plan) -> Iterator[int | None]:
    """Hold the application for one run of this plan; gives what `running` gives."""
    with running(home, plan.application) as held:
        claim(home, plan)
        yield held


def claim(home: str, plan: Plan) -> None:
    """Make the application's directory, or check that it is this plan's."""
    store = open_store(home)
    path = application_path(plan.application)
    store.make_folder(f"apps/{plan.application}")
    if store.create(path, encode(plan)):
        return
    where = f"{store.root}/{path}"
    known = decode(store.read(path), where=where)
    found, wanted = stable(known), stable(plan)
    if found == wanted:
        if known != plan:
            store.replace(path, encode(plan))
        return
    if not _has_run(store, plan.application):
        _forget_categories(home, plan.application)
        store.replace(path, encode(plan))
    else:
        raise StateError(
            f"application {plan.application} was started with another query",
            where=where,
            expected=f"the same query: {_difference(found, wanted)}",
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
def running(home: str, application: str) -> Iterator[int | None]:
    """Hold the application for one run; a second run of it is refused.

    Gives the descriptor that holds it, for processes that the run starts to inherit: a driver may be killed,
    and its JVM still write for a moment. Then the application is held until that has ended too. None where
    the home's filesystem knows no locks.
    """
    store = open_store(home)
    if not store.local:
        yield None
        return
    store.make_folder(f"apps/{application}")
    path = os.path.join(store.root, "apps", application, "lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise HomeError(f"the home cannot be written: {error.strerror}", where=path) from error
    try:
        if not _locked(descriptor):
            raise StateError(
                f"application {application} is running already",
                where=path,
                expected="one run of an application at a time",
                hint="stop the other run, or use another home (--home)",
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        try:
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # also for those that have inherited it
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Lock a file. If the run that holds it has died, wait for what it has left behind."""
    deadline = time.monotonic() + AFTERLIFE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0)
            if not holder.isdigit() or _alive(int(holder)) or time.monotonic() > deadline:
                return False
        time.sleep(_LOOK_S)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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
