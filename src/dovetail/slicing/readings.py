"""Where each source of a slicer begins, and where it was left: one document for each source it has had.

    apps/<application>/readings/<stage>@<number>.json

Law: a source that takes the place of another begins where its document says, which is written before the
change counts. From its first batch on, the slicer's own record says how far it is. When the source is left,
its document says how far it was read, so that the slicer can come back to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.model import json_values as said
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing

KIND, VERSION = "dovetail.reading", 1
_NAME = re.compile(r"(.+)@(\d{1,9})\.json")
_REMEDY = "restore it from a copy of the home, or change the source once more and say where it begins"


@dataclass(frozen=True)
class Reading:
    """One source of a stage. `source` is what the plan says of it, as text."""

    application: str
    stage: str
    number: int
    source: str
    standing: Standing

    @property
    def path(self) -> str:
        return _path(self.application, self.stage, self.number)


def write_reading(home: str, reading: Reading) -> None:
    store = open_store(home)
    store.make_folder(_folder(reading.application))
    body = {
        "application": reading.application,
        "stage": reading.stage,
        "number": reading.number,
        "source": reading.source,
        "standing": _standing_to_json(reading.standing),
    }
    store.replace(reading.path, document.encode(KIND, VERSION, body))


def read_reading(home: str, application: str, stage: str, number: int) -> Reading | None:
    """None if nothing is said: the source begins with what it has."""
    store, path = open_store(home), _path(application, stage, number)
    where = f"{store.root}/{path}"
    try:
        data = store.read(path)
    except FileNotFoundError:
        return None
    body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        said.fields(body, ["application", "stage", "number", "source", "standing"])
        if (body["application"], body["stage"], body["number"]) != (application, stage, number):
            raise ValueError(f"it is source {body['number']} of {body['stage']} in {body['application']}")
        source, standing = said.text(body["source"]), _standing_from_json(body["standing"])
    except ValueError as error:
        what = f"the file does not say how far a source was read: {error}"
        raise CorruptFile(what, where=where, hint=_REMEDY) from error
    return Reading(application, stage, number, source, standing)


def left_before(home: str, application: str, stage: str, source: str, last: int) -> Reading | None:
    """Where a stage has left one of its first `last` sources: the last time, if it has had it several
    times."""
    numbers = [number for name, number in _named(open_store(home), application) if name == stage]
    for number in sorted((number for number in numbers if number <= last), reverse=True):
        reading = read_reading(home, application, stage, number)
        if reading is not None and reading.source == source:
            return reading
    return None


def readings_of(home: str, application: str) -> list[Reading]:
    """All of an application."""
    named = _named(open_store(home), application)
    found = [read_reading(home, application, stage, number) for stage, number in named]
    return [reading for reading in found if reading is not None]


def forget_reading(home: str, application: str, stage: str, number: int) -> None:
    open_store(home).delete(_path(application, stage, number))


def forget_readings(home: str, application: str, stages: set[str]) -> None:
    """Those of stages that are not among these."""
    store = open_store(home)
    for stage, number in _named(store, application):
        if stage not in stages:
            store.delete(_path(application, stage, number))


def _named(store: Store, application: str) -> list[tuple[str, int]]:
    found = [_NAME.fullmatch(entry.name) for entry in store.files(_folder(application))]
    return [(name[1], int(name[2])) for name in found if name]


def _folder(application: str) -> str:
    return f"apps/{application}/readings"


def _path(application: str, stage: str, number: int) -> str:
    return f"{_folder(application)}/{stage}@{number}.json"


def _standing_to_json(standing: Standing) -> dict[str, Any]:
    match standing:
        case CommitsRead(category, commit):
            return {"category": category, "commit": commit}
        case FilesDone(files):
            return {"files": sorted(files)}


def _standing_from_json(body: Any) -> Standing:
    given = said.fields(body)
    if "files" in given:
        said.fields(body, ["files"])
        return FilesDone(frozenset(said.text(file) for file in said.items(given["files"])))
    said.fields(body, ["category", "commit"])
    return CommitsRead(said.text(given["category"]), said.whole(given["commit"]))
