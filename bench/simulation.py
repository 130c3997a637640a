"""A join over two logs on a simulated clock: the real coordinator, estimate and join step, without Spark.

Law: a run is a function of its logs and settings; nothing here looks at a clock of its own.

A commit becomes known when it was written. The clock goes from one moment at which something can change to
the next: a commit is written, or a stream has been silent for the idle timeout. At each, steps are planned
and taken until there is nothing to do, as the join source does it. Coordinators may be down for a while, and
may restart between any two steps from the JSON of their offset.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.arrivals import Ints, Keyed, Log
from dovetail.joins.interval.step import step
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.model.interval import IntervalSpec
from dovetail.model.offset import NEVER, JoinOffset
from dovetail.time.coordinator import Pace, plan


class SideTick(NamedTuple):
    """One stream at the end of a moment. `waiting`: commits that are known and not taken. `newest_us`: the
    largest event time taken. `accuracy` is of the rows since the moment before."""

    time_us: int
    newest_us: int
    held_rows: int
    alone: int
    window: int
    accuracy: float
    waiting: int


class Tick(NamedTuple):
    now_us: int
    left: SideTick
    right: SideTick
    pairs: int
    steps: int


@dataclass
class SideRun:
    """What became of one stream's rows. `lead_us`: how far a step went beyond the time that it began at, at
    most; `untimed_rows` were taken before both times were known."""

    log: Log
    late: NDArray[np.bool_]
    met: Ints
    alone_at_us: Ints
    taken: int = 0
    newest_us: int = NEVER
    lead_us: int = 0
    untimed_rows: int = 0
    rows: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of(cls, log: Log) -> SideRun:
        rows = len(log)
        return cls(log, np.zeros(rows, np.bool_), np.zeros(rows, np.int64), np.full(rows, NEVER))


@dataclass
class Run:
    """`steps` are what the join was given: commits of both sides up to, and the times after them."""

    spec: IntervalSpec
    left: SideRun
    right: SideRun
    ticks: list[Tick] = field(default_factory=list)
    steps: list[JoinOffset] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        return int(self.left.met.sum())

    def column(self, name: str, side: str | None = None) -> NDArray[np.float64]:
        """One figure at every moment."""
        of = (getattr(tick, side) if side else tick for tick in self.ticks)
        return np.array([getattr(part, name) for part in of])


def simulate(
    left: Log,
    right: Log,
    spec: IntervalSpec,
    pace: Pace,
    *,
    until_us: int | None = None,
    down_us: Sequence[tuple[int, int]] = (),
    restarts: float = 0.0,
    seed: int = 0,
    drain: bool = False,
) -> Run:
    """`restarts` is the share of steps after which the coordinator starts over; `drain` ends both streams
    in the end."""
    rng = np.random.default_rng(seed)
    run = Run(spec, SideRun.of(left), SideRun.of(right))
    state, offset, began_us = JoinState.empty(spec), JoinOffset(), 0
    for now_us in _moments(left, right, pace, until_us, down_us):
        known = left.known(now_us), right.known(now_us)
        steps = pairs = 0
        alone = [0, 0]
        idle = _idle(left, known[0], now_us, began_us, pace), _idle(right, known[1], now_us, began_us, pace)
        while (offset.left, offset.right) != known or any(idle):
            end = plan(
                offset,
                left.commits[offset.left : known[0]],
                right.commits[offset.right : known[1]],
                pace,
                final=False,
                waits=True,
                idle=idle,
            ).end
            if end is offset:
                break
            counts = _take(run, state, offset, end, now_us)
            pairs, steps = pairs + counts[0], steps + 1
            alone = [alone[0] + counts[1], alone[1] + counts[2]]
            offset = end
            if restarts and rng.random() < restarts:
                offset, began_us = JoinOffset.from_json(json.loads(json.dumps(offset.to_json()))), now_us
        sides = (
            _side(run.left, state.left_rows, alone[0], offset.left_time, offset.left_estimate, known[0]),
            _side(run.right, state.right_rows, alone[1], offset.right_time, offset.right_estimate, known[1]),
        )
        run.ticks.append(Tick(now_us, *sides, pairs, steps))
    while drain and not offset.ended:
        rest = left.commits[offset.left :], right.commits[offset.right :]
        end = plan(offset, *rest, pace, final=True).end
        if end is offset:
            break
        _take(run, state, offset, end, run.ticks[-1].now_us)
        offset = end
    return run


def _moments(
    left: Log, right: Log, pace: Pace, until_us: int | None, down_us: Sequence[tuple[int, int]]
) -> list[int]:
    """When something can change."""
    written = np.concatenate([[0], left.written_us, right.written_us])
    if pace.pacing:
        until_idle_us = pace.pacing.idle_timeout_us + 1
        for side in (left.written_us, right.written_us):
            silences = np.diff(side, prepend=0, append=2**62) > until_idle_us
            written = np.append(written, np.append(0, side)[silences] + until_idle_us)
    if until_us is not None:
        written = np.append(written[written < until_us], until_us)
    for start, stop in down_us:
        written = np.where((written >= start) & (written < stop), stop, written)
    return [int(moment) for moment in np.unique(written)]


def _idle(log: Log, known: int, now_us: int, began_us: int, pace: Pace) -> bool:
    """As the join source decides it: by when the last commit was written, or since the process began."""
    if pace.pacing is None:
        return False
    silent_since_us = int(log.written_us[known - 1]) if known else began_us
    return now_us - silent_since_us > pace.pacing.idle_timeout_us


def _take(
    run: Run, state: JoinState, start: JoinOffset, end: JoinOffset, now_us: int
) -> tuple[int, int, int]:
    """One join step; what it did is written down. Gives pairs, and rows that came out alone."""
    sides = ((run.left, start.left, end.left), (run.right, start.right, end.right))
    new = [side.log.arrivals(a, b) for side, a, b in sides]
    for (side, _, stop), rows, time_us in zip(sides, new, start.times, strict=True):
        side.late[rows.row] = rows.time < time_us
        side.newest_us = max(side.newest_us, int(rows.time.max(initial=NEVER)))
        side.taken = stop
        if NEVER in start.times:
            side.untimed_rows += len(rows.row)
        elif len(rows.row):
            side.lead_us = max(side.lead_us, side.newest_us - time_us)
    emitted = step(state, *new, Times(end.left_time, end.right_time))
    np.add.at(run.left.met, emitted.left, 1)
    np.add.at(run.right.met, emitted.right, 1)
    run.left.alone_at_us[emitted.left_alone] = now_us
    run.right.alone_at_us[emitted.right_alone] = now_us
    run.steps.append(end)
    return len(emitted.left), len(emitted.left_alone), len(emitted.right_alone)


def _side(
    side: SideRun, held: int, alone: int, time_us: int, estimate: dict[str, Any] | None, known: int
) -> SideTick:
    window, seen, on_time = 0, 0.0, 0.0
    if estimate and "level" in estimate:  # not the front of a fixed delay
        window, seen, on_time = 1 << estimate["level"], estimate["seen"], estimate["on_time"]
    new, good = seen - side.rows[0], on_time - side.rows[1]
    side.rows = seen, on_time
    accuracy = good / new if new else float("nan")
    return SideTick(time_us, side.newest_us, held, alone, window, accuracy, known - side.taken)


def partners(left: Log | Keyed, right: Log | Keyed, spec: IntervalSpec) -> Ints:
    """The batch join: how many partners each left row has, by binary search over the right rows of its
    key."""
    if not len(left.time) or not len(right.time):
        return np.zeros(len(left.time), np.int64)
    keys = np.unique(right.key)
    least = min(int(side.time.min()) for side in (left, right)) - spec.before_us
    span = max(int(side.time.max()) for side in (left, right)) + spec.after_us - least + 1
    assert len(keys) * span < 2**63, "key and time fit into one number"
    line = np.sort(np.searchsorted(keys, right.key) * span + right.time - least)
    number = np.searchsorted(keys, left.key)
    known = keys[np.minimum(number, len(keys) - 1)] == left.key
    at = number * span + left.time - least
    first, last = (at + bound for bound in (-spec.before_us, spec.after_us))
    found = np.searchsorted(line, last, side="right") - np.searchsorted(line, first, side="left")
    return np.where(known, found, 0)
