"""A category: an ordered, durable stream of rows, as a cheap handle that holds no lock and no open file.

Laws. What no commit names does not exist. Commit numbers are dense; a commit appears whole or not at all. A
producer's batch enters once, however often it is appended. Retention never passes a reader's floor, and
reading what it removed is an error that says so.

    tasks:   write_segments(batches) ──► segments/<unique>.arrow     (nobody sees them yet)
    driver:  append(infos)           ──► commits/<n>.json            (now they exist, once)
    readers: next_commit(known), commits(a, b), open_segment(info)

A handle has one generation of the category's schema (`generations.py`). It writes that, and reads rows of all
generations in its columns.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from dovetail.errors import CategoryMismatch, CategoryNotFound, CorruptFile
from dovetail.log import appending, definition, dictionary, generations, history, ledger, rejected, retention
from dovetail.log import segment as segment_format
from dovetail.log.cache import SEGMENTS, VERIFIED
from dovetail.log.commit import Commit, PlacedSegment, RejectedRows, SegmentInfo
from dovetail.log.definition import Definition, folder_of
from dovetail.log.dictionary import Codec
from dovetail.log.generations import generations_of
from dovetail.log.homes.filesystem import Store, absolute_home, open_store
from dovetail.log.ledger import CommitRange
from dovetail.log.limits import Limits, Role, limits_of
from dovetail.log.packer import Packer
from dovetail.log.schema import log_schema
from dovetail.log.segment import MAX_BYTES, MAX_ROWS, BucketOf, HashOf, Segment, TimeOf
from dovetail.log.table import NEWEST, STORED, WRITTEN, Int64s
from dovetail.model.compression import Compression
from dovetail.model.promise import Promise


@dataclass(frozen=True)
class Category:
    """Handle of one category; it may be pickled and sent to other processes."""

    home: str
    definition: Definition

    @classmethod
    def create(
        cls,
        home: str,
        name: str,
        schema: pa.Schema,
        *,
        buckets: int = 64,
        time_column: str | None = None,
        compression: Compression = "auto",
        role: Role = "input",
        evolve: bool = False,
    ) -> Category:
        """Make a category, or open an existing one if it is the same: the newest generation that has
        the schema. With `evolve` a schema that none has becomes the next, and so does another compression."""
        wanted = cls.draft(
            home, name, schema, buckets=buckets, time_column=time_column, compression=compression, role=role
        )
        path = f"{wanted.folder}/category.json"
        if wanted.store.size(path) is None:
            wanted.make_folders()
            if wanted.store.create(path, definition.encode(wanted.definition)):
                return wanted
        found = cls.open(home, name)
        for one in reversed(generations_of(found.home, name)):
            if one.serves(wanted.definition):
                return cls(found.home, one)
        alike = replace(found.definition, schema=wanted.schema, compression=wanted.definition.compression)
        if evolve and alike.serves(wanted.definition):
            return found.evolve(schema, None if compression == "auto" else compression)
        raise CategoryMismatch(
            f"category {name} exists already, and is another one: {found.definition}",
            where=found.where,
            expected=str(wanted.definition),
            hint="use another category name, or write rows of the schema that is there",
        )

    @classmethod
    def draft(
        cls,
        home: str,
        name: str,
        schema: pa.Schema,
        *,
        buckets: int = 64,
        time_column: str | None = None,
        compression: Compression = "auto",
        role: Role = "input",
    ) -> Category:
        """A category that is not made yet. After `make_folders` segments may be written for it, and appended
        after `create`: so a first file that turns out to be unreadable leaves no category behind."""
        schema = log_schema(schema, where=f"category {name}")
        made = Definition(name, uuid.uuid4().hex, schema, buckets, time_column, compression, role)
        folder_of(name)
        return cls(absolute_home(home), made)

    @classmethod
    def open(cls, home: str, name: str, generation: int | None = None) -> Category:
        """The category of that name: in its newest generation, or in one that a writer began with. A process
        that has opened it before looks only whether its file is the same one, and for new generations."""
        home = absolute_home(home)
        try:
            known = generations_of(home, name)
        except FileNotFoundError:
            there = ", ".join(list_categories(home)) or "none yet"
            raise CategoryNotFound(
                f"there is no category {name}",
                where=open_store(home).root,
                expected=f"one of the categories of this home: {there}",
                hint="`dovetail log append` makes one from a file; --home or DOVETAIL_HOME chooses the home",
            ) from None
        newest = cls(home, known[-1])
        return newest if generation is None else newest.at(generation)

    def at(self, generation: int) -> Category:
        """The same category in another generation."""
        if generation == self.generation:
            return self
        schema = generations.schema_of(self, generation)
        return Category(self.home, replace(self.definition, schema=schema, generation=generation))

    def evolve(self, schema: pa.Schema, compression: Compression | None = None) -> Category:
        """The category with these columns, in its newest generation; a new one if that has others, or is
        compressed otherwise. Columns may come, go, come back and become wider. What is written with an
        earlier generation still enters."""
        return Category(self.home, generations.evolve(self.home, self.name, schema, compression))

    def reading(self, schema: pa.Schema) -> Category:
        """To read rows of all generations in these columns, by name."""
        if schema.equals(self.schema):
            return self
        timed = self.time_column if self.time_column in schema.names else None
        return Category(
            self.home, replace(self.definition, schema=schema, time_column=timed, generation=None)
        )

    def with_dropped(self) -> Category:
        """To read also columns that earlier generations had, and this one has not."""
        return self if not self.generation else self.reading(generations.every_column(self))

    def forget(self) -> None:
        """Delete a category that has no rows. Its first schema goes last: until then it is whole."""
        for one in reversed(generations_of(self.home, self.name)[1:]):
            self.store.delete(generations.path_of(self.name, one.generation or 0))
        self.store.delete(f"{self.folder}/category.json")

    def make_folders(self) -> None:
        for part in ("commits", "segments", "rejected", "readers"):
            self.store.make_folder(f"{self.folder}/{part}")

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def id(self) -> str:
        """Identity: new whenever a category is made, even under an old name."""
        return self.definition.id

    @property
    def schema(self) -> pa.Schema:
        return self.definition.schema

    @property
    def generation(self) -> int | None:
        """Which of the category's schemas this is; None if it is one that only readers have."""
        return self.definition.generation

    @property
    def buckets(self) -> int:
        return self.definition.buckets

    @property
    def time_column(self) -> str | None:
        return self.definition.time_column

    @property
    def store(self) -> Store:
        return open_store(self.home)

    @property
    def folder(self) -> str:
        """The category's folder, below its home."""
        return folder_of(self.name)

    @property
    def where(self) -> str:
        """The category's folder, for people."""
        return f"{self.store.root}/{self.folder}"

    def first_commit(self) -> int:
        """The lowest commit number that is still there; 0 if nothing was ever removed."""
        return history.bounds(self).first

    def next_commit(self, known: int = 0) -> int:
        """The number that the next commit will get. Costs one look for each commit that is new since `known`;
        a process that knows nothing lists the folder once."""
        return history.next_commit(self, known)

    def commit(self, n: int) -> Commit:
        """Commit number `n`, read and checked."""
        return history.commits(self, n, n + 1)[0]

    def commits(self, start: int, stop: int) -> list[Commit]:
        """Commits `start..stop-1`, read and checked."""
        return history.commits(self, start, stop)

    def range(self, start: int, stop: int) -> CommitRange:
        """The rows and segments of commits `start..stop-1`, however many: no commit is read that has none of
        the rows that are asked for."""
        return ledger.commit_range(self, start, stop)

    def last_of(self, producer: str) -> int | None:
        """The number of the newest commit of a producer, or of the first commit if that one is gone; None if
        it has never appended. However many others have come since, a few commits are read."""
        stop = self.next_commit()
        batch = self.commit(stop - 1).producers.get(producer) if stop else None
        return None if batch is None else appending.commit_of(self, producer, batch, stop).number

    def last_batch(self, producer: str) -> int:
        """The number of the last batch that a producer has appended; -1: none."""
        stop = self.next_commit()
        return self.commit(stop - 1).producers.get(producer, -1) if stop else -1

    def first_row(self, n: int) -> int:
        """The number of the first row from commit `n` on, which may be the next one to come."""
        if n < self.next_commit(n):
            return self.commit(n).first_row
        return self.commit(n - 1).next_row if n > self.first_commit() else 0

    def first_with_time(self, start: int, stop: int, since_us: int) -> int:
        """The first of commits `start..stop-1` with a row at or after an event time; `stop` if none has."""
        return ledger.covering(self, start, stop).first_from(NEWEST, since_us, start, stop)

    def with_time(self, start: int, stop: int, since_us: int) -> tuple[Int64s, int]:
        """The numbers of those of commits `start..stop-1` that have a row at or after an event time, and how
        many rows they have together. No commit is read for it."""
        known = ledger.covering(self, start, stop)
        numbers = known.all_from(NEWEST, since_us, start, stop)
        return numbers, int(known.rows_of(numbers).sum())

    def picked(self, numbers: Sequence[int]) -> list[Commit]:
        """Commits by their numbers, read and checked."""
        return list(history.picked(self, numbers).values())

    def first_written(self, start: int, stop: int, since_us: int) -> int:
        """The first of commits `start..stop-1` that was written at that time or later, or `stop`."""
        return ledger.covering(self, start, stop).first_from(WRITTEN, since_us, start, stop)

    def first_stored(self, start: int, stop: int, most_bytes: int) -> int:
        """The first of commits `start..stop-1` that takes at most that many bytes together with those after
        it, or `stop`."""
        return ledger.covering(self, start, stop).first_holding(STORED, most_bytes, start, stop)

    def first_of_last_rows(self, start: int, stop: int, count: int) -> int:
        """The first of commits `start..stop-1` with one of the last `count` rows before commit `stop`."""
        known = ledger.covering(self, start, stop)
        return known.ends_after(known.first_row(stop) - count, start, stop)

    def write_segments(
        self,
        batches: Iterable[pa.RecordBatch],
        bucket_of: BucketOf,
        time_of: TimeOf,
        *,
        hash_of: HashOf | None = None,
        max_rows: int = MAX_ROWS,
        max_bytes: int = MAX_BYTES,
        packed: bool = True,
    ) -> list[SegmentInfo]:
        """Write rows as segments, each a chunk of the batches sorted by bucket, for `append` to name later.

        `bucket_of` and `time_of` are given whole chunks in the category's schema. `time_of` gives int64
        microseconds, codes for no time among them, or None if the rows have no event times. With `hash_of`
        a segment names its frequent keys. Not `packed`: whatever the category says, nothing is compressed.
        """
        if (generation := self.generation) is None:
            raise ValueError("rows are written in a schema of the category")
        pieces = segment_format.chunks(
            batches, self.schema, max_rows=max_rows, max_bytes=max_bytes, where=f"category {self.name}"
        )
        folder, packer = f"{self.folder}/segments", Packer(self)
        with self.store.writing() as write:
            return [
                segment_format.write_segment(
                    write,
                    folder,
                    piece,
                    bucket=bucket_of(piece),
                    buckets=self.buckets,
                    times=time_of(piece),
                    hashes=hash_of(piece) if hash_of else None,
                    pack=packer.pack if packed else lambda batch, apart: None,
                    generation=generation,
                    message_bytes=self.store.message_bytes,
                )
                for piece in pieces
            ]

    def write_rejected(self, raws: Sequence[str] | pa.Array, reason: str | Sequence[str]) -> RejectedRows:
        """Keep rows aside that could not be read, with one reason or one for each, for `append` to name."""
        return rejected.write_rejected(self, raws, reason)

    def read_rejected(self, info: RejectedRows) -> list[dict[str, str]]:
        """The rows kept aside in one file: `reason` and `raw` of each."""
        return rejected.read_rejected(self, info)

    def append(
        self,
        segments: Sequence[SegmentInfo],
        *,
        producer: str | None = None,
        batch: int | None = None,
        rejected: Sequence[RejectedRows] = (),
        promise: Promise | None = None,
        covers: Mapping[str, Any] | None = None,
    ) -> Commit | None:
        """Name the segments in one new commit: now their rows exist.

        Returns the commit that carries the batch, an earlier one if this producer has appended this or a
        later batch before; None if there is nothing to append. Without a producer every call makes a commit.
        A new promise makes a commit even without rows, because readers may wait for time to pass. So
        does what the batch `covers` of its source: files without rows are read once, too.
        """
        return appending.append(
            self, segments, rejected, producer=producer, batch=batch, promise=promise, covers=covers
        )

    def pass_promises_on(
        self, gone: Collection[str], heirs: Collection[str], columns: Collection[str]
    ) -> Commit | None:
        """Let heirs hold the promises of producers that write no more: see `appending`."""
        return appending.pass_promises_on(self, gone, heirs, columns)

    def open_segment(self, info: SegmentInfo) -> Segment:
        """The rows of a segment in the columns of this category, mapped where the home is local, and checked
        once per process."""
        if info.generation == self.generation:
            return self._stored_segment(info)
        key = info.name, self.definition.fingerprint
        found = SEGMENTS.get(key)
        if found is None:
            stored = self._stored_segment(info)
            found = stored.seen_as(self.schema, f"{self.where}/{info.own_path}")
            SEGMENTS.put(key, found, _made_bytes(stored, found))
        return replace(found, info=info)

    def _stored_segment(self, info: SegmentInfo) -> Segment:
        cached = SEGMENTS.get(info.name)
        if cached is not None:
            return replace(cached, info=info)
        try:
            pieces, path = self._bytes(info)
        except FileNotFoundError:
            self._refuse_if_trimmed(info)
            raise CorruptFile(
                "a segment is missing",
                where=f"{self.where}/segments/{info.name}",
                expected=f"a file of {info.bytes} bytes",
                hint="restore it from a copy; without it readers can only start after its commit",
            ) from None
        where = f"{self.where}/{path}"
        # Messages are fetched again each time, by a client that leaves it to us to check them.
        verified = self.store.message_bytes is None and info.name in VERIFIED
        found = segment_format.read_segment(
            pieces,
            info,
            generations.schema_of(self, info.generation),
            codec_of=lambda id_: self._codec(info, id_),
            where=where,
            verified=verified,
        )
        VERIFIED.add(info.name)
        SEGMENTS.put(info.name, found, 0 if self.store.local else info.bytes)
        return found

    def read_named(self, info: RejectedRows) -> bytes:
        """The bytes of rejected rows, wherever they are now."""
        return b"".join(self._bytes(info)[0])

    def _bytes(self, info: SegmentInfo | RejectedRows) -> tuple[list[pa.Buffer], str]:
        """The bytes of a file that a commit names, in pieces, and where these were. Compaction may move a
        file under a reader: if it is not where its commit said, the commit is asked again."""
        if isinstance(info, SegmentInfo) and not isinstance(info, PlacedSegment):
            # Not committed yet, so nobody moves it.
            return self.store.pieces(f"{self.folder}/{info.own_path}"), info.own_path
        while True:
            at, size = (info.place.at, info.bytes) if info.place else (0, None)
            try:
                return self.store.pieces(f"{self.folder}/{info.path}", at, size), info.path
            except FileNotFoundError:
                commit = None if info.commit is None else history.moved(self, info.commit)
                now = [one for one in commit.files if one.own_path == info.own_path] if commit else []
                if not now or now[0].place == info.place:
                    raise
                info = now[0]

    def _codec(self, info: SegmentInfo, dictionary_id: str | None) -> Codec:
        try:
            return dictionary.codec_of(self, dictionary_id)
        except CorruptFile:
            self._refuse_if_trimmed(info)
            raise

    def _refuse_if_trimmed(self, info: SegmentInfo) -> None:
        if isinstance(info, PlacedSegment) and info.commit < (first := self.first_commit()):
            raise history.truncated(self, info.commit, first) from None

    def set_reader(
        self, reader: str, needs_commit: int, *, application: str | None = None, lease_s: float | None = None
    ) -> None:
        """Record that `reader` still needs commit `needs_commit` and all after it, until its application, if
        it has one, is gone from the home. With a lease it counts no more if it is not renewed in time."""
        retention.set_reader(self, reader, needs_commit, application, lease_s)

    def drop_reader(self, reader: str) -> None:
        """Forget a reader: retention no longer waits for it."""
        retention.drop_reader(self, reader)

    def readers(self) -> dict[str, int]:
        """The lowest commit that each live reader needs."""
        return {reader.name: reader.needs_commit for reader in self.marks() if reader.gone is None}

    def marks(self) -> list[retention.KnownReader]:
        """All readers that left a mark, also those that hold nothing back any more, and why."""
        return retention.readers(self)

    def limits(self) -> Limits:
        """How long the category keeps rows."""
        return limits_of(self)

    def retain(self, *, now_us: int | None = None) -> int:
        """Delete the commits that no reader needs, or that are beyond the limits if there are no readers; and
        put old files together. Returns how many commits went."""
        return retention.retain(self, now_us=now_us)

    def compact(self) -> bool:
        """Put some more old files together; whether there was anything to do."""
        return retention.compact(self)

    def remove_orphans(self, *, grace_s: float = retention.GRACE_S) -> int:
        """Delete files that no commit names and that are older than `grace_s`; returns how many went."""
        return retention.remove_orphans(self, grace_s=grace_s)


def _made_bytes(stored: Segment, found: Segment) -> int:
    """Memory that columns take which are not in the file as they are read: those of another type."""
    types = {field.name: field.type for field in stored.mapped.schema}
    return sum(
        column.nbytes
        for name, column in zip(found.mapped.schema.names, found.mapped.columns, strict=True)
        if not types.get(name, column.type).equals(column.type)
    )


def list_categories(home: str) -> list[str]:
    """The names of the categories of a home, sorted."""
    store = open_store(absolute_home(home))
    return sorted(
        name for name in store.folders("log") if store.size(f"log/{name}/category.json") is not None
    )
