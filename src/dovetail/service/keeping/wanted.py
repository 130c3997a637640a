"""What users want of an application, as documents in the home: one per revision, never changed.

    service/wanted/<application>/00000007.json    the query, running or not, who asked for it, when and how

Law: the newest revision counts. A revision is created only if its number is free, so of two people who
change the same one the second gets an error, on a local disk as on an object store.
"""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from dovetail.errors import CorruptFile, DovetailError, InputError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.scaler.sample import Mode

KIND, VERSION = "dovetail.wanted", 4
FOLDER = "service/wanted"
KEPT = 50
"""Revisions of an application that are kept. Its queries are also kept as versions."""
RECOVERABLE_US = 86_400_000_000
"""A deleted application can be restored for a day."""
_NAME = re.compile(r"(\d{8})\.json")
_APPLICATION = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_REMEDY = "delete the file: the revision before it counts then, or deploy the application again"

State = Literal["running", "stopped", "deleted"]
Place = Literal["pool", "own"]
"""pool: it shares a Spark driver with others. own: it has a process, and a Spark driver, of its own."""


@dataclass(frozen=True)
class Wanted:
    """One revision. `deed` says in a word how it came about: created, deployed, stopped, and so on.
    `restarts` grows with every restart that somebody asks for. `master`: the Spark master of one that has its
    own process; empty: the service's. `scaler`: whether the number of tasks is changed by itself.
    `reserved_bytes`: of join state, by the estimate that it landed with. It counts at least this much for
    `filled_s`, until its joins hold all that they will, and then what it measures. `begins`, `reslice`: as
    `--from` and `--reslice` of `dovetail run`, for the change from version `beside` to this query. Once that
    is another version they have been heard, or the query was changed elsewhere: they are not said again."""

    application: str
    revision: int
    state: State
    text: str
    owner: str
    by: str
    at_us: int
    deed: str
    restarts: int = 0
    place: Place = "own"
    master: str = ""
    scaler: Mode = "advise"
    reserved_bytes: int = 0
    filled_s: int = 0
    begins: tuple[str, ...] = ()
    reslice: bool = False
    beside: int = 0

    def __post_init__(self) -> None:
        require_name(self.application)
        if self.state not in get_args(State):
            raise ValueError(f"{self.state!r} is not a state")
        if self.scaler not in get_args(Mode):
            raise ValueError(f"{self.scaler!r} is nothing that a scaler does")
        if self.place not in get_args(Place) or (self.master and self.place == "pool"):
            raise ValueError(
                f"{self.place!r} is not a place{' for a master of its own' if self.master else ''}"
            )

    @property
    def path(self) -> str:
        return f"{FOLDER}/{self.application}/{self.revision:08d}.json"

    @property
    def query(self) -> str:
        """The same for revisions of the same text."""
        return document.checksum(self.text.encode())

    @property
    def needs_start(self) -> bool:
        """An offer to a run that is there is a query, and no more than that."""
        return self.reslice or bool(self.begins)

    def next(self, deed: str, by: str, **changed: Any) -> Wanted:
        """The next revision."""
        return replace(
            self, revision=self.revision + 1, deed=deed, by=by, at_us=time.time_ns() // 1000, **changed
        )


def require_name(application: str) -> None:
    """Names become folders and parts of addresses. `service` is taken: categories that begin so are ours."""
    if not _APPLICATION.fullmatch(application) or application.lower() == "service":
        raise InputError(
            f"{application[:120]!r} cannot be the name of an application",
            expected="a letter, then letters, digits and underscores, at most 100 in all; not `service`",
        )


def wanted_of(home: str, application: str) -> Wanted:
    found = find_wanted(home, application)
    if found is None:
        known = ", ".join(wanted_names(home)) or "none yet"
        raise StateError(
            f"the service has no application {application}",
            where=open_store(home).root,
            expected=f"one of: {known}",
            hint="create it first; `dovetail service apply FILE` does so",
        )
    return found


def find_wanted(home: str, application: str) -> Wanted | None:
    require_name(application)
    numbers = _numbers(home, application)
    return read_revision(home, application, numbers[-1]) if numbers else None


def wanted_names(home: str) -> list[str]:
    return sorted(name for name in open_store(home).folders(FOLDER) if _APPLICATION.fullmatch(name))


def list_wanted(home: str) -> tuple[list[Wanted], list[DovetailError]]:
    """What is wanted of every application. A damaged document hides no other."""
    found: list[Wanted] = []
    damaged: list[DovetailError] = []
    for name in wanted_names(home):
        try:
            one = find_wanted(home, name)
        except DovetailError as error:
            damaged.append(error)
        else:
            found += [one] if one is not None else []
    return found, damaged


def want(home: str, wanted: Wanted) -> Wanted:
    """Write a revision. An error if somebody else has changed the application meanwhile."""
    store = open_store(home)
    store.make_folder(f"{FOLDER}/{wanted.application}")
    if not store.create(wanted.path, document.encode(KIND, VERSION, asdict(wanted))):
        raise StateError(
            f"application {wanted.application} was changed by somebody else meanwhile",
            where=f"revision {wanted.revision}",
            expected=f"that revision {wanted.revision - 1} is the newest",
            hint="look at it again, and repeat your change if it still makes sense",
        )
    for number in _numbers(home, wanted.application)[:-KEPT]:
        store.delete(f"{FOLDER}/{wanted.application}/{number:08d}.json")
    return wanted


def forget_wanted(home: str, application: str) -> None:
    """For an application that is gone for good."""
    store = open_store(home)
    for number in _numbers(home, application):
        store.delete(f"{FOLDER}/{application}/{number:08d}.json")


def _numbers(home: str, application: str) -> list[int]:
    names = [entry.name for entry in open_store(home).files(f"{FOLDER}/{application}")]
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def read_revision(home: str, application: str, revision: int) -> Wanted:
    store = open_store(home)
    path = f"{FOLDER}/{application}/{revision:08d}.json"
    where = f"{store.root}/{path}"
    body = document.decode(store.read(path), KIND, (1, 2, 3, VERSION), where=where, remedy=_REMEDY)
    before = {"place": "own", "master": "", "scaler": "advise", "reserved_bytes": 0, "filled_s": 0}
    before |= {"begins": [], "reslice": False, "beside": 0}
    # Version 1 had no pools, version 2 reserved nothing, version 3 was a query alone.
    body = {**before, **body}
    try:
        found = _checked(said.fields(body, Wanted.__dataclass_fields__))
        if (found.application, found.revision) != (application, revision):
            raise ValueError(f"it is revision {found.revision} of {found.application}")
    except (ValueError, InputError) as error:
        raise CorruptFile(f"the file is not a wanted state: {error}", where=where, hint=_REMEDY) from error
    return found


def _checked(body: dict[str, Any]) -> Wanted:
    named = ("application", "state", "text", "owner", "by", "deed", "place", "master", "scaler")
    texts = {name: said.text(body[name]) for name in named}
    numbers = {name: said.whole(body[name]) for name in ("restarts", "reserved_bytes", "filled_s", "beside")}
    numbers["revision"] = said.whole(body["revision"], 1)
    more: dict[str, Any] = {
        "at_us": said.time_us(body["at_us"]),
        "begins": tuple(said.text(one) for one in said.items(body["begins"])),
        "reslice": said.flag(body["reslice"]),
    }
    return Wanted(**{**texts, **numbers, **more})
