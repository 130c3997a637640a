"""Law: an application's directory belongs to one application and one plan.

`<home>/apps/<application>/` holds the plan it was started with, Spark's checkpoints and the join state. State
that another plan made would be read wrongly. So a run with another plan is refused, and the error says what
to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.engine.hold import Check, running
from dovetail.errors import StateError
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.plan.application_file import application_path, decode, encode, stable
from dovetail.plan.physical import Plan


@contextmanager
def claimed(home: str, plan: Plan) -> Iterator[Check]:
    """Hold the application for one run of this plan."""
    with running(home, plan.application) as check:
        claim(home, plan)
        yield check


def kept(home: str, plans: Sequence[Plan]) -> Plan:
    """The plan to run, of several for one query: the one that the application was started with, so that a
    release that plans better refuses no application, or else the first."""
    first = plans[0]
    path = application_path(first.application)
    store = open_store(home)
    if len(plans) > 1 and store.size(path) and _has_run(store, first.application):
        found = stable(decode(store.read(path), where=f"{store.root}/{path}"))
        return next((plan for plan in plans if stable(plan) == found), first)
    return first


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
    """A query or a slicer of the application was started: there may be state. Before that a plan binds
    nobody."""
    folder = f"apps/{application}"
    return bool(store.folders(f"{folder}/checkpoints") or store.files(f"{folder}/slicers"))


def _forget_categories(home: str, application: str) -> None:
    """Let the intermediate categories of a plan that never ran be made again, with other columns."""
    for name in list_categories(home):
        category = Category.open(home, name)
        if name.startswith(f"{application}.") and category.next_commit() == 0:
            category.forget()


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
