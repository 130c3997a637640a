"""A home on Kafka: every file has a record, and reading the records in order gives all files.

    <prefix>.names            one record for each file, compacted; small files are in it (`names.py`)
    <prefix>.content          the parts of larger ones, compacted
    <prefix>.log.<category>   segments: a message is one Arrow batch of one bucket, and its key the bucket

Law, as of every store: a file under its name is whole, for its record comes after the messages with its
content; `create` never replaces a file, for all see the same record as the first (`names.py`).

There may be records that a process has not seen yet. So before it reads a file that may have changed, it asks
the broker where the topic of names ends, and reads up to there. The content of a file that is never replaced
is read without asking.

Deleting. Records of names and parts get a successor without a value, and the broker drops both. Segments go
from the beginning of their topic on, up to the first that has a record, and with them messages that no file
names. Young messages stay: they may belong to a segment that is being written, whose record comes last.

A large row. Brokers take records up to a size, and a row may be larger. A message that does not fit is cut
into records of exactly `RECORD_BYTES`, and a shorter one at its end. So a reader lays each record of this
size and the next one end to end. A whole message of this very size does no harm: what follows is then laid
behind it, and several messages in one piece are read as well.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dovetail.crash_points import file_crash_point
from dovetail.log.bucket_messages import bucket_of
from dovetail.log.homes.claims import Claims
from dovetail.log.homes.filesystem import Entry, Output, Write, shown
from dovetail.log.homes.kafka.address import address_of
from dovetail.log.homes.kafka.connection import (
    FOLLOWED,
    HERE_AND_THERE,
    IN_ORDER,
    MESSAGE_BYTES,
    Connection,
    Record,
    Sent,
)
from dovetail.log.homes.kafka.names import CREATED, FilePart, Named, Names, encoded

SMALL_BYTES = 16 << 10
"""Content up to this is in the record of its name, which every process reads."""
PART_BYTES = 960 << 10
"""For larger content. By default brokers take up to a megabyte."""
RECORD_BYTES = MESSAGE_BYTES // 2
"""For messages of segments, at most: the broker counts what is around them, too."""
ON_WAY_BYTES = 16 << 20
"""For a segment, sent and not yet arrived. The client has a copy of it."""
WRITING_S = 900.0
"""How long a segment may take from its first message to its record."""
FREE_S = 5.0
"""How often a process deletes from the beginning of a topic."""
_SEGMENT = re.compile(r"log/([^/]+)/segments/[^/]+")
_STAYS = {"retention.ms": "-1", "retention.bytes": "-1", "message.timestamp.type": "LogAppendTime"}
_STAYS |= {"max.message.bytes": str(MESSAGE_BYTES)}
_COMPACTED = _STAYS | {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.2",
    "segment.ms": "3600000",  # the broker compacts what is no longer written to
}


class _Begun(NamedTuple):
    """A file on its way to the brokers: its record, which still lacks the parts, and their messages."""

    path: str
    file: Named
    sizes: list[int]
    sent: list[Sent]


class KafkaStore:
    local = False
    locks = True
    message_bytes: int | None = RECORD_BYTES

    def __init__(self, home: str) -> None:
        self.root = shown(home)
        self._address = address_of(home)
        self._names_topic, self._content_topic = map(self._address.topic, ("names", "content"))
        self._connection = Connection(self._address, self.root)
        self._guards: list[Callable[[], None]] = []
        self._claims = Claims(self)
        self._freed_s: dict[str, float] = {}
        self._names, self._known = Names(self.root), 0
        self._replacing: set[str] = set()
        self._replaced: list[Named] = []

    @contextmanager
    def guarded(self, check: Callable[[], None]) -> Iterator[None]:
        """While this is held, `check` may forbid to create files."""
        self._guards.append(check)
        try:
            yield
        finally:
            self._guards.remove(check)

    def read(self, path: str) -> bytes:
        return self.buffer(path).to_pybytes()  # type: ignore[no-any-return]

    def buffer(self, path: str, start: int = 0, size: int | None = None) -> pa.Buffer:
        return _joined(self.pieces(path, start, size))

    def pieces(self, path: str, start: int = 0, size: int | None = None) -> list[pa.Buffer]:
        file = self._file(path)
        while True:
            if file is None:
                raise FileNotFoundError(f"{self.root}/{path}")
            if file.damage is not None:
                raise file.damage
            stop = file.size if size is None else min(file.size, start + size)
            if file.content is not None:
                return [pa.py_buffer(file.content[start:stop])]
            if (found := self._fetched(file, start, stop)) is not None:
                return found
            # Its messages are gone. It may have been replaced or deleted since we learned of it.
            again = self._looked_up(path)
            if again is not None and again.id == file.id:
                raise FileNotFoundError(f"{self.root}/{path}")
            file = again

    def size(self, path: str) -> int | None:
        file = self._looked_up(path)
        return None if file is None else file.size

    def stamp(self, path: str) -> Hashable:
        file = self._looked_up(path)
        return None if file is None else file.offset

    def files(self, folder: str) -> list[Entry]:
        with self._refreshed() as names:
            return names.entries(folder)

    def names(self, folder: str) -> list[str]:
        with self._refreshed() as names:
            return list(names.inside(folder))

    def folders(self, folder: str) -> list[str]:
        with self._refreshed() as names:
            return names.folders(folder)

    def make_folder(self, folder: str) -> None:
        """A folder is there when it has a file."""

    def remove_folder(self, folder: str) -> None:
        """It is gone with its last file."""

    def write(self, path: str, fill: Callable[[Output], None]) -> None:
        with self.writing() as write:
            write(path, fill)

    @contextmanager
    def writing(self) -> Iterator[Write]:
        begun: list[_Begun] = []

        def write(path: str, fill: Callable[[Output], None]) -> None:
            self._claims.check()
            begun.append(self._begun(path, fill))

        yield write
        self._named(begun, final=True)

    def create(self, path: str, data: bytes) -> bool:
        for check in self._guards:
            check()
        if self._looked_up(path) is not None:
            return False
        begun = self._begun(path, lambda output: output.write(data), f"{path}{CREATED}{uuid.uuid4().hex}")
        [(file, offset)] = self._named([begun], final=True)
        with self._refreshed(offset + 1) as names:
            found = names.get(path)
        if found is not None and found.id == file.id:
            return True
        self._forget([file.key], [file])  # another was faster
        return False

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._claims.check()
        begun = self._begun(path, lambda output: output.write(data))
        with self._connection.lock:
            self._replacing.add(begun.file.id)
        [(_, offset)] = self._named([begun], final=False)
        with self._refreshed(offset + 1):
            replaced, self._replaced = self._replaced, []
            self._replacing.discard(begun.file.id)
        self._forget([], replaced)

    def delete(self, path: str) -> None:
        self._claims.check()
        file_crash_point(path, "begun")
        with self._refreshed() as names:
            keys, file = names.keys(path), names.get(path)
        if keys:
            self._forget(keys, [file] if file else [])
            file_crash_point(path, "deleted")
        if segment := _SEGMENT.fullmatch(path):
            self._free(segment[1])

    @contextmanager
    def lock(self, path: str, *, wait: bool = True) -> Iterator[bool]:
        with self._claims.held(path, wait=wait) as held:
            yield held

    def _file(self, path: str) -> Named | None:
        """What is known of a file, if it cannot have changed; else what there is now."""
        with self._connection.lock:
            known = self._names.get(path)
        return known if known is not None and known.final else self._looked_up(path)

    def _looked_up(self, path: str) -> Named | None:
        with self._refreshed() as names:
            return names.get(path)

    @contextmanager
    def _refreshed(self, stop: int | None = None) -> Iterator[Names]:
        """All names up to an offset of their topic, or up to its end."""
        end = self._connection.end(self._names_topic) if stop is None else stop
        with self._connection.lock:
            if end is not None and end > self._known:
                reader = self._connection.reader(self._names_topic, FOLLOWED)
                for record in reader.between(self._known, end):
                    self._fold(record)
                self._known = end
            yield self._names

    def _fold(self, record: Record) -> None:
        key = record.key.decode(errors="replace")
        gone = self._names.fold(key, record.value, offset=record.offset, written_s=record.written_s)
        if gone is not None and gone.parts and self._replacing:
            now = self._names.get(key)
            if now is not None and now.id in self._replacing:  # by us, so it is for us to delete its parts
                self._replaced.append(gone)

    def _begun(self, path: str, fill: Callable[[Output], None], key: str | None = None) -> _Begun:
        """Begin to send the content of a file."""
        file_crash_point(path, "begun")
        self._connection.make((self._names_topic, self._content_topic), _COMPACTED)
        id_ = uuid.uuid4().hex
        if segment := _SEGMENT.fullmatch(path):
            topic = self._topic_of(segment[1])
            self._connection.make((topic,), _STAYS)
            messages = _Messages(self._connection, topic, path.rpartition("/")[2])
            fill(messages)
            file = Named(key or path, id_, sum(messages.sizes), topic=topic)
            return _Begun(path, file, messages.sizes, messages.sent)
        content = _Content()
        fill(content)
        file = Named(key or path, id_, content.size)
        if content.size <= SMALL_BYTES:
            return _Begun(path, file._replace(content=b"".join(content.pieces)), [], [])
        topic, pieces = self._content_topic, _cut(content.pieces, PART_BYTES)
        file = file._replace(topic=topic, parts=tuple(FilePart(-1, piece.size) for piece in pieces))
        keys = _part_keys(file)
        sent = [self._connection.send(topic, key, piece) for key, piece in zip(keys, pieces, strict=True)]
        return _Begun(path, file, [piece.size for piece in pieces], sent)

    def _named(self, begun: Sequence[_Begun], *, final: bool) -> list[tuple[Named, int]]:
        """Give files their names, when the brokers have their content. Returns the files, and the offsets of
        their records."""
        files, sent = [], []
        for path, lacking, sizes, parts in begun:
            offsets = self._connection.arrive(parts)
            file_crash_point(path, "whole")
            file = lacking._replace(final=final, parts=tuple(map(FilePart, offsets, sizes)))
            files.append(file)
            sent.append(self._connection.send(self._names_topic, file.key, encoded(file)))
        found = self._connection.arrive(sent)
        for one in begun:
            file_crash_point(one.path, "named")
        return list(zip(files, found, strict=True))

    def _forget(self, keys: Sequence[str], files: Sequence[Named]) -> None:
        """Delete records of names, and the parts of files that no name has any more."""
        gone = [self._connection.send(self._names_topic, key, None) for key in keys]
        for file in files:
            if file.topic == self._content_topic:
                gone += [self._connection.send(file.topic, key, None) for key in _part_keys(file)]
        offsets = self._connection.arrive(gone)
        if keys:
            with self._refreshed(offsets[len(keys) - 1] + 1):
                pass  # this process must not see them again

    def _fetched(self, file: Named, start: int, stop: int) -> list[pa.Buffer] | None:
        """The bytes of a file in its messages; None if one of these is gone. Those of a segment that is asked
        for as a whole stay as they are."""
        wanted, numbers, at, skipped = [], [], 0, 0
        for number, part in enumerate(file.parts):
            if at < stop and at + part.bytes > start:
                wanted.append(part)
                numbers.append(number)
            elif not wanted:
                skipped += part.bytes
            at += part.bytes
        if not wanted:
            return [pa.py_buffer(b"")]
        habit = HERE_AND_THERE if file.topic == self._content_topic else IN_ORDER
        reader = self._connection.reader(file.topic, habit)
        with reader.lock:
            found = [one for run in _runs(wanted) for one in reader.between(*run)]
        if file.topic == self._content_topic:
            keys = _part_keys(file)
            ours = [one.key.decode(errors="replace") for one in found] == [keys[n] for n in numbers]
        else:
            name = file.key.rpartition("/")[2].encode()
            ours = all(one.of == name for one in found)
        values = [one.value or b"" for one in found]
        if not ours or [len(value) for value in values] != [part.bytes for part in wanted]:
            return None
        pieces = [pa.py_buffer(value) for value in values]
        if file.topic != self._content_topic and stop - start == sum(map(len, values)):
            return _whole_messages(pieces)
        return [_joined(pieces).slice(start - skipped, stop - start)]

    def _free(self, category: str) -> None:
        """Delete what is at the beginning of a topic of segments and has no name."""
        topic, now_s = self._topic_of(category), time.monotonic()
        if now_s - self._freed_s.get(topic, -FREE_S) < FREE_S:
            return
        self._freed_s[topic] = now_s
        with self._connection.lock:
            named = list(self._names.inside(f"log/{category}/segments").values())
        if any(file.damage is not None for file in named):
            return  # it says not where its messages are
        first = min((file.parts[0].offset for file in named if file.parts), default=None)
        if first is None:
            first = self._connection.end(topic)
        if first:
            self._connection.delete_before(topic, first, time.time() - WRITING_S)

    def _topic_of(self, category: str) -> str:
        return self._address.topic(f"log.{category}")


class _Messages:
    """What a segment is written through: each piece is a message, sent at once, as several records if it is
    large. So brokers have the first one while the next is made, and all are made in the same memory."""

    def __init__(self, connection: Connection, topic: str, of: str) -> None:
        self.sizes: list[int] = []
        self.sent: list[Sent] = []
        self._connection, self._topic, self._of = connection, topic, of
        self._arrived = self._on_way_bytes = 0

    def write(self, data: Any) -> None:
        message = data if isinstance(data, pa.Buffer) else pa.py_buffer(bytes(data))
        key = bucket_of(message)
        for piece in _cut([message], RECORD_BYTES):
            self._send(key, piece)

    def _send(self, key: str, piece: pa.Buffer) -> None:
        while self._on_way_bytes > ON_WAY_BYTES:
            self._connection.arrive([self.sent[self._arrived]])
            self._on_way_bytes -= self.sizes[self._arrived]
            self._arrived += 1
        self.sent.append(self._connection.send(self._topic, key, piece, self._of, anyhow=True))
        self.sizes.append(piece.size)
        self._on_way_bytes += piece.size


class _Content:
    """What a file is written through: keeps each piece as it was written."""

    def __init__(self) -> None:
        self.pieces: list[pa.Buffer] = []
        self.size = 0

    def write(self, data: Any) -> None:
        piece = data if isinstance(data, pa.Buffer) else pa.py_buffer(bytes(data))
        self.pieces.append(piece)
        self.size += piece.size


def _joined(pieces: Sequence[pa.Buffer]) -> pa.Buffer:
    """Laid end to end, in memory that Arrow has used before: fresh pages cost more than the copy."""
    if len(pieces) == 1:
        return pieces[0]
    whole = pa.allocate_buffer(sum(piece.size for piece in pieces))
    room, at = np.frombuffer(whole, np.uint8), 0
    for piece in pieces:
        room[at : at + piece.size] = np.frombuffer(piece, np.uint8)
        at += piece.size
    return whole


def _whole_messages(records: Sequence[pa.Buffer]) -> list[pa.Buffer]:
    """Records that belong together as one piece. Most messages are one record, and stay as they are."""
    found: list[list[pa.Buffer]] = []
    goes_on = False
    for record in records:
        if goes_on:
            found[-1].append(record)
        else:
            found.append([record])
        goes_on = record.size == RECORD_BYTES
    return [_joined(one) for one in found]


def _cut(pieces: Sequence[pa.Buffer], most_bytes: int) -> list[pa.Buffer]:
    """The same bytes in parts that fit into messages."""
    whole = pieces[0] if len(pieces) == 1 else pa.py_buffer(b"".join(pieces))
    return [whole.slice(at, min(most_bytes, whole.size - at)) for at in range(0, whole.size, most_bytes)]


def _part_keys(file: Named) -> list[str]:
    return [f"{file.id}/{number}" for number in range(len(file.parts))]


def _runs(parts: Sequence[FilePart]) -> Iterator[tuple[int, int]]:
    """Neighbouring messages, from one offset up to another: those of other writers may be in between."""
    first = last = parts[0].offset
    for part in parts[1:]:
        if part.offset != last + 1:
            yield first, last + 1
            first = part.offset
        last = part.offset
    yield first, last + 1
