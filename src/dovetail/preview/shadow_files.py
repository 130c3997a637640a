"""What a shadow keeps in the home, below `apps/<application>.shadow/`.

    shadow.json      the query that it tries, and which version of the application it follows
    progress.json    how far it has compared, and what it found

Law: `progress.json` is replaced before the rows that it names are put aside. So a shadow that was killed
knows which rows were its last batch, and puts the same ones aside again, which changes nothing if they are
there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dovetail.errors import CorruptFile, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.preview.compare import Difference

_COUNTS = ("equal", "gained", "lost", "changed")
KIND, PROGRESS_KIND, VERSION = "dovetail.shadow", "dovetail.shadow_progress", 1


def shadow_of(application: str) -> str:
    """The name under which a shadow is held, and reads. No application can have it."""
    return f"{application}.shadow"


def aside(application: str, table: str) -> str:
    """The category of the rows that a shadow puts out."""
    return f"{shadow_of(application)}.{table}"


@dataclass(frozen=True)
class ShadowFile:
    """`version`: that of the application, which it follows."""

    application: str
    version: int
    text: str
    author: str
    made_at_us: int

    def write(self, home: str) -> None:
        store, path = open_store(home), _path(self.application, "shadow")
        store.make_folder(path.rpartition("/")[0])
        store.replace(path, document.encode(KIND, VERSION, asdict(self)))


@dataclass(frozen=True)
class ShadowPosition:
    """For a join: rows that came out up to this step are compared if they belong to an event time before
    `until_us`, and all of those up to step `closed`, with which both streams ended."""

    step: int
    until_us: int
    closed: int = 0


@dataclass(frozen=True)
class Progress:
    """`before`: where the batch before this one ended. `since_us`: rows of an earlier event time do not
    count."""

    batch: int
    since_us: int
    at: Mapping[str, ShadowPosition]
    before: Mapping[str, ShadowPosition]
    tables: Mapping[str, Difference] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    written_at_us: int = 0

    def write(self, home: str, application: str) -> None:
        body = json.loads(json.dumps(asdict(self), default=str))  # samples have values of any type
        data = document.encode(PROGRESS_KIND, VERSION, {"application": application, **body})
        open_store(home).replace(_path(application, "progress"), data)


def is_there(home: str, application: str) -> bool:
    """Whether anything is left of a shadow."""
    store = open_store(home)
    paths = [_path(application, name) for name in ("shadow", "progress")]
    return any(store.size(path) is not None for path in paths)


def is_ended(home: str, application: str) -> bool:
    """Whether it was dropped, and something is left of it all the same."""
    gone = open_store(home).size(_path(application, "shadow")) is None
    return gone and is_there(home, application)


def read_shadow(home: str, application: str) -> ShadowFile:
    path = _path(application, "shadow")
    body = _read(home, application, path, KIND)
    if body is None:
        raise StateError(
            f"application {application} has no shadow",
            where=open_store(home).root,
            expected="a query that is tried beside it",
            hint="`dovetail deploy new.pql --shadow` starts one",
        )
    try:
        said.fields(body, ShadowFile.__dataclass_fields__)
        found = ShadowFile(
            said.text(body["application"]),
            said.whole(body["version"], 1),
            said.text(body["text"]),
            said.text(body["author"]),
            said.time_us(body["made_at_us"]),
        )
        if found.application != application:
            raise ValueError(f"it is that of {found.application}")
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(home, application, path, error) from error
    return found


def read_progress(home: str, application: str) -> Progress | None:
    """None: it has compared nothing yet."""
    path = _path(application, "progress")
    body = _read(home, application, path, PROGRESS_KIND)
    if body is None:
        return None
    try:
        said.fields(body, ["application", *Progress.__dataclass_fields__])
        if body["application"] != application:
            raise ValueError(f"it is that of {body['application']}")
        return Progress(
            said.whole(body["batch"]),
            said.time_us(body["since_us"]),
            _positions(body["at"]),
            _positions(body["before"]),
            {said.text(name): _difference(one) for name, one in said.fields(body["tables"]).items()},
            tuple(said.text(note) for note in said.items(body["notes"])),
            said.time_us(body["written_at_us"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(home, application, path, error) from error


def _positions(body: Any) -> dict[str, ShadowPosition]:
    found = {}
    for join, one in said.fields(body).items():
        said.fields(one, ShadowPosition.__dataclass_fields__)
        step, until_us, closed = said.whole(one["step"]), said.time_us(one["until_us"]), one["closed"]
        found[said.text(join)] = ShadowPosition(step, until_us, said.whole(closed))
    return found


def _difference(body: Any) -> Difference:
    said.fields(body, Difference.__dataclass_fields__)
    equal, gained, lost, changed = (said.whole(body[name]) for name in _COUNTS)
    pairs = [[said.fields(row) for row in said.items(pair)] for pair in said.items(body["changed_samples"])]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("a changed row has an old and a new one")
    return Difference(
        equal,
        gained,
        lost,
        changed,
        tuple(said.fields(row) for row in said.items(body["gained_samples"])),
        tuple(said.fields(row) for row in said.items(body["lost_samples"])),
        tuple((was, now) for was, now in pairs),
    )


def _path(application: str, name: str) -> str:
    return f"apps/{shadow_of(application)}/{name}.json"


def _read(home: str, application: str, path: str, kind: str) -> dict[str, Any] | None:
    store = open_store(home)
    try:
        data = store.read(path)
    except FileNotFoundError:
        return None
    where = f"{store.root}/{path}"
    return dict(document.decode(data, kind, VERSION, where=where, remedy=_remedy(application)))


def _remedy(application: str) -> str:
    return f"`dovetail shadow {application} --drop`, and start it again; the application does not need it"


def _damaged(home: str, application: str, path: str, error: Exception) -> CorruptFile:
    where = f"{open_store(home).root}/{path}"
    return CorruptFile(f"the file says nothing of a shadow: {error}", where=where, hint=_remedy(application))
