"""How far the writers of a category are in their sources: `<category>/progress/<producer>.json`.

    starting   the writer has not looked at its source yet
    behind     rows wait in its source, or a batch of them is being written
    waiting    it has read all that there is, but a writer of its own source has not
    empty      its last look found nothing, and all that was there before is in the category
    stopped    its run has ended

Law: only `empty` says that a silent category has no rows to come. A slow writer and a dead one are silent
too.

The process that runs the writers replaces the document about once a second. Each one differs from the last,
so a reader that reads twice knows that the writer lives, without comparing clocks of two machines. For the
same reason a writer says how old its knowledge is by the number of an earlier report of its own. A document
is not synced: after a loss of power it may be gone or torn, and the next run writes a new one before it
starts. One that cannot be read is an error that names it. The coordinator reports it once and treats the
writer as silent, because otherwise one bad bit could close windows. A category without documents has a writer
that never reports: people, or a program that appends by itself.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.log.homes.filesystem import TEMPORARY
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.progress", 3
READ_VERSIONS = (1, 2, VERSION)
"""Version 1 has no `trouble`, and versions below 3 have no `looked_after`."""
FOLDER = "progress"
_REMEDY = "delete the file: a writer that runs replaces it within seconds; until then the stream is not idle"

WriterState = Literal["starting", "behind", "waiting", "empty", "stopped"]
_STATES: tuple[WriterState, ...] = get_args(WriterState)


class Waiting(NamedTuple):
    """What waits in a source, as far as it is known. `newest_us`: the newest time at which the
    source itself says that it grew. `trouble`: why it cannot be read now, for people."""

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    newest_us: int | None = None
    trouble: str | None = None


@dataclass(frozen=True)
class SourceReport:
    """What a writer said last. `looks` counts its reports, `looked_at_us` is when it made this one and
    `since_us` when its state began, by its own clock. What waits in its source is said as in `Waiting`.
    `looked_after`: all that was in the source when that report of this run was there is in the category, or
    waits as the state says; 0: nothing is known."""

    producer: str
    application: str
    state: WriterState
    looks: int
    looked_at_us: int
    since_us: int
    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    newest_us: int | None = None
    trouble: str | None = None
    looked_after: int = 0

    def then(
        self, state: WriterState, now_us: int, waiting: Waiting | None, looked_after: int | None
    ) -> SourceReport:
        """The report that this writer makes next. None: of that nothing new is known."""
        return replace(
            self,
            state=state,
            looks=self.looks + 1,
            looked_at_us=now_us,
            since_us=self.since_us if state == self.state else now_us,
            looked_after=self.looked_after if looked_after is None else looked_after,
            **({} if waiting is None else waiting._asdict()),
        )


def write_report(category: Category, report: SourceReport) -> None:
    body = {"category": category.id, **asdict(report)}
    category.store.make_folder(f"{category.folder}/{FOLDER}")
    category.store.replace(
        _path(category, report.producer), document.encode(KIND, VERSION, body), durable=False
    )


def drop_report(category: Category, producer: str) -> None:
    """Its writer reports no more."""
    category.store.delete(_path(category, producer))


def read_reports(category: Category) -> list[SourceReport]:
    """Those of all writers, by name. Raises if one cannot be read."""
    store, folder = category.store, f"{category.folder}/{FOLDER}"
    found = []
    for entry in store.files(folder):
        if entry.name.startswith(TEMPORARY) or not entry.name.endswith(".json"):
            continue
        path = f"{folder}/{entry.name}"
        where = f"{store.root}/{path}"
        try:
            body = document.decode(store.read(path), KIND, READ_VERSIONS, where=where, remedy=_REMEDY)
            if said.text(body.get("category")) != category.id:
                continue  # of an older category of this name
            report = _report(body)
            if path != _path(category, report.producer):
                raise ValueError(f"it is that of {report.producer}")
            found.append(report)
        except FileNotFoundError:
            continue  # dropped meanwhile
        except ValueError as error:
            what = f"the file does not say how far its writer is: {error}"
            raise CorruptFile(what, where=where, hint=_REMEDY) from error
    return sorted(found, key=lambda report: report.producer)


def _report(body: dict[str, Any]) -> SourceReport:
    names = [field.name for field in fields(SourceReport)]
    itself = said.whole(body.get("looks"))  # older builds claimed that their look was as new as the report
    given = said.fields({"trouble": None, "looked_after": itself, **body}, ["category", *names])
    if given["state"] not in _STATES:
        raise ValueError(f"{given['state']!r} is not a state")
    return SourceReport(
        said.text(given["producer"]),
        said.text(given["application"]),
        given["state"],
        said.whole(given["looks"]),
        said.time_us(given["looked_at_us"]),
        said.time_us(given["since_us"]),
        _known(given["files"]),
        _known(given["bytes"]),
        _known(given["rows"]),
        None if given["newest_us"] is None else said.time_us(given["newest_us"]),
        None if given["trouble"] is None else said.text(given["trouble"]),
        said.whole(given["looked_after"]),
    )


def _known(value: Any) -> int | None:
    return None if value is None else said.whole(value)


def _path(category: Category, producer: str) -> str:
    return f"{category.folder}/{FOLDER}/{urllib.parse.quote(producer, safe='')}.json"
