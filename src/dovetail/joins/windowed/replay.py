"""Law: what is reported about a left row within windows is what `windowed.step` did with it. The recorded
steps run again for the rows of one key, as `interval/replay.py` does it for interval joins.

When a window of a full join is over, its left rows come out, in pairs or alone. So one lazy replay as a full
join shows when each window of a row was over, and which rows it met there. An eager join gives the same pairs
sooner; a second replay finds out when. Where the join was changed from the one to the other, a pair came out
in the first step from its second row on in which it was eager, or else when its window was over. With match
one, what comes out when a window is over are the picks, unless the row has come out there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dovetail.joins.buffer import Held
from dovetail.joins.emitted import Emitted
from dovetail.joins.interval.replay import arrivals_of, by_step, steps_taken
from dovetail.joins.picking import everyone
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.state import JoinState
from dovetail.joins.streams import Times
from dovetail.joins.tactics import Worth
from dovetail.joins.windowed.kernels.sessions import sessions
from dovetail.joins.windowed.step import Means, step
from dovetail.model.interval import IntervalSpec, Pick
from dovetail.model.step_record import StepRecord
from dovetail.model.window_join import NEVER, Emit, WindowJoin


class Picks(NamedTuple):
    """How a left row takes one partner in a window, and what compares them by value. None: it takes all."""

    pick: Pick | None = None
    worth: Worth | None = None


@dataclass
class Stay:
    """A left row in one window; of a session that is not over the bounds are those it has so far.
    `partners`: right rows by number, each with the step it came out in. `closed` None: it is not over."""

    start_us: int
    end_us: int
    closed: int | None = None
    partners: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class WindowOutcome:
    """`taken` None: the join has not taken it yet. `stays` is empty for a row that is in no window."""

    taken: int | None = None
    stays: dict[int, Stay] = field(default_factory=dict)

    def stay(self, start_us: int, end_us: int) -> Stay:
        return self.stays.setdefault(start_us, Stay(start_us, end_us))


def window_replay(
    spec: IntervalSpec,
    window: WindowJoin,
    records: Sequence[StepRecord],
    left: Sequence[KeyRow],
    right: Sequence[KeyRow],
    emits: Sequence[Emit],
    picks: Sequence[Picks],
) -> dict[int, WindowOutcome]:
    """The outcome of each left row, by its number. All rows are of one key, in log order. `emits` and
    `picks`: what the join was in each step."""
    taken = steps_taken(left, [record.left.stop for record in records])
    outcomes = {row.row: WindowOutcome(at) for row, at in zip(left, taken, strict=True)}
    spec = everyone(spec)
    state = JoinState.empty(replace(spec, how="full"))
    picked: set[tuple[int, int, int]] = set()
    for at, emitted in _steps(state, replace(window, emit="lazy"), records, left, right, picks):
        for row, partner, start, end in _let_out(emitted):
            stay = outcomes[row].stay(start, end)
            stay.closed = at
            if partner is not None:
                picked.add((row, partner, start))
                if "eager" not in emits:
                    stay.partners.append((partner, at))
    _still_open(window, state, outcomes, left)
    if "eager" in emits:
        state = JoinState.empty(replace(spec, how="inner"))
        at_the_end: list[tuple[Stay, int, int]] = []
        for at, emitted in _steps(state, replace(window, emit="eager"), records, left, right):
            for row, partner, start, end in _let_out(emitted):
                stay = outcomes[row].stay(start, end)
                over = len(records) if stay.closed is None else stay.closed
                out = next((step for step in range(at, over) if emits[step] == "eager"), None)
                if partner is not None and out is not None:
                    stay.partners.append((partner, out))
                elif partner is not None and stay.closed is not None:
                    if picks[stay.closed].pick is None:
                        stay.partners.append((partner, stay.closed))
                    elif (row, partner, start) in picked:
                        at_the_end.append((stay, partner, stay.closed))
        for stay, partner, closed in at_the_end:
            if not stay.partners:
                stay.partners.append((partner, closed))
    return outcomes


def windows_of(window: WindowJoin, time_us: int) -> list[tuple[int, int]]:
    """The bounds of the tumbling or hopping windows that hold a time."""
    first = (time_us - window.length_us) // window.every_us + 1
    starts = [number * window.every_us for number in range(first, time_us // window.every_us + 1)]
    return [(start, start + window.length_us) for start in starts]


def _steps(
    state: JoinState,
    window: WindowJoin,
    records: Sequence[StepRecord],
    left: Sequence[KeyRow],
    right: Sequence[KeyRow],
    picks: Sequence[Picks] = (),
) -> Iterator[tuple[int, Emitted]]:
    """What comes out, step by step. After an end the state starts empty."""
    came_left = by_step(left, steps_taken(left, [record.left.stop for record in records]))
    came_right = by_step(right, steps_taken(right, [record.right.stop for record in records]))
    for at, record in enumerate(records):
        until = Times(record.left.time_us, record.right.time_us)
        new = came_left.get(at, []), came_right.get(at, [])
        if any(new) or _due(state, window, until):
            pick, worth = picks[at] if picks else Picks()
            means = Means(window, pick=pick, worth=worth)
            yield at, step(state, arrivals_of(new[0]), arrivals_of(new[1]), until, means).emitted
        else:
            state.times = until.after(state.times)
        if record.ended:
            state.times = Times(NEVER, NEVER)


def _due(state: JoinState, window: WindowJoin, until: Times) -> bool:
    """A window may be over when time comes to `until`: other steps without new rows change nothing."""
    was, now = min(state.times), min(until.after(state.times))
    if now == was or not (state.left_rows or state.right_rows):
        return False
    if not window.is_session:
        return window.last_over(now) > window.last_over(was)
    held = np.concatenate([state.left.held().time, state.right.held().time])
    return bool(held.min() < now - window.length_us)


def _let_out(emitted: Emitted) -> Iterator[tuple[int, int | None, int, int]]:
    """Left rows with their partners, or None, and their windows; those in no window are left out."""
    assert emitted.bounds is not None
    rows = [*emitted.left.tolist(), *emitted.left_alone.tolist()]
    partners = [*emitted.right.tolist(), *([None] * len(emitted.left_alone))]
    starts, ends = (bounds[: len(rows)].tolist() for bounds in emitted.bounds)
    for row, partner, start, end in zip(rows, partners, starts, ends, strict=True):
        if start != NEVER:
            yield row, partner, start, end


def _still_open(
    window: WindowJoin, state: JoinState, outcomes: dict[int, WindowOutcome], left: Sequence[KeyRow]
) -> None:
    """The windows of left rows that are not over yet."""
    held = state.left.held()
    if not window.is_session:
        times = {row.row: row.time_us for row in left}
        for row in held.row.tolist():
            for bounds in windows_of(window, times[row]):
                outcomes[row].stay(*bounds)
        return
    for row, start, end in _open_sessions(window, held, state.right.held()):
        outcomes[row].stay(start, end)


def _open_sessions(window: WindowJoin, left: Held, right: Held) -> Iterator[tuple[int, int, int]]:
    """Left rows that are held, with the bounds of their sessions as they are now."""
    times = np.concatenate([left.time, right.time])
    order = np.argsort(times, kind="stable")
    numbers, first, last = sessions(
        np.zeros(len(times), np.int64), times[order], window.length_us, window.longest_us
    )
    for number, at in zip(numbers.tolist(), order.tolist(), strict=True):
        if at < len(left.row):
            yield int(left.row[at]), int(first[number]), int(last[number]) + window.length_us
