"""What a change leaves behind: categories, state and marks of stages that the application no longer has.

Law: a stage that comes back under its old name starts afresh. So nothing of the old one may be there: its
rows in the log, its state, its progress, its promises, and the marks that hold back retention."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.changes.heirs import pass_promises_on
from dovetail.changes.versions import read_version
from dovetail.errors import DovetailError
from dovetail.log.category import Category, list_categories
from dovetail.log.definition import folder_of
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.plan.application_file import read_current
from dovetail.plan.physical import (
    CategoryOutput,
    Plan,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
    filed_under,
)
from dovetail.slicing.owed_rejects import is_owed
from dovetail.slicing.readings import forget_readings, readings_of
from dovetail.slicing.standing import CommitsRead


def own_categories(plan: Plan) -> set[str]:
    """The categories that only this application writes, and that are no output of it."""
    sides = {stage.output.category for stage in plan.stages if isinstance(stage.output, CategoryOutput)}
    late = {stage.late for stage in plan.stages if isinstance(stage, WindowStage)}
    return sides | {f"{side}.invalid" for side in sides} | late


def left_categories(home: str, application: str, stages: set[str]) -> set[str]:
    """What was taken from topics that these stages have left for other sources. It says how far they were
    read, for a stage that comes back to one."""
    standings = [reading.standing for reading in readings_of(home, application) if reading.stage in stages]
    named = {standing.category for standing in standings if isinstance(standing, CommitsRead)}
    return {name for name in named if name.startswith(f"{application}.")}


def remove_leftovers(home: str, application: str) -> None:
    """After a change, or when the run that made it was killed in the middle of this. The application is
    held."""
    plan, version = read_current(home, application)
    pass_promises_on(home, plan)
    store = open_store(home)
    stages = {stage.name for stage in plan.stages}
    records = {filed_under(stage) for stage in plan.stages}
    gone = own_categories(_parent(home, application, version) or plan) - own_categories(plan)
    gone -= left_categories(home, application, stages)
    for name in list_categories(home):
        if name in gone:
            remove_category(store, name)
        else:
            _forget_readers(Category.open(home, name), plan)
    for name in store.folders(f"apps/{application}/checkpoints"):
        of_a_table = ".rejects." in name  # what it could not read is kept once, whichever stage reads it
        if name not in records and not of_a_table:
            delete_folder(store, f"apps/{application}/checkpoints/{name}")
    for name in store.folders(f"apps/{application}/state"):
        if name not in records:
            delete_folder(store, f"apps/{application}/state/{name}")
    for entry in store.files(f"apps/{application}/slicers"):
        if entry.name.removesuffix(".json") not in records:
            store.delete(f"apps/{application}/slicers/{entry.name}")
    owed = {reading.stage for reading in readings_of(home, application) if is_owed(reading.stage)}
    forget_readings(home, application, stages | owed)


def remove_category(store: Store, name: str) -> None:
    """Its definition first: without that nothing else of it exists."""
    store.delete(f"{folder_of(name)}/category.json")
    delete_folder(store, folder_of(name))


def delete_folder(store: Store, folder: str) -> None:
    for entry in store.files(folder):
        store.delete(f"{folder}/{entry.name}")
    for name in store.folders(folder):
        delete_folder(store, f"{folder}/{name}")


def _forget_readers(category: Category, plan: Plan) -> None:
    for reader in category.marks():
        if reader.application != plan.application:
            continue
        of = [stage for stage in plan.stages if _is_of(reader.name, plan.application, stage.name)]
        owner = max(of, key=lambda stage: len(stage.name), default=None)
        if owner is None or _reads_others(owner, category.name):
            category.drop_reader(reader.name)


def _reads_others(stage: Stage, category: str) -> bool:
    """A slicer that has left this category for another source. It also leaves marks where it writes."""
    if not isinstance(stage, SlicerStage) or not stage.inputs:
        return False
    sources = {table.source.category for table in stage.inputs if isinstance(table.source, ScribeSource)}
    return category not in sources and category != getattr(stage.output, "category", None)


def _is_of(reader: str, application: str, stage: str) -> bool:
    return reader == f"{application}.{stage}" or reader.startswith(f"{application}.{stage}.")


def _parent(home: str, application: str, version: int) -> Plan | None:
    try:
        parent = read_version(home, application, version).parent
        return None if parent is None else read_version(home, application, parent).plan
    except DovetailError:
        return None


def readers_elsewhere(home: str, application: str, categories: set[str]) -> Iterator[tuple[str, str]]:
    """Category and reading application, where another application reads a category of this one."""
    for name in list_categories(home):
        if name in categories:
            for reader in Category.open(home, name).marks():
                if reader.gone is None and reader.application not in (None, application):
                    yield name, str(reader.application)
