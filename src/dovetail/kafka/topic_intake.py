"""A Kafka topic as an intake.

    look    ask for partitions and ends now and then; take over what the client has fetched
    take    all of that, with the offsets behind it, for one commit

Law: every record of the topic from the start on is in the category once, or in the category of rejects once.
Records that are gone before they were read stop the run, unless its query says to go on; then what is gone
is written to the rejects."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa

from dovetail.errors import InputError, Unreachable
from dovetail.kafka.allowance import Allowance
from dovetail.kafka.covered_offsets import CoveredOffsets, covered
from dovetail.kafka.decoding import Decoder, Reject
from dovetail.kafka.records import Records
from dovetail.kafka.rejects import Rejects
from dovetail.kafka.topic import Described, Topic, Trouble
from dovetail.kafka.topic_reader import FETCHED, TopicReader
from dovetail.log.category import Category
from dovetail.log.source_progress import Waiting
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.intake import Part
from dovetail.slicing.placement import Placement
from dovetail.slicing.sides import Written, write_rows

BATCH_RECORDS, BATCH_BYTES = 200_000, 32 << 20
"""What a commit covers at most, about."""
SHARED_RECORDS = 10_000
"""Fewer than this are not shared out to several threads."""
THREADS = os.cpu_count() or 1
ASK_EVERY_S = 1.0
"""How often brokers are asked for partitions and ends."""
BACK_S = 15.0
"""How long brokers have to be back before a topic counts as empty: its writers have waited for them, too, and
clients try again every ten seconds or sooner."""
PATIENCE_S = 120.0
"""How long a run that ends by itself waits for brokers."""


@dataclass(frozen=True)
class TopicReading:
    """How a topic is read. `start`: earliest, latest, a moment, or offsets by partition."""

    start: str | datetime | Mapping[int, int] = "earliest"
    records_per_s: int | None = None
    goes_on: bool = False  # although records are gone
    finite: bool = False  # up to what is there at the first look


@dataclass
class _Buffer:
    pieces: list[Records] = field(default_factory=list)
    records: int = 0
    bytes: int = 0

    def add(self, piece: Records) -> None:
        self.pieces.append(piece)
        self.records += len(piece)
        self.bytes += piece.bytes

    @property
    def full(self) -> bool:
        return self.records >= BATCH_RECORDS or self.bytes >= BATCH_BYTES


class TopicIntake:
    """`time`: the column whose values are the event times that a commit tells about."""

    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        topic: Topic,
        decoder: Decoder,
        rejects: Rejects,
        reading: TopicReading,
        *,
        time_column: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._category, self._slicer, self._topic, self._decoder = category, slicer, topic, decoder
        self._rejects, self._reading, self._clock = rejects, reading, clock
        self._placement = Placement(None, time_column)
        self._reader = TopicReader(topic, tuple(decoder.fields))
        self.next_batch = category.last_batch(slicer.producer) + 1
        self._covered = covered(category, slicer.producer, topic.name)
        self._id: str | None = None
        self._buffer = _Buffer()
        self._lost: list[Reject] = []
        self._ends: dict[int, int] = {}
        self._goal: dict[int, int] | None = None
        self._trouble: str | None = None
        self._asked_s, self._reached_s = -ASK_EVERY_S, clock()
        self._looked_s = clock()  # when brokers were asked what they answered last
        self._away_until_s = -math.inf  # when they did not answer last
        self._away_s: float | None = None  # since when somebody is whom the format has to ask
        self._allowance = Allowance(reading.records_per_s, clock)
        self._newest_us: int | None = None

    @property
    def settled_us(self) -> int | None:
        """All that brokers had when they were asked is taken. Brokers that are away may have more, and so may
        those who could not write to them."""
        reached = self._trouble is None and self._reader.refused is None and self._id is not None
        back = self._looked_s - self._away_until_s > BACK_S
        return int(self._looked_s * 1e6) if reached and back and not self._lag() else None

    @property
    def exhausted(self) -> bool:
        """What was there at the first look is taken. An offset behind the end of its partition is no end: the
        partition was cut off, and brokers are about to say so."""
        if self._goal is None or self.more():
            return False
        at, ends = self._reader.positions, self._ends
        within = all(offset <= ends.get(partition, offset) for partition, offset in at.items())
        return within and all(at.get(partition, 0) >= end for partition, end in self._goal.items())

    @property
    def fetched(self) -> int:
        """Records that wait to be taken."""
        return self._buffer.records

    def look(self) -> bool:
        if self._clock() - self._asked_s >= ASK_EVERY_S:
            began_s = self._clock()
            try:
                self._ask()
                self._trouble, self._looked_s, self._reached_s = None, began_s, self._clock()
            except Trouble as trouble:
                self._trouble, self._away_until_s = str(trouble), self._clock()
                self._lose_patience(self._reached_s)
            self._asked_s = self._clock()
        if self._id is not None and self._trouble is None:
            self._fetch()  # not while the topic may be another one
        return self.more()

    def more(self) -> bool:
        return bool(self._buffer.records or self._lost) or self._begins()

    def take(self) -> Part:
        buffer, self._buffer = self._buffer, _Buffer()
        lost, self._lost = self._lost, []
        assert self._id is not None
        now = CoveredOffsets(self._topic.name, self._id, dict(self._reader.positions))
        self._taken = now
        return Part(now.to_json(), lambda threads: self._write(buffer.pieces, lost, now, threads))

    def appended(self, part: Part) -> None:
        self.next_batch += 1
        self._covered = self._taken

    def waiting(self) -> Waiting:
        rows = self._lag() + self._buffer.records if self._id is not None else None
        return Waiting(rows=rows, newest_us=self._newest_us, trouble=self._trouble or self._reader.refused)

    def rest(self) -> None:
        """Nothing to keep."""

    def close(self) -> None:
        self._reader.close()

    def _begins(self) -> bool:
        """It is known where to start, and no commit says so."""
        return self._covered is None and self._id is not None

    def _lag(self) -> int:
        """Records that brokers have and that are not fetched, as far as offsets tell."""
        at = self._reader.positions.copy()
        return sum(max(0, end - at.get(partition, 0)) for partition, end in self._ends.copy().items())

    def _ask(self) -> None:
        found = self._topic.describe()
        known = self._id or (self._covered.id if self._covered else None)
        if known is not None and known != found.id:
            raise self._another(known, found)
        new = found.partitions - self._reader.positions.keys()
        if new:
            self._reader.add(self._from(new))
        self._ends = self._topic.end(found.partitions)
        self._id = found.id
        if self._reading.finite and self._goal is None:
            self._goal = dict(self._ends)

    def _from(self, new: frozenset[int]) -> dict[int, int]:
        """Where partitions begin that are not read yet: where the log says, or at the start that was asked
        for. Those that are added to the topic later are read from their beginning."""
        begin = self._topic.begin(new)
        if self._covered is None and not self._reader.positions:
            match self._reading.start:
                case "earliest":
                    return begin
                case "latest":
                    return self._topic.end(new)
                case datetime() as moment:
                    return self._topic.at(moment, new)
                case Mapping() as offsets:
                    return begin | {one: offsets[one] for one in new & offsets.keys()}
        said = self._covered.offsets if self._covered else {}
        made = {}
        for partition in new:
            made[partition] = said.get(partition, begin[partition])
            if made[partition] < begin[partition]:
                made[partition] = self._skipped(partition, made[partition], begin[partition])
        return made

    def _fetch(self) -> None:
        while not self._buffer.full and (most := self._allowance.most(FETCHED)) > 0:
            records = self._reader.read(most)
            if self._reader.doubtful:
                # The topic was gone for a moment: what came may be another one's.
                self._trouble = f"waiting for topic {self._topic.name}: it was gone for a moment"
                self._asked_s, self._reader.doubtful = -ASK_EVERY_S, False
                self._put_back(records)
                return
            for partition in list(self._reader.astray):
                self._jump(partition)
            if not len(records):
                return
            try:
                self._decoder.ready(records)
            except Unreachable as away:
                self._trouble = away.what
                self._away_s = self._clock() if self._away_s is None else self._away_s
                self._lose_patience(self._away_s)
                self._put_back(records)
                return
            self._away_s = None
            self._buffer.add(records)
            self._newest_us = time.time_ns() // 1000
            self._allowance.took(len(records))

    def _put_back(self, records: Records) -> None:
        """Read them again later."""
        for partition in np.unique(records.partitions).tolist():
            first = int(records.offsets[records.partitions == partition].min())
            self._reader.move(partition, first)

    def _jump(self, partition: int) -> None:
        """The reader stands where a partition has no records."""
        at = self._reader.positions[partition]
        try:
            begin, end = self._topic.begin([partition])[partition], self._topic.end([partition])[partition]
        except Trouble as trouble:
            self._trouble = str(trouble)
            self._reader.move(partition, at)
            return
        if at > end:
            raise InputError(
                f"partition {partition} of topic {self._topic.name} ends at offset {end}, "
                f"and was read up to {at} before",
                where=self._topic.cluster.brokers,
                expected="a topic that only grows",
                hint="if it was cut off or replaced, read it under another name of the input table",
            )
        self._reader.move(partition, self._skipped(partition, at, begin) if at < begin else at)

    def _skipped(self, partition: int, wanted: int, begin: int) -> int:
        if not self._reading.goes_on:
            raise InputError(
                f"offsets {wanted} to {begin - 1} of partition {partition} of topic {self._topic.name} "
                "are gone, and have not been read",
                where=self._topic.cluster.brokers,
                expected=f"records from offset {wanted} on",
                hint='on_data_loss = "continue" goes on with what there is, '
                "and notes the gap among the rejects",
            )
        gap = f"offsets {wanted} to {begin - 1} were gone before they were read"
        self._lost.append(Reject(gap, partition, wanted, None))
        return begin

    def _another(self, known: str, found: Described) -> InputError:
        return InputError(
            f"topic {self._topic.name} is not the one that was read before: it was deleted and made again",
            where=self._topic.cluster.brokers,
            expected=f"the topic with the id {known}, not {found.id}",
            hint="declare the new topic as an input table of another name, and read both",
        )

    def _lose_patience(self, since_s: float) -> None:
        if self._reading.finite and self._clock() - since_s > PATIENCE_S:
            raise InputError(
                f"{self._trouble}",
                where=f"topic {self._topic.name}",
                expected=f"an answer within {PATIENCE_S:.0f} s, for a run that ends by itself",
                hint="start the run again when the brokers are back; nothing is lost",
            )

    def _write(
        self, pieces: list[Records], lost: list[Reject], now: CoveredOffsets, threads: Executor
    ) -> list[Written]:
        shares = _shared(pieces)
        done = list(threads.map(self._slice, shares)) if len(shares) > 1 else list(map(self._slice, shares))
        rejected = [*lost, *(reject for _, found in done for reject in found)]
        self._rejects.append(rejected, now)
        return [written for written, _ in done]

    def _slice(self, pieces: list[Records]) -> tuple[Written, list[Reject]]:
        rejects: list[Reject] = []
        batches: list[pa.RecordBatch] = []
        for records in pieces:
            tables, found = self._decoder.rows(records)
            rejects += found
            batches += [batch for table in tables for batch in table.to_batches()]
        # Slicers read these rows once, and compress what they keep of them.
        return write_rows(self._category, batches, self._placement, packed=False), rejects


def _shared(pieces: list[Records]) -> list[list[Records]]:
    """Among threads: whole pieces, in order, about as many records for each."""
    share = max(SHARED_RECORDS, -(-sum(map(len, pieces)) // THREADS))
    shares: list[list[Records]] = []
    taken = share
    for piece in pieces:
        if taken >= share:
            shares.append([])
            taken = 0
        shares[-1].append(piece)
        taken += len(piece)
    return shares
