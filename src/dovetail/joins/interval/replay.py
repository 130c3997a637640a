"""Law: what is reported about a left row is what `interval.step` did with it: the recorded steps run again
for the rows of one key.

If the first record is not that of the first step, all rows that had come by its end count as having come with
it. The state after it is then right, except for left rows that had come before. So the answers about later
rows are right.

Each step runs as the join was then. Where the join was changed in between, the change runs again too, with
the right rows that it read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from dovetail.joins.emitted import Emitted
from dovetail.joins.interval.change import changed
from dovetail.joins.interval.step import step
from dovetail.joins.known import Status
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.state import JoinState, open_bound, retain_bound
from dovetail.joins.streams import Arrivals, Times, usable
from dovetail.joins.tactics import Worth
from dovetail.model.interval import IntervalSpec
from dovetail.model.step_record import StepRecord


@dataclass
class Outcome:
    """What became of a left row; steps are positions in the records. `partners`: right rows by number, each
    with the step it came out in. `taken` None: the join has not taken it yet; `closed` None: it is open."""

    taken: int | None = None
    partners: list[tuple[int, int]] = field(default_factory=list)
    closed: int | None = None

    @property
    def status(self) -> Status:
        if self.taken is None:
            return "not_taken"
        if self.partners:
            return "matched"
        return "open" if self.closed is None else "unmatched"


def replay(
    specs: Sequence[IntervalSpec],
    records: Sequence[StepRecord],
    left: Sequence[KeyRow],
    right: Sequence[KeyRow],
    worths: Mapping[IntervalSpec, Worth] = MappingProxyType({}),
) -> dict[int, Outcome]:
    """The outcome of each left row, by its number. All rows are of one key, in log order. `specs`: what the
    join was in each step. `worths` compare partners, for those that pick them by value."""
    taken = steps_taken(left, [record.left.stop for record in records])
    outcomes = {row.row: Outcome(at) for row, at in zip(left, taken, strict=True)}
    came_left = by_step(left, taken)
    right_taken = steps_taken(right, [record.right.stop for record in records])
    came_right = by_step(right, right_taken)
    if not records:
        return outcomes
    state = JoinState.empty(with_everything_out(specs[0]))
    waiting: set[int] = set()
    for at, record in enumerate(records):
        until = Times(record.left.time_us, record.right.time_us)
        new_left, new_right = came_left.get(at, []), came_right.get(at, [])
        spec, worth = with_everything_out(specs[at]), worths.get(specs[at])
        if at and record.query != records[at - 1].query:
            if record.read_back is not None:
                there = zip(right, right_taken, strict=True)
                first = record.read_back[1]
                read_back(
                    state, [row for row, n in there if n is not None and n < at and row.commit >= first]
                )
            emitted = changed(state, spec, worth=worth)
            waiting = note(outcomes, emitted, state, waiting, at)
        elif new_left or new_right or due(state, until):
            emitted = step(state, arrivals_of(new_left), arrivals_of(new_right), until, worth=worth)
            waiting = note(outcomes, emitted, state, waiting | {row.row for row in new_left}, at)
        else:
            state.times = until.after(state.times)
        if record.ended:
            state = JoinState.empty(spec)
    return outcomes


def note(
    outcomes: dict[int, Outcome], emitted: Emitted, state: JoinState, waiting: set[int], at: int
) -> set[int]:
    """Write down what came out in a step; returns the left rows that still wait."""
    for row, partner in zip(emitted.left.tolist(), emitted.right.tolist(), strict=True):
        outcomes[row].partners.append((partner, at))
    still = set(state.left.held().row.tolist())
    for row in waiting - still:
        outcomes[row].closed = at
    return still


def read_back(state: JoinState, rows: Sequence[KeyRow]) -> None:
    """Give the state the right rows again that it no longer has, as a change does."""
    held = set(state.right.held().row.tolist())
    missing, _ = usable(arrivals_of([row for row in rows if row.row not in held]))
    state.right.insert(missing._replace(matched=np.ones(len(missing.row), np.bool_)))


def steps_taken(rows: Sequence[KeyRow], stops: Sequence[int]) -> list[int | None]:
    """The step that took each row; `stops`: the commits that the steps stopped before."""
    found = np.searchsorted(np.array(stops, np.int64), [row.commit for row in rows], side="right").tolist()
    return [at if at < len(stops) else None for at in found]


def with_everything_out(spec: IntervalSpec) -> IntervalSpec:
    """A join that treats a left row in the same way, and lets everything about it out."""
    match spec.how:
        case "inner":
            return replace(spec, how="left")
        case "right":
            return replace(spec, how="full")
        case "semi" | "anti":
            return replace(spec, how="left", match="one", pick="first")
    return spec


def due(state: JoinState, until: Times) -> bool:
    """A row closes or is evicted when time comes to `until`: other steps change nothing."""
    if not (state.left_rows or state.right_rows):
        return False
    left, right = state.left.held().time, state.right.held().time
    return bool(
        (left < open_bound(state.spec, until)).any() or (right < retain_bound(state.spec, until)).any()
    )


def by_step(rows: Sequence[KeyRow], taken: Sequence[int | None]) -> dict[int, list[KeyRow]]:
    groups: dict[int, list[KeyRow]] = {}
    for row, at in zip(rows, taken, strict=True):
        if at is not None:
            groups.setdefault(at, []).append(row)
    return groups


def arrivals_of(rows: Sequence[KeyRow]) -> Arrivals:
    columns = ([row.hash for row in rows], [row.time_us for row in rows], [row.row for row in rows])
    return Arrivals(*(np.array(column, np.int64) for column in columns))
