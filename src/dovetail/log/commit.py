"""What a commit says: its segments, its rows, who wrote it, and what was kept aside.

Law: commit `n` begins where commit `n - 1` ends (`first_row`), so rows are numbered densely over the
category; and `producers` maps every producer that ever appended to its last batch, so a batch enters once.
`promises` maps producers to what they say of rows still to come (`model/promise.py`). `covers` says, in the
producer's own words, which part of its source the commit holds: a writer that keeps no other record finds
there where it was.

Why a commit repeats what the one before it said (the row count, all producers): a writer then reads only one
file. Retention may delete all commits but the newest, and nothing is forgotten. There is no other record that
could disagree with the commits after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from dovetail.errors import CorruptFile
from dovetail.log import document
from dovetail.model import json_values as said
from dovetail.model.frequent_key import FrequentKey
from dovetail.model.promise import Promise
from dovetail.model.sketch import EventTimeSketch, merge_sketches

KIND, VERSION, FIRST_GENERATION = "dovetail.commit", 5, 4
"""A commit whose segments are all of generation 0 does not name it, and is one of version 4."""
READ_VERSIONS = (2, 3, 4, 5)
"""Version 2 has no promises, version 3 does not say what a commit covers."""


@dataclass(frozen=True)
class Packing:
    """How a segment's payload was compressed: enough to see a category drift. `raw_bytes` is what a plain
    segment would hold; `dictionary` is None if there was none."""

    raw_bytes: int
    stored_bytes: int
    dictionary: str | None

    @property
    def ratio(self) -> float:
        return self.raw_bytes / max(1, self.stored_bytes)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Packing | None:
        if value is None:
            return None
        named = value["dictionary"]
        return cls(
            raw_bytes=said.whole(value["raw_bytes"]),
            stored_bytes=said.whole(value["stored_bytes"]),
            dictionary=None if named is None else said.file_name(named),
        )


@dataclass(frozen=True)
class SegmentInfo:
    """A segment file as its writer saw it. It travels from Spark's tasks to the driver as JSON. `generation`:
    which of the category's schemas it has (`generations.py`)."""

    name: str
    rows: int
    bytes: int
    checksum: str
    rows_per_bucket: tuple[int, ...]
    sketch: EventTimeSketch
    frequent: tuple[FrequentKey, ...] = ()
    packing: Packing | None = None
    generation: int = 0

    @property
    def own_path(self) -> str:
        """The file it was written to, below its category."""
        return f"segments/{self.name}"

    def to_json(self) -> dict[str, Any]:
        made = {
            "name": self.name,
            "rows": self.rows,
            "bytes": self.bytes,
            "checksum": self.checksum,
            "rows_per_bucket": list(self.rows_per_bucket),
            "sketch": self.sketch.to_json(),
            "frequent": [list(key) for key in self.frequent],
            "packing": self.packing.to_json() if self.packing else None,
        }
        return made | {"generation": self.generation} if self.generation else made

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SegmentInfo:
        return cls(**_segment_fields(value))


class PackPlace(NamedTuple):
    """Where compaction has put the bytes of a file: in a pack, from byte `at` on."""

    pack: str
    at: int


@dataclass(frozen=True)
class PlacedSegment(SegmentInfo):
    """A segment that a commit names: its rows have numbers, from `first_row` on. Its `place` is none of its
    properties: compaction changes it under readers, who then look again."""

    first_row: int = 0
    commit: int = 0
    place: PackPlace | None = field(default=None, compare=False)

    @property
    def path(self) -> str:
        """The file that holds it now."""
        return f"packs/{self.place.pack}" if self.place else self.own_path


@dataclass(frozen=True)
class RejectedRows:
    """A file of rows that could not be read, kept aside; `sample` shows the first."""

    file: str
    rows: int
    bytes: int
    checksum: str
    sample: str
    commit: int | None = field(default=None, compare=False)
    place: PackPlace | None = field(default=None, compare=False)

    @property
    def own_path(self) -> str:
        """The file it was written to, below its category."""
        return f"rejected/{self.file}"

    @property
    def path(self) -> str:
        """The file that holds it now."""
        return f"packs/{self.place.pack}" if self.place else self.own_path

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in ("file", "rows", "bytes", "checksum", "sample")}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RejectedRows:
        """Raises ValueError, KeyError or TypeError for what `to_json` cannot have made."""
        return cls(
            file=said.file_name(value["file"]),
            rows=said.whole(value["rows"]),
            bytes=said.whole(value["bytes"]),
            checksum=said.text(value["checksum"]),
            sample=said.text(value["sample"]),
        )


@dataclass(frozen=True)
class Commit:
    """One step of a category. `producer` is None for an append that asked for no exactly-once."""

    number: int
    first_row: int
    segments: tuple[PlacedSegment, ...]
    rejected: tuple[RejectedRows, ...]
    producer: str | None
    batch: int | None
    producers: Mapping[str, int] = field(hash=False)
    written_at_us: int
    promises: Mapping[str, Promise] = field(default_factory=dict, hash=False)
    covers: Mapping[str, Any] | None = field(default=None, hash=False)

    def promised(self, column: str) -> int | None:
        """No later row is below this in the column, unless it is late. None: a producer of this category
        promises nothing about it. Rows that people append by hand have no producer and break no promise."""
        times = [
            self.promises[name].times.get(column) if name in self.promises else None
            for name in {*self.producers, *self.promises}  # an heir may not have written yet
        ]
        known = [time for time in times if time is not None]
        return min(known) if known and len(known) == len(times) else None

    @property
    def promised_by(self) -> str:
        """How the promised times were obtained, for people."""
        return ", ".join(sorted({promise.by for promise in self.promises.values()}))

    @cached_property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.segments)

    @property
    def next_row(self) -> int:
        """Number of the first row of the next commit."""
        return self.first_row + self.rows

    @cached_property
    def bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    @property
    def files(self) -> tuple[PlacedSegment | RejectedRows, ...]:
        """All that the commit names, in an order that does not change."""
        return (*self.segments, *self.rejected)

    @property
    def stored_bytes(self) -> int:
        """Bytes on disk that go when the commit goes."""
        return sum(one.bytes for one in self.files)

    def placed(self, places: Sequence[PackPlace | None]) -> Commit:
        """The same commit, with its files at these places, in the order of `files`."""
        segments = tuple(replace(one, place=place) for one, place in zip(self.segments, places, strict=False))
        rest = places[len(segments) :]
        rejected = tuple(replace(one, place=place) for one, place in zip(self.rejected, rest, strict=True))
        return replace(self, segments=segments, rejected=rejected)

    @property
    def rejected_rows(self) -> int:
        return sum(rejected.rows for rejected in self.rejected)

    @cached_property
    def sketch(self) -> EventTimeSketch:
        """The event times of all the commit's rows."""
        return merge_sketches(segment.sketch for segment in self.segments)


def place(
    segments: tuple[SegmentInfo, ...] | list[SegmentInfo], first_row: int, number: int
) -> tuple[PlacedSegment, ...]:
    """Number the rows of the segments, in their order."""
    placed = []
    for info in segments:
        plain = {key: getattr(info, key) for key in SegmentInfo.__dataclass_fields__}
        placed.append(PlacedSegment(**plain, first_row=first_row, commit=number))
        first_row += info.rows
    return tuple(placed)


def encode(commit: Commit, category_id: str) -> bytes:
    body = {
        "category": category_id,
        "number": commit.number,
        "first_row": commit.first_row,
        "rows": commit.rows,
        "segments": [segment.to_json() for segment in commit.segments],
        "rejected": [rejected.to_json() for rejected in commit.rejected],
        "producer": commit.producer,
        "batch": commit.batch,
        "producers": dict(commit.producers),
        "written_at_us": commit.written_at_us,
        "promises": {name: promise.to_json() for name, promise in commit.promises.items()},
        "covers": None if commit.covers is None else dict(commit.covers),
    }
    first = all(segment.generation == 0 for segment in commit.segments)
    return document.encode(KIND, FIRST_GENERATION if first else VERSION, body)


def decode(data: bytes, number: int, category_id: str, *, where: str) -> Commit:
    """The commit of that number and category in a file's bytes, checked."""
    remedy = (
        "restore the file from a copy; without it the rows of this commit are lost, and readers can only "
        "start after it"
    )
    body = document.decode(data, KIND, READ_VERSIONS, where=where, remedy=remedy)
    try:
        infos = [SegmentInfo.from_json(value) for value in said.items(body["segments"])]
        first_row, producer, batch = said.whole(body["first_row"]), body["producer"], body["batch"]
        commit = Commit(
            number=said.whole(body["number"]),
            first_row=first_row,
            segments=place(infos, first_row, body["number"]),
            rejected=tuple(
                replace(RejectedRows.from_json(value), commit=number)
                for value in said.items(body["rejected"])
            ),
            producer=None if producer is None else said.text(producer),
            batch=None if batch is None else said.whole(batch),
            producers={name: said.whole(last) for name, last in said.fields(body["producers"]).items()},
            written_at_us=said.time_us(body["written_at_us"]),
            promises={
                name: Promise.from_json(promise)
                for name, promise in said.fields(body.get("promises", {})).items()
            },
            covers=None if body.get("covers") is None else said.fields(body["covers"]),
        )
        sound = (commit.number, body["category"], body["rows"]) == (number, category_id, commit.rows)
        sound = sound and (producer is None) == (batch is None) and said.whole(commit.next_row) >= 0
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        sound = False
    if not sound:
        raise CorruptFile(
            "the file is a commit, but not this one",
            where=where,
            expected=f"commit {number} of category {category_id}",
            hint=remedy,
        )
    return commit


def _segment_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    counts, rows = tuple(said.whole(count) for count in value["rows_per_bucket"]), said.whole(value["rows"])
    if sum(counts) != rows:
        raise ValueError("the rows per bucket do not add up")
    return {
        "name": said.file_name(value["name"]),
        "rows": rows,
        "bytes": said.whole(value["bytes"]),
        "checksum": said.text(value["checksum"]),
        "rows_per_bucket": counts,
        "sketch": EventTimeSketch.from_json(value["sketch"]),
        "frequent": tuple(_frequent_key(key, rows) for key in said.items(value["frequent"])),
        "packing": Packing.from_json(value.get("packing")),
        "generation": said.whole(value.get("generation", 0)),
    }


def _frequent_key(value: Any, rows: int) -> FrequentKey:
    hash_, count, at = said.items(value)
    return FrequentKey(said.time_us(hash_), said.whole(count, high=rows), said.whole(at, high=rows - 1))
