"""Graphs of joins on a simulated clock: the real coordinator, promises and backpressure over a model of the
join itself.

The model keeps rows in plain lists and shares no code with the product. What is under test is all that
decides when: which commits a step takes, the stream times after it, what a join promises about its output,
and when it waits for its readers. A run is a function of its seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import oracle
from dovetail.engine.downstream import must_wait
from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.join_kind import IntervalJoin, promised_times
from dovetail.model.offset import JoinOffset
from dovetail.model.sketch import EventTimeSketch
from dovetail.time.clock import CommitSummary
from dovetail.time.coordinator import Pace, plan

Ids = tuple[str | None, ...]
"""The input rows that a row consists of, in the order of the joins; None where a partner is missing."""


class Row(NamedTuple):
    key: int
    time: int
    ids: Ids


@dataclass
class Stream:
    """A category: commits with rows and what was promised with each. `ends` when its source does."""

    name: str
    width: int  # how many input rows one of its rows consists of
    commits: list[list[Row]] = field(default_factory=list)
    summaries: list[CommitSummary] = field(default_factory=list)
    rows: int = 0
    quiet: Callable[[], bool] = lambda: False  # whoever writes it has nothing to write, and knows

    def append(self, rows: Sequence[Row], promise_us: int | None) -> None:
        times = np.array([row.time for row in rows], np.int64)
        newest = int(times.max()) if len(times) else None
        sketch = EventTimeSketch.of(times)
        summary = CommitSummary(
            len(rows), newest, (sketch,) if len(rows) else (), 0, (), self.rows, promise_us
        )
        self.commits.append(list(rows))
        self.summaries.append(summary)
        self.rows += len(rows)

    def unread(self, start: int) -> int:
        return sum(len(rows) for rows in self.commits[start:])


class Late(NamedTuple):
    """A row that was behind its stream's time when a join took it."""

    join: str
    row: Row


@dataclass
class JoinNode:
    name: str
    left: Stream
    right: Stream
    how: JoinType
    before: int
    after: int
    pace: Pace
    keeps: str  # whose time the joined row has: "left", or "either" for the one that is there
    output: Stream
    offset: JoinOffset = field(default_factory=JoinOffset)
    open: list[tuple[Row, bool]] = field(default_factory=list)  # left rows, and whether they met any
    held: list[tuple[Row, bool]] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    promises: list[int] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def spec(self) -> IntervalSpec:
        return IntervalSpec(self.before, self.after, self.how)

    def unread(self) -> int:
        return self.left.unread(self.offset.left) + self.right.unread(self.offset.right)

    def step(self, readers: Sequence[JoinNode], *, final: bool = False) -> bool:
        """One step of the coordinator; whether there was any."""
        start = self.offset
        left, right = self.left.summaries[start.left :], self.right.summaries[start.right :]
        idle = (self.left.quiet(), self.right.quiet()) if self.pace.pacing and not final else (False, False)
        if not final and self._waits_for(readers):
            return False
        planned = plan(start, left, right, self.pace, final=final, waits=not final, idle=idle)
        if planned.end is start:
            return False
        self.offset = planned.end
        rows = self._joined(start, planned.end)
        self._publish(rows)
        return True

    def _waits_for(self, readers: Sequence[JoinNode]) -> bool:
        paced = [reader for reader in readers if reader.pace.pacing]
        unread = [reader.unread_of(self.output) for reader in readers]
        return bool(paced) and must_wait(unread, self.pace.max_step_rows)

    def unread_of(self, stream: Stream) -> int:
        found = [s.unread(at) for s, at in self._positions() if s is stream]
        return max(found, default=0)

    def _positions(self) -> list[tuple[Stream, int]]:
        return [(self.left, self.offset.left), (self.right, self.offset.right)]

    def _joined(self, start: JoinOffset, end: JoinOffset) -> list[Row]:
        new_left = [row for rows in self.left.commits[start.left : end.left] for row in rows]
        new_right = [row for rows in self.right.commits[start.right : end.right] for row in rows]
        left_time, right_time = start.times
        self.late += [Late(self.name, row) for row in new_left if row.time < left_time]
        self.late += [Late(self.name, row) for row in new_right if row.time < right_time]
        out: list[Row] = []
        visible = [[row, met] for row, met in self.held if row.time >= left_time - self.before]
        came = [[row, False] for row in new_right]
        waiting = [[row, met] for row, met in self.open]
        for l in [*waiting, *([row, False] for row in new_left)]:  # noqa: E741
            fresh = not any(l is one for one in waiting)
            for r in [*visible, *came] if fresh else came:
                if oracle.matches(l[0], r[0], self.before, self.after):
                    l[1] = r[1] = True
                    out.append(self.row(l[0], r[0]))
            if fresh:
                waiting.append(l)
        gone = [row for row, _ in self.held if row.time < left_time - self.before]
        assert not gone, "a right row was held beyond its time"
        closing = end.right_time
        out += [
            self.row(row, None)
            for row, met in waiting
            if closing > row.time + self.after and not met and self.how in ("left", "full")
        ]
        self.open = [(row, met) for row, met in waiting if not closing > row.time + self.after]
        seen = [*visible, *came]
        out += [
            self.row(None, r)
            for r, met in seen
            if r.time < end.left_time - self.before and not met and self.how in ("right", "full")
        ]
        self.held = [(r, met) for r, met in seen if not r.time < end.left_time - self.before]
        self.times.append((end.left_time, end.right_time))
        return out

    def row(self, left: Row | None, right: Row | None) -> Row:
        ids = (left.ids if left else (None,) * self.left.width) + (
            right.ids if right else (None,) * self.right.width
        )
        given = left or right
        assert given is not None
        return Row(given.key, given.time, ids)

    def _publish(self, rows: list[Row]) -> None:
        late = {id_ for one in self.late for id_ in one.row.ids if id_}
        if self.promises:
            for row in rows:
                if row.time < self.promises[-1] and not late & {id_ for id_ in row.ids if id_}:
                    self.broken.append(f"{self.name} promised {self.promises[-1]} and then gave {row}")
        promised = promised_times(IntervalJoin(self.spec), self.offset)
        assert promised is not None
        promise = promised[0] if self.keeps == "left" else min(promised)
        self.promises.append(promise)
        self.output.append(rows, promise)


class Source(NamedTuple):
    """An input: its commits in the order they come."""

    stream: Stream
    commits: list[list[Row]]


@dataclass
class Graph:
    sources: list[Source]
    joins: list[JoinNode]  # in topological order
    silent: set[str]  # inputs that stop early, and say nothing about it

    def readers(self, node: JoinNode) -> list[JoinNode]:
        return [join for join in self.joins if node.output in (join.left, join.right)]

    def run(self, rng: random.Random, sweeps: int = 2_000) -> None:
        """Deliver and step at random until nothing moves any more."""
        to_come = {source.stream.name: list(source.commits) for source in self.sources}
        for source in self.sources:
            stream = source.stream
            stream.quiet = lambda stream=stream: (  # type: ignore[misc]
                not to_come[stream.name] and stream.name not in self.silent
            )
        for join in self.joins:
            join.output.quiet = lambda join=join: (  # type: ignore[misc]
                join.unread() == 0 and join.left.quiet() and join.right.quiet()
            )
        speeds = {join.name: rng.choice([0.05, 0.5, 1.0]) for join in self.joins}
        while any(to_come.values()):
            for source in self.sources:
                commits = to_come[source.stream.name]
                if commits and rng.random() < 0.5:
                    source.stream.append(commits.pop(0), None)
            for join in self.joins:
                if rng.random() < speeds[join.name]:
                    join.step(self.readers(join))
            self.watch()
        for _ in range(sweeps):
            if not [join for join in self.joins if join.step(self.readers(join))]:
                return
            self.watch()
        raise AssertionError("it does not come to rest")

    def watch(self) -> None:
        """Nothing piles up in the middle of a chain: a reader has at most a step's worth and one step more
        unread, unless another reader has nothing to read."""
        for join in self.joins:
            readers = self.readers(join)
            unread = [reader.unread_of(join.output) for reader in readers if reader.pace.pacing]
            if unread and len(readers) == 1:
                largest = max((len(rows) for rows in join.output.commits), default=0)
                assert max(unread) <= join.pace.max_step_rows + largest, f"{join.name} runs ahead"

    def drain(self) -> None:
        for join in self.joins:
            while join.step((), final=True):
                pass


def batch(graph: Graph) -> list[list[Ids]]:
    """What the finished inputs give, by brute force, for each join."""
    made: dict[str, list[Row]] = {
        source.stream.name: [row for rows in source.stream.commits for row in rows]
        for source in graph.sources
    }
    for join in graph.joins:
        left, right = made[join.left.name], made[join.right.name]
        numbered = [[(row.key, row.time, n) for n, row in enumerate(side)] for side in (left, right)]
        pairs = oracle.batch_join(*numbered, join.before, join.after, join.how)
        made[join.output.name] = [
            join.row(None if one is None else left[one], None if other is None else right[other])
            for one, other in pairs
        ]
    return [in_order(made[join.output.name]) for join in graph.joins]


def found(graph: Graph) -> list[list[Ids]]:
    """What came out, of each join."""
    return [in_order(row for rows in join.output.commits for row in rows) for join in graph.joins]


def in_order(rows: Iterable[Row]) -> list[Ids]:
    return sorted((row.ids for row in rows), key=repr)
