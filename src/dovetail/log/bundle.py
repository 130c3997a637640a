"""A bundle: the commits of a range in one file, so that a category that runs for ever has few files.

    bundles/<first>-<stop>.jsonl     header \n  commit first \n  commit first + 1 \n ...  commit stop - 1 \n
    packs/<unique>.pack              the segments and rejected rows of small commits, one after another

Law: a bundle says of every commit in it what the commit's own file said, with the same checksum; only where
the rows are may have changed. The header is a document like any other. It says where each commit ends in the
file, how many bytes go with it, and for each file that the commit names the pack and the byte where it
begins, or null where it is still a file of its own.

Packs hold whole files byte for byte, each from a multiple of 64 bytes on, as Arrow wants its buffers. Nothing
in a pack describes itself: each segment in it is checked against the checksum in its commit, as before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from dovetail.errors import CorruptFile
from dovetail.log import commit as commit_format
from dovetail.log import document
from dovetail.log.commit import Commit, PackPlace
from dovetail.model import json_values as said

if TYPE_CHECKING:
    from dovetail.log.category import Category

KIND, VERSION = "dovetail.bundle", 1
FOLDER, PACKS = "bundles", "packs"
ALIGNED_BYTES = 64

_NAME = re.compile(r"(\d{20})-(\d{20})\.jsonl")
_REMEDY = (
    "restore the file from a copy; without it the rows of these commits are lost, and readers can only "
    "start after them"
)


class CommitSpan(NamedTuple):
    """The commits `first..stop-1` that a bundle holds."""

    first: int
    stop: int

    @property
    def name(self) -> str:
        return f"{self.first:020d}-{self.stop:020d}.jsonl"

    def covers(self, other: CommitSpan) -> bool:
        return self.first <= other.first and other.stop <= self.stop


class Bundled(NamedTuple):
    """One commit on its way into a bundle: its document, the bytes that go with it, and its places."""

    line: bytes
    bytes: int
    places: tuple[PackPlace | None, ...]
    dictionaries: frozenset[str]


@dataclass(frozen=True)
class Bundle:
    """An open bundle. `apart`: commits that name files which are not in packs."""

    span: CommitSpan
    lines: pa.Buffer
    ends: tuple[int, ...]
    sizes: tuple[int, ...]
    places: tuple[tuple[PackPlace | None, ...], ...]
    packs: tuple[str, ...]
    dictionaries: frozenset[str]
    where: str

    @property
    def apart(self) -> list[int]:
        return [number for number in range(*self.span) if self.is_apart(number)]

    def is_apart(self, number: int) -> bool:
        return None in self.places[number - self.span.first]

    def line(self, number: int) -> bytes:
        at = number - self.span.first
        start = self.ends[at - 1] if at else 0
        return self.lines.slice(start, self.ends[at] - start).to_pybytes()  # type: ignore[no-any-return]

    def commit(self, number: int, category_id: str) -> Commit:
        """One commit of the span, checked as if it were a file of its own."""
        found = commit_format.decode(self.line(number), number, category_id, where=self.where)
        places = self.places[number - self.span.first]
        if len(places) != len(found.files):
            raise _corrupt(
                f"it places {len(places)} files of commit {number}, not {len(found.files)}", self.where
            )
        return found.placed(places)

    def bundled(self) -> list[Bundled]:
        """The commits as they are, to go into a wider bundle."""
        numbers = range(self.span.first, self.span.stop)
        lines = [self.line(number) for number in numbers]
        every = zip(lines, self.sizes, self.places, strict=True)
        return [Bundled(*one, self.dictionaries) for one in every]


def path_of(category: Category, span: CommitSpan) -> str:
    return f"{category.folder}/{FOLDER}/{span.name}"


def pack_path(category: Category, name: str) -> str:
    return f"{category.folder}/{PACKS}/{name}"


def listed(category: Category) -> list[CommitSpan]:
    """All bundles of a category, by where they begin, wider ones first."""
    names = category.store.names(f"{category.folder}/{FOLDER}")
    matches = [match for name in names if (match := _NAME.fullmatch(name))]
    return sorted(
        (CommitSpan(int(m[1]), int(m[2])) for m in matches), key=lambda span: (span.first, -span.stop)
    )


def encode(category_id: str, span: CommitSpan, commits: Sequence[Bundled]) -> bytes:
    packs = sorted({place.pack for one in commits for place in one.places if place})
    number = {pack: at for at, pack in enumerate(packs)}
    header = {
        "category": category_id,
        "first": span.first,
        "stop": span.stop,
        "lengths": [len(one.line) for one in commits],
        "bytes": [one.bytes for one in commits],
        "packs": packs,
        "places": [[place and [number[place.pack], place.at] for place in one.places] for one in commits],
        "dictionaries": sorted(frozenset[str]().union(*(one.dictionaries for one in commits))),
    }
    return document.encode(KIND, VERSION, header) + b"".join(one.line for one in commits)


def read(category: Category, span: CommitSpan) -> Bundle:
    """Raises FileNotFoundError if there is none, or no more."""
    path = path_of(category, span)
    where = f"{category.store.root}/{path}"
    buffer = category.store.buffer(path)
    header = _first_line(buffer)
    body = document.decode(header, KIND, VERSION, where=where, remedy=_REMEDY)
    try:
        if (body["category"], body["first"], body["stop"]) != (category.id, *span):
            raise ValueError("it holds other commits than its name says")
        packs = tuple(said.file_name(name) for name in said.items(body["packs"]))
        ends = tuple(accumulate(said.whole(length) for length in said.items(body["lengths"])))
        sizes = tuple(said.whole(size) for size in said.items(body["bytes"]))
        places = tuple(
            tuple(_place(place, packs) for place in said.items(of_commit))
            for of_commit in said.items(body["places"])
        )
        dictionaries = frozenset(said.file_name(id_) for id_ in said.items(body["dictionaries"]))
        if {len(ends), len(sizes), len(places)} != {span.stop - span.first}:
            raise ValueError("it describes another number of commits")
        if len(header) + ends[-1] != buffer.size:
            raise ValueError(f"it has {buffer.size} bytes, not {len(header) + ends[-1]}")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _corrupt(str(error), where) from error
    return Bundle(span, buffer.slice(len(header)), ends, sizes, places, packs, dictionaries, where)


def _first_line(buffer: pa.Buffer) -> bytes:
    """A header has about 30 bytes for each commit: looking for its end copies little."""
    size = 4096
    while True:
        head = buffer.slice(0, min(size, buffer.size)).to_pybytes()
        end = head.find(b"\n")
        if end >= 0 or size >= buffer.size:
            return head[: end + 1] if end >= 0 else head  # type: ignore[no-any-return]
        size *= 4


def _place(value: object, packs: tuple[str, ...]) -> PackPlace | None:
    if value is None:
        return None
    pack, at = said.items(value)
    return PackPlace(packs[said.whole(pack)], said.whole(at))


def _corrupt(what: str, where: str) -> CorruptFile:
    return CorruptFile(
        f"the file is a bundle of commits, but not this one: {what}", where=where, hint=_REMEDY
    )
