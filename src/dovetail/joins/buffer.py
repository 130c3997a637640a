"""Law: a buffer is a ring that never fills up: it makes room before rows are inserted.

A ring that grows gets room for the rows that come, and for a twelfth more than it had. So a buffered row
takes at most 32 bytes, in all but small buffers. Most growth only moves entries (`rings.shift`); they are
linked again when the number of heads doubles. A ring full of dead entries is rebuilt in its own size if that
gives as much room, and shrinks if less than 7/16 full. Dead rows hold their block until all in it are dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.joins.journal import BufferJournal
from dovetail.kernels import ring as rings
from dovetail.kernels.pick import NO_ROW, prefer, replace
from dovetail.kernels.ring import BLOCK_ROWS, ENTRY, Bits, Bools, Ring, UInt32s

Int64s = NDArray[np.int64]

Allocate = Callable[[str, int, bool], Ring]
"""`allocate(side, capacity, with_best)` gives the arrays of an empty ring: in memory, or mapped."""

SMALLEST_ROWS = 4 * BLOCK_ROWS
SPARE, FEW = 12, 64
"""Rows for which a ring that grows has one slot more; and for which it has one more in any case."""


def in_memory(side: str, capacity: int, with_best: bool) -> Ring:
    best = capacity if with_best else 0
    ring = Ring(
        np.empty(rings.META_FIELDS, np.int64),
        np.empty(rings.heads_for(capacity), np.uint32),
        np.empty(capacity // BLOCK_ROWS, np.int64),
        np.empty(capacity // BLOCK_ROWS, np.int64),
        np.empty(capacity, ENTRY),
        np.empty(best, np.int64),
        np.empty(best, np.int64),
    )
    rings.clear(ring)
    return ring


class Held(NamedTuple):
    """Buffered rows as columns, as in snapshots and rebuilds. `more`: more bits of the hash; 0: unknown."""

    tag: UInt32s
    time: Int64s
    row: Int64s
    matched: Bools
    best_time: Int64s
    best_row: Int64s
    more: Bits

    @classmethod
    def fresh(
        cls, tag: UInt32s, time: Int64s, row: Int64s, matched: Bools | None = None, more: Bits | None = None
    ) -> Held:
        """Rows that have chosen no partner."""
        flags = np.zeros(len(row), np.bool_) if matched is None else matched
        nobody = np.full(len(row), NO_ROW, np.int64)
        unknown = np.zeros(len(row), np.uint16) if more is None else more
        return cls(tag, time, row, flags, nobody, nobody, unknown)

    def where(self, keep: Bools) -> Held:
        kept = np.flatnonzero(keep)
        return self if len(kept) == len(keep) else Held._make(column.take(kept) for column in self)

    def joined(self, other: Held) -> Held:
        return Held._make(np.concatenate([one, more]) for one, more in zip(self, other, strict=True))


class Buffer:
    """The buffered rows of one side of a join."""

    def __init__(self, side: str, ring: Ring, allocate: Allocate) -> None:
        self.side = side
        self.ring = ring
        self.journal: BufferJournal | None = None
        self.most_bytes = self.bytes
        self._allocate = allocate

    def keep_journal(self) -> None:
        """From now on, note what changes."""
        self.journal = BufferJournal(self)

    @classmethod
    def empty(cls, side: str, with_best: bool, allocate: Allocate = in_memory) -> Buffer:
        return cls(side, allocate(side, SMALLEST_ROWS, with_best), allocate)

    def emptied(self, with_best: bool) -> Buffer:
        """An empty buffer in place of this one, whose rows were copied out."""
        return Buffer.empty(self.side, with_best, self._allocate)

    @property
    def rows(self) -> int:
        return int(self.ring.meta[rings.LIVE])

    @property
    def low_time(self) -> int:
        """No buffered row has a time before this."""
        return int(self.ring.block_min.min())

    @property
    def bytes(self) -> int:
        return sum(int(column.nbytes) for column in self.ring)

    def insert(self, held: Held) -> Int64s:
        """Buffer rows; returns their slots, good until the next insert."""
        self._make_room(len(held.row))
        return self._append(held)

    def load(self, pieces: Iterable[Held], rows: int) -> None:
        """Buffer many rows that come in pieces, about `rows` in all. It makes room once: a ring that grows
        piece by piece would insert most rows several times. If `rows` is too low, the ring grows as usual."""
        self._make_room(rows + rows // SPARE)
        for held in pieces:
            if not self._fits(len(held.row)):
                self._make_room(len(held.row))
            self._append(held)

    def _fits(self, count: int) -> bool:
        return int(self.ring.meta[rings.USED]) + count <= len(self.ring.entries)

    def _append(self, held: Held) -> Int64s:
        count = len(held.row)
        ring = self.ring
        slots: Int64s = (ring.meta[rings.HEAD] + np.arange(count, dtype=np.int64)) % len(ring.entries)
        rings.insert(ring, held.tag, held.more, held.time, held.row, held.matched)
        if self.journal is not None:
            self.journal.came += count
        if len(ring.best_row):
            rings.choose(ring, slots, held.best_time, held.best_row)
        return slots

    # --- look: slots are good until rows are inserted ---

    def slots(self) -> Int64s:
        """For all live rows, oldest arrival first."""
        return rings.live_slots(self.ring)

    def held(self) -> Held:
        """All live rows, oldest arrival first."""
        return self.held_at(self.slots())

    def held_at(self, slots: Int64s) -> Held:
        rows, times, matched = self.at(slots)
        held = Held.fresh(self.tags_at(slots), times, rows, matched, rings.more_at(self.ring, slots))
        if not len(self.ring.best_row):
            return held
        return held._replace(best_time=self.ring.best_time[slots], best_row=self.ring.best_row[slots])

    def at(self, slots: Int64s) -> tuple[Int64s, Int64s, Bools]:
        """Row numbers, times and matched flags."""
        return rings.rows_at(self.ring, slots)

    def tags_at(self, slots: Int64s) -> UInt32s:
        return rings.tags_at(self.ring, slots)

    def probe(self, held: Held, low_us: int, high_us: int) -> tuple[Int64s, Int64s]:
        """Pairs (position of a probing row, slot) with equal tags, and more bits that may be equal; the
        buffered row's time between `time + low_us` and `time + high_us`."""
        return rings.probe(self.ring, held.tag, held.more, held.time, low_us, high_us)

    def find(self, tags: UInt32s, rows: Int64s) -> Int64s:
        """The slots of rows by their numbers; -1 for those that are not held."""
        return rings.find(self.ring, tags, rows)

    def crowded(self, tags: UInt32s, most: int) -> tuple[Int64s, Int64s]:
        """Slots of the rows with these tags, where a tag has more than `most`, and which tag each has."""
        return rings.crowded(self.ring, tags, most)

    # --- change ---

    def expire(self, bound: int) -> Int64s:
        """Take out the rows before `bound`. Their slots can still be looked at."""
        return self._noted(rings.expire(self.ring, bound))

    def kill(self, slots: Int64s) -> Int64s:
        """Take out rows; gives the slots of those that were live."""
        return self._noted(rings.kill(self.ring, slots))

    def _noted(self, gone: Int64s) -> Int64s:
        if self.journal is not None and len(gone):
            self.journal.gone.append(self.at(gone)[0])
        return gone

    def mark(self, slots: Int64s) -> None:
        """These rows have matched."""
        if self.journal is not None:
            rows, _, matched = self.at(slots[slots >= 0])
            self.journal.marked.append(rows[~matched])
        rings.mark(self.ring, slots)

    def prefer(
        self, rule: int, slots: Int64s, times: Int64s, partner_times: Int64s, partners: Int64s
    ) -> None:
        """Let rows choose the better of the partner they have and the one that came."""
        ring = self.ring
        self._note_choice(slots)
        change = prefer(rule, slots, times, partner_times, partners, ring.best_time, ring.best_row)
        rings.stamp(ring, change)  # the fingerprint covers choices too

    def choose(self, slots: Int64s, partner_times: Int64s, partners: Int64s) -> None:
        """Let rows, each once, have these partners in place of those they have chosen so far."""
        ring = self.ring
        self._note_choice(slots)
        rings.stamp(ring, replace(slots, partner_times, partners, ring.best_time, ring.best_row))

    def _note_choice(self, slots: Int64s) -> None:
        if self.journal is not None and len(slots):
            self.journal.chose.append((self.tags_at(slots), self.at(slots)[0]))

    def _make_room(self, count: int) -> None:
        capacity, used = len(self.ring.entries), int(self.ring.meta[rings.USED])
        wanted = self.rows + count
        roomy = capacity > SMALLEST_ROWS and wanted < capacity * 7 // 16
        if self._fits(count) and not roomy:
            return
        most = wanted + self.rows // SPARE + wanted // FEW
        enough = max(SMALLEST_ROWS, rings.capacity_for(most))
        capacity = enough if roomy else max(capacity, enough)
        old = self.ring
        self.ring = self._allocate(self.side, capacity, len(old.best_row) > 0)
        self.most_bytes = max(self.most_bytes, self.bytes)
        if len(self.ring.heads) == len(old.heads) and used + count + (most - wanted) // 2 <= capacity:
            rings.shift(self.ring, old)
            return
        if self.journal is not None:  # the new ring has the live ones of them, still as the last
            self.journal.came = len(rings.newest_slots(old, self.journal.came))
        rings.refill(self.ring, old)
