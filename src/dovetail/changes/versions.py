"""The versions of an application: each change of its query, numbered, as documents that never change.

    apps/<application>/versions/1.json, 2.json, ...   query, plan, parent, who, when, and what the rules said
    apps/<application>/application.json               the plan that counts, and which version it is

Law: a version takes over when `application.json` names it, in one step, and not before. A version that was
written and never named is one whose change did not come to pass; its number is not used again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from dovetail.changes.positions import Kind, Position
from dovetail.changes.verdict import Change, Cost
from dovetail.errors import CorruptFile, DovetailError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.plan.physical import Plan

KIND, VERSION = "dovetail.version", 4
READ = (1, 2, 3, VERSION)
"""Until version 2 nothing was said of what a change costs, until version 3 not where a query came from, until
version 4 not where inputs were to begin."""
_NAME = re.compile(r"(\d{1,9})\.json")
_REMEDY = "restore it from a copy of the home; the application runs on without it"


@dataclass(frozen=True)
class Version:
    """`text` is None for a join of DataFrames, and for what was started before versions were kept.
    `took_over`: by join, the last step of the version before. `changes`: against the parent. `origin`: the
    file that the query was run from; see `Origin`. `begins`: by input, where it was said that it begins."""

    application: str
    number: int
    parent: int | None
    plan: Plan
    text: str | None
    author: str
    made_at_us: int
    changes: tuple[Change, ...] = ()
    took_over: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None
    origin: str | None = None
    begins: Mapping[str, Position] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return version_path(self.application, self.number)

    def encode(self) -> bytes:
        body = {
            "application": self.application,
            "number": self.number,
            "parent": self.parent,
            "plan": self.plan.to_json(),
            "text": self.text,
            "author": self.author,
            "made_at_us": self.made_at_us,
            "changes": [change.to_json() for change in self.changes],
            "took_over": dict(self.took_over),
            "note": self.note,
            "origin": self.origin,
            "begins": {table: asdict(position) for table, position in self.begins.items()},
        }
        return document.encode(KIND, VERSION, body)


def version_path(application: str, number: int) -> str:
    return f"apps/{application}/versions/{number}.json"


def read_version(home: str, application: str, number: int) -> Version:
    store = open_store(home)
    path = version_path(application, number)
    where = f"{store.root}/{path}"
    try:
        data = store.read(path)
    except FileNotFoundError:
        there = version_numbers(home, application)
        raise StateError(
            f"application {application} has no version {number}",
            where=store.root,
            expected=f"one of {', '.join(map(str, there))}" if there else "a version: none were kept yet",
            hint=f"`dovetail versions {application}` lists them",
        ) from None
    body = document.decode(data, KIND, READ, where=where, remedy=_REMEDY)
    try:
        found = _checked(body)
        if (found.application, found.number) != (application, number):
            raise ValueError(f"it is version {found.number} of {found.application}")
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptFile(f"the file is not a version: {error}", where=where, hint=_REMEDY) from error
    except DovetailError as error:
        raise CorruptFile(error.what, where=where, hint=_REMEDY) from None
    return found


def version_numbers(home: str, application: str) -> list[int]:
    names = open_store(home).names(f"apps/{application}/versions")
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def lineage(home: str, application: str, number: int) -> Iterator[Version]:
    """A version, its parent, and so on, as far as their files can be read. From the version that counts on,
    these are the versions that have taken over: one that was written and never named is never a parent."""
    following: int | None = number
    with suppress(DovetailError):
        while following is not None:
            version = read_version(home, application, following)
            yield version
            following = version.parent


def write_version(home: str, version: Version) -> bool:
    """False: another has taken the number."""
    store = open_store(home)
    store.make_folder(f"apps/{version.application}/versions")
    return store.create(version.path, version.encode())


def _checked(body: Mapping[str, Any]) -> Version:
    names = (
        "application",
        "number",
        "parent",
        "plan",
        "text",
        "author",
        "made_at_us",
        "changes",
        "took_over",
        "note",
    )
    said.fields(body, (*names, *(later for later in ("origin", "begins") if later in body)))
    origin = body.get("origin")
    number = said.whole(body["number"], 1)
    return Version(
        application=said.text(body["application"]),
        number=number,
        parent=None if body["parent"] is None else said.whole(body["parent"], 1, number - 1),
        plan=Plan.from_json(body["plan"]),
        text=None if body["text"] is None else said.text(body["text"]),
        author=said.text(body["author"]),
        made_at_us=said.time_us(body["made_at_us"]),
        changes=tuple(_change(one) for one in said.items(body["changes"])),
        took_over={
            said.text(join): said.whole(step) for join, step in said.fields(body["took_over"]).items()
        },
        note=None if body["note"] is None else said.text(body["note"]),
        origin=None if origin is None else said.text(origin),
        begins={said.text(table): _position(at) for table, at in said.fields(body.get("begins", {})).items()},
    )


def _position(body: Any) -> Position:
    given = said.fields(body, Position.__dataclass_fields__)
    if given["kind"] not in get_args(Kind):
        raise ValueError(f"{given['kind']!r} is not a place in a source")
    return Position(given["kind"], said.time_us(given["value"]))


def _change(body: Any) -> Change:
    given = said.fields(body, Change.__dataclass_fields__)
    for name, value in given.items():
        if name != "cost" and (value is not None or name in ("rule", "part", "verdict", "what")):
            said.text(value)
    return Change(**{**given, "cost": None if given["cost"] is None else _cost(given["cost"])})


def _cost(body: Any) -> Cost:
    given = said.fields(body, Cost.__dataclass_fields__)
    rows, size, seconds = given["rows"], given["bytes"], given["seconds"]
    return Cost(
        None if rows is None else said.whole(rows),
        None if size is None else said.whole(size),
        None if seconds is None else said.real(seconds),
    )
