"""What this process has read of immutable files, so that it reads and checks each once.

Law: keys are names that are never used twice (a category's identity with a commit number, a segment's unique
name), so an entry cannot go stale; forgetting one costs a read and nothing else.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import xxhash

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.log.bundle import Bundle
    from dovetail.log.commit import Commit
    from dovetail.log.definition import Definition
    from dovetail.log.dictionary import Dictionary
    from dovetail.log.history import LogBounds
    from dovetail.log.ledger import CommitLedger
    from dovetail.log.segment import Segment

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Keeps the entries used last, up to a number of entries and a number of bytes of memory."""

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def keys(self) -> list[Hashable]:
        """What it keeps; what was used last comes last."""
        with self._lock:
            return list(self._entries)

    @property
    def bytes(self) -> int:
        return self._bytes

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: Value, size: int = 0) -> None:
        """`size`: bytes of memory that the entry holds on to (none for a mapped file)."""
        with self._lock:
            self._bytes += size - self._entries.pop(key, (value, 0))[1]
            self._entries[key] = (value, size)
            while len(self._entries) > self.max_entries or (
                self._bytes > self.max_bytes and len(self._entries) > 1
            ):
                self._bytes -= self._entries.popitem(last=False)[1][1]

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._bytes -= self._entries.pop(key, (None, 0))[1]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._bytes = 0


class MetNames:
    """Which names this process has met, in memory of a fixed size: a set would grow for hours until it was
    full. A name in the slot of another takes its place, and the other is as if it had not been met. Two
    names count as the same if 64 bits of their hashes are the same, as contents do by their checksums."""

    def __init__(self, slots: int) -> None:
        self._hashes = np.zeros(slots, np.uint64)

    def __contains__(self, name: str) -> bool:
        known = xxhash.xxh3_64_intdigest(name.encode(errors="surrogatepass"))
        return bool(self._hashes[known % len(self._hashes)] == known)

    def add(self, name: str) -> None:
        known = xxhash.xxh3_64_intdigest(name.encode(errors="surrogatepass"))
        self._hashes[known % len(self._hashes)] = known

    def clear(self) -> None:
        self._hashes[:] = 0


COMMITS: Cache[Commit] = Cache(max_entries=4096, max_bytes=24 << 20)
"""Those read last. A parsed commit takes about 20 KB; what is needed of all of them is in LEDGERS."""
SEGMENTS: Cache[Segment] = Cache(max_entries=1024, max_bytes=1 << 30)
VERIFIED = MetNames(1 << 16)
"""Segments whose checksum this process has seen match."""
DEFINITIONS: Cache[tuple[Hashable, tuple[Definition, ...]]] = Cache(max_entries=256, max_bytes=0)
"""By home and name: what a category is in each generation, and the stamp of the file that says so."""
DICTIONARIES: Cache[Dictionary] = Cache(max_entries=64, max_bytes=0)
BLOCKS: Cache[pa.RecordBatch] = Cache(max_entries=1 << 16, max_bytes=64 << 20)
"""Unpacked blocks of compressed payload."""
BUNDLES: Cache[Bundle] = Cache(max_entries=64, max_bytes=128 << 20)

LEDGERS: Cache[CommitLedger] = Cache(max_entries=64, max_bytes=0)
"""By category identity: its commits as columns. These grow with the log, and nothing in them changes."""
CHECKPOINTED: Cache[int] = Cache(max_entries=1024, max_bytes=0)
"""By category identity: commits up to here have checkpoints, as far as this process knows."""
SWEPT: Cache[LogBounds] = Cache(max_entries=1024, max_bytes=0)
"""By category identity: the bounds up to which this process has deleted all that is gone."""

CACHES: tuple[Cache[Any] | MetNames, ...] = (
    COMMITS,
    SEGMENTS,
    VERIFIED,
    DEFINITIONS,
    DICTIONARIES,
    BLOCKS,
    BUNDLES,
    LEDGERS,
    CHECKPOINTED,
    SWEPT,
)
