"""Law: the records of a join's steps are one history: a chunk of them is whole or an error, and a step that
is planned again takes the place of what was recorded of it and of those after it.

Records are kept in chunks, `<state>/steps/<number of the first step>.json`. Each step rewrites the newest
chunk, which any store can do; the oldest chunks are deleted when there are many. Records are for people: the
join runs on without them, so a chunk that cannot be read stops only those who ask, not the writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.errors import CorruptFile, DovetailError
from dovetail.log import document
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.step_record import StepRecord

KIND, VERSION = "dovetail.steps", 3
READ = (1, 2, VERSION)
CHUNK_STEPS, CHUNK_COMMITS = 64, 256
"""A chunk is full when it has this many steps, or when its steps took this many commits."""
KEPT_CHUNKS = 1_600

_CHUNK = re.compile(r"(\d{12})\.json")


@dataclass
class StepLog:
    """The records of one join's steps, in the folder of its state."""

    home: str
    state_path: str
    _first: int | None = None  # of the newest chunk; None: not looked yet
    _chunk: list[dict[str, Any]] = field(default_factory=list)

    def write(self, record: StepRecord) -> None:
        if self._first is None or record.step <= self._last:
            self._go_back(record.step)
        if self._first is None or _full(self._chunk):
            self._first, self._chunk = record.step, []
            self._drop_old()
        self._chunk.append(record.to_json())
        self._store.replace(self._path(self._first), document.encode(KIND, VERSION, {"steps": self._chunk}))

    def read(self, since_step: int = 0) -> list[StepRecord]:
        """The records that are there from a step on, oldest first."""
        found: list[StepRecord] = []
        for chunk in self.newest_first():
            found[:0] = [record for record in chunk if record.step >= since_step]
            if chunk[0].step <= since_step:
                break
        return found

    def recent(self, steps: int) -> list[StepRecord]:
        """The newest records, oldest first: at least `steps` of them, if there are as many."""
        found: list[StepRecord] = []
        for chunk in self.newest_first():
            found[:0] = chunk
            if len(found) >= steps:
                break
        return found

    def newest_first(self) -> Iterator[list[StepRecord]]:
        """Chunk by chunk back in time; the records of a chunk are oldest first."""
        for first in reversed(self._chunks()):
            try:
                yield self._read(first)
            except FileNotFoundError:
                return  # dropped meanwhile, as is all that is older

    @property
    def _store(self) -> Store:
        return open_store(self.home)

    @property
    def _folder(self) -> str:
        return f"{self.state_path}/steps"

    @property
    def _last(self) -> int:
        return int(self._chunk[-1]["step"]) if self._chunk else 0

    def _path(self, first: int) -> str:
        return f"{self._folder}/{first:012d}.json"

    def _chunks(self) -> list[int]:
        """The first steps of the chunks, ascending."""
        names = self._store.names(self._folder)
        return sorted(int(match[1]) for name in names if (match := _CHUNK.fullmatch(name)))

    def _go_back(self, step: int) -> None:
        """To the chunk that the step continues: what is recorded from the step on is no longer so."""
        self._store.make_folder(self._folder)
        self._first, self._chunk = None, []
        before = self._chunks()
        while before and before[-1] >= step:
            self._store.delete(self._path(before.pop()))
        if not before:
            return
        try:
            found = [record for record in self._read(before[-1]) if record.step < step]
        except (DovetailError, FileNotFoundError):
            return
        if found and found[-1].step == step - 1:
            self._first, self._chunk = before[-1], [record.to_json() for record in found]

    def _drop_old(self) -> None:
        for first in self._chunks()[: -KEPT_CHUNKS + 1]:
            self._store.delete(self._path(first))

    def _read(self, first: int) -> list[StepRecord]:
        where = f"{self._store.root}/{self._path(first)}"
        remedy = "delete the file: only what explains its steps is lost, the join does not need it"
        body = document.decode(self._store.read(self._path(first)), KIND, READ, where=where, remedy=remedy)
        try:
            records = [StepRecord.from_json(said) for said in _list(body["steps"])]
            sound = [record.step for record in records] == list(range(first, first + len(records)))
        except (KeyError, TypeError, ValueError, AttributeError):
            sound = False
        if not sound:
            raise CorruptFile(
                "the file does not hold records of steps",
                where=where,
                expected=f"the steps from {first} on, without a gap",
                hint=remedy,
            )
        return records


def read_records(config: JoinConfig, since_step: int = 0) -> list[StepRecord]:
    """What is known of a join's steps from `since_step` on, oldest first."""
    return StepLog(config.home, config.state_path).read(since_step)


def unbroken(records: Sequence[StepRecord]) -> list[StepRecord]:
    """The newest records without a gap in their numbers."""
    start = len(records) - 1
    while start > 0 and records[start - 1].step == records[start].step - 1:
        start -= 1
    return list(records[max(0, start) :])


def _full(chunk: list[dict[str, Any]]) -> bool:
    commits = sum(len(step[side]["taken"]) for step in chunk for side in ("left", "right"))
    return len(chunk) >= CHUNK_STEPS or commits >= CHUNK_COMMITS


def _list(said: Any) -> list[Any]:
    if not isinstance(said, list) or not said:
        raise TypeError("not a list of records")
    return said
