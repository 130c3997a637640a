"""An application that was deleted a day ago goes for good: its state, and the categories that only it has.

What it has written for others stays: its output files, and the categories of its tables.
"""

from __future__ import annotations

from dovetail.changes.leftovers import delete_folder, left_categories, own_categories, remove_category
from dovetail.errors import DovetailError
from dovetail.log.category import list_categories
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import application_path, read_application
from dovetail.service.keeping.processes import forget_end, log_path
from dovetail.service.keeping.wanted import forget_wanted


def belongings(home: str, application: str) -> list[str]:
    """What would go, in words: for people to see before they delete."""
    found = [f"category {name}" for name in _own(home, application)]
    if open_store(home).size(application_path(application)):
        found.insert(0, "the state of its joins, its versions and its progress")
    return found


def remove_application(home: str, application: str) -> None:
    """The wanted state goes last: until then this is done again after a crash."""
    store = open_store(home)
    for name in _own(home, application):
        remove_category(store, name)
    store.delete(application_path(application))
    delete_folder(store, f"apps/{application}")
    store.remove_folder(f"apps/{application}")  # while it is there, readers' marks hold rows back
    forget_end(home, application)
    log_path(home, application).unlink(missing_ok=True)
    forget_wanted(home, application)


def _own(home: str, application: str) -> list[str]:
    try:
        plan = read_application(home, application)
        own = own_categories(plan) | left_categories(home, application, {one.name for one in plan.stages})
    except DovetailError:  # it never ran, or its plan cannot be read: its side categories are then orphans
        own = set()
    return [name for name in list_categories(home) if name in own]
