"""Joins of the previous query that still have to emit what they hold, because they begin afresh.

    apps/<application>/closing.json     written before the change counts, removed when they are done

Law: the old joins close after the new query counts, and before it starts. A process that dies in between
finds the document again. If the change did not come to pass, it means nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.plan.physical import Plan

KIND, VERSION = "dovetail.closing", 1
_REMEDY = (
    "restore it from a copy of the home, or delete it: then rows that the old query holds do not come out"
)


@dataclass(frozen=True)
class Closing:
    """`version`: that of the query before. `plan`: what it ran by. `joins`: those of it that are to close."""

    version: int
    plan: Plan
    joins: tuple[str, ...]


def write_closing(home: str, closing: Closing) -> None:
    body = {"version": closing.version, "plan": closing.plan.to_json(), "joins": list(closing.joins)}
    open_store(home).replace(_path(closing.plan.application), document.encode(KIND, VERSION, body))


def read_closing(home: str, application: str) -> Closing | None:
    store, path = open_store(home), _path(application)
    where = f"{store.root}/{path}"
    try:
        data = store.read(path)
    except FileNotFoundError:
        return None
    body = document.decode(data, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        said.fields(body, ["version", "plan", "joins"])
        joins = tuple(said.text(join) for join in said.items(body["joins"]))
        found = Closing(said.whole(body["version"], 1), Plan.from_json(body["plan"]), joins)
        if found.plan.application != application:
            raise ValueError(f"it is that of {found.plan.application}")
    except ValueError as error:
        raise CorruptFile(
            f"the file does not say which joins close: {error}", where=where, hint=_REMEDY
        ) from error
    except DovetailError as error:
        raise CorruptFile(error.what, where=where, hint=_REMEDY) from None
    return found


def forget_closing(home: str, application: str) -> None:
    open_store(home).delete(_path(application))


def _path(application: str) -> str:
    return f"apps/{application}/closing.json"
