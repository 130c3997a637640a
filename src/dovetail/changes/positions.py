"""Where a source begins that replaces another: how users say it, and what that means for the source."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from glob import has_magic
from typing import Literal

from dovetail.errors import SettingError
from dovetail.kafka import covered_offsets
from dovetail.lakes import covered_versions
from dovetail.log.category import Category, list_categories
from dovetail.plan.physical import FilesSource, KafkaSource, LakeSource, ScribeSource, SlicerStage, Source
from dovetail.plan.plan_json import encode
from dovetail.slicing.input_files import MissingInput, input_files, is_local, local_path
from dovetail.slicing.standing import CommitsRead, FilesDone, Standing

Kind = Literal["earliest", "latest", "commit", "time"]
WAYS = "earliest, latest, a commit number, or a time such as 2026-11-17T10:00:00Z"


@dataclass(frozen=True)
class Position:
    """`value`: a commit's number, or microseconds since the epoch."""

    kind: Kind
    value: int = 0

    def __str__(self) -> str:
        match self.kind:
            case "commit":
                return f"commit {self.value}"
            case "time":
                return f"what was written since {instant(self.value)}"
            case "earliest":
                return "the earliest that it has"
            case "latest":
                return "what comes from the change on"


def instant(time_us: int) -> str:
    return f"{datetime.datetime.fromtimestamp(time_us / 1e6, datetime.UTC):%Y-%m-%d %H:%M:%S} UTC"


def positions_in(texts: Iterable[str]) -> dict[str, Position]:
    """`input=where`, by the lower-case name of the input."""
    found = {}
    for text in texts:
        table, equals, where = text.partition("=")
        if not equals or not table.strip():
            raise SettingError(f"{text!r} is not a position", where="--from", expected=f"INPUT={WAYS}")
        found[table.strip().lower()] = _position(where.strip())
    return found


def begin_at(home: str, source: Source, position: Position) -> Standing:
    """How much of a source counts as read, so that a slicer begins there."""
    match source:
        case ScribeSource(category):
            return _in_category(Category.open(home, category), position)
        case FilesSource():
            return _in_folder(source, position)
        case LakeSource():
            raise _in_query(source.place, source.lake)
        case KafkaSource(topic):
            raise _in_query(f"topic {topic}", "KAFKA")


def begin_taken_in(home: str, application: str, intake: SlicerStage) -> str | None:
    """Where a topic, or a table of a lake, goes on to be taken into the log, in words: where the log says
    that it was left, or at the `start` that the query names. None: neither is there."""
    source, name = intake.inputs[0].source, getattr(intake.output, "category", "")
    assert isinstance(source, KafkaSource | LakeSource)
    if name in list_categories(home):
        category, producer = Category.open(home, name), f"{application}.{intake.name}"
        known: object | None
        if isinstance(source, KafkaSource):
            known = covered_offsets.covered(category, producer, source.topic)
        else:
            known = covered_versions.covered(category, producer, source.place)
        if known is not None:
            return "what has come since it was left"
    start = dict(source.options).get("start")
    return None if start is None else f"what its option `start` says: {start}"


def _in_query(place: str, kind: str) -> SettingError:
    return SettingError(
        f"where to begin in {place} is said in the query",
        where="--from",
        expected=f"the option `start` of FROM {kind}",
    )


def key_of(source: Source) -> str:
    """The same text for the same source."""
    kinds: Mapping[str, type] = {
        kind.__name__: kind for kind in (ScribeSource, FilesSource, KafkaSource, LakeSource)
    }
    return json.dumps(encode(source, kinds), sort_keys=True)


def _position(text: str) -> Position:
    if text == "earliest":
        return Position("earliest")
    if text == "latest":
        return Position("latest")
    if text.isdecimal():
        return Position("commit", int(text))
    try:
        at = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise SettingError(f"{text!r} is not a place in a source", where="--from", expected=WAYS) from None
    at = at if at.tzinfo else at.replace(tzinfo=datetime.UTC)
    return Position("time", round(at.timestamp() * 1e6))


def _in_category(category: Category, position: Position) -> CommitsRead:
    first, stop = category.first_commit(), category.next_commit()
    match position.kind:
        case "earliest":
            commit = first
        case "latest":
            commit = stop
        case "time":
            commit = category.first_written(first, stop, position.value) if first < stop else stop
        case "commit":
            commit = position.value
    if not first <= commit <= stop:
        raise SettingError(
            f"category {category.name} has no commit {commit}",
            where="--from",
            expected=f"one from {first} to {stop}, of which {stop} is the next to come",
        )
    return CommitsRead(category.name, commit)


def _in_folder(source: FilesSource, position: Position) -> FilesDone:
    if position.kind == "earliest":
        return FilesDone(frozenset())
    if position.kind == "commit":
        raise SettingError("files have no commits", where="--from", expected="earliest, latest or a time")
    if not is_local(source.path) or has_magic(source.path):
        raise SettingError(
            f"it is not known which files are in {source.path}",
            where="--from",
            expected="earliest, where files are elsewhere than in a folder of this machine",
        )
    try:
        files = input_files(os.path.abspath(local_path(source.path)), source.format)
    except MissingInput:
        files = []
    if position.kind == "time":
        files = [file for file in files if os.stat(file).st_mtime_ns // 1000 < position.value]
    return FilesDone(frozenset(files))
