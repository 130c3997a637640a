"""What happened to the left rows of one key, and why: what they matched, until when they are open, what they
missed.

Law: matches and closings come from a replay of the join itself. A miss is explained by the right rows of the
key alone, all that the log has. If the log or the records do not reach back far enough for that, a doubt says
so.

    l is a miss.  A right row of its key in its window ...    then
    ... came when l was closed                                it came too late
    ... was evicted when l came                               l came too late
    ... was there, and l too                                  r had to make room: the cap per key
    there is none in the window, but one outside              outside the window: the nearest is named
    there is none with a time, or none at all                 nothing to match
    l was closed before its time                              l had to make room: the cap per key
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from dovetail.joins.interval.replay import Outcome, replay, steps_taken
from dovetail.joins.known import At, Came, Doubt, Known, Match, Status, gone_us
from dovetail.joins.picking import Comparison, PickingOf, everyone
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.state import open_bound, probe_bound
from dovetail.model.time_codes import unusable

Reason = Literal[
    "invalid_time",
    "right_late",
    "left_late",
    "right_capped",
    "left_capped",
    "outside_window",
    "right_invalid_time",
    "no_right_row",
]


class Miss(NamedTuple):
    """`right` is the row that the reason is about. `by_us`: how far outside the window it is (negative:
    before it); how long after the closing it was written (negative: before it, but it was taken later); how
    far the left row was behind its stream when it came (None: the streams had ended). `at`: when the right
    row was taken, or evicted."""

    reason: Reason
    right: KeyRow | None = None
    by_us: int | None = None
    at: At | None = None


@dataclass(frozen=True)
class Fate:
    """`in_window`: right rows of the key in the row's window that the join has taken. Of a row that can have
    no partner for its time, `invalid` says why."""

    left: KeyRow
    status: Status
    taken: At | None
    closed: At | None
    matches: tuple[Match, ...]
    in_window: int
    miss: Miss | None
    doubts: tuple[Doubt, ...]
    comparison: Comparison | None = None  # of the right rows it has met, where one is picked by value

    @property
    def invalid(self) -> str | None:
        return unusable(self.left.time_us)


def fates(known: Known, wanted: Sequence[KeyRow], picking_of: PickingOf) -> list[Fate]:
    """The fate of some of the left rows of the key."""
    left, right = known.left.rows, known.right.rows
    specs = [known.kind_at(at).spec for at in range(len(known.records))]
    worths = {spec: one.worth(left, right) for spec in set(specs) if (one := picking_of(spec)) is not None}
    outcomes = replay(specs, known.records, left, right, worths)
    for outcome in outcomes.values():
        outcome.partners = [(row, at) for row, at in outcome.partners if not known.fills(at)]
    stops = [record.right.stop for record in known.records]
    came = list(zip(known.right.rows, steps_taken(known.right.rows, stops), strict=True))
    gone = gone_us(known, lambda times: probe_bound(known.spec, times))
    found = [_fate(known, row, outcomes[row.row], came, gone) for row in wanted]
    picking = picking_of(known.spec)
    if picking is None:
        return found
    met = replay([everyone(spec) for spec in specs], known.records, left, right)
    numbered = {row.row: row for row in right}
    return [
        replace(fate, comparison=picking.comparison(fate.left, [numbered[row] for row, _ in partners]))
        if (partners := met[fate.left.row].partners)
        else fate
        for fate in found
    ]


def _fate(known: Known, left: KeyRow, outcome: Outcome, came: Came, gone_us: int | None) -> Fate:
    if outcome.closed is not None:
        known = known.as_of(known.at(outcome.closed))
    right = {row.row: row for row, _ in came} if outcome.partners else {}
    matches = tuple(Match(right[row], known.at(at)) for row, at in outcome.partners)
    timed = [] if unusable(left.time_us) else [one for one in came if not unusable(one[0].time_us)]
    inside = [(row, at) for row, at in timed if _beyond(known, left, row) == 0]
    return Fate(
        left,
        outcome.status,
        None if outcome.taken is None else known.at(outcome.taken),
        None if outcome.closed is None else known.at(outcome.closed),
        matches,
        sum(at is not None for _, at in inside),
        _miss(known, left, outcome, inside, timed, came)
        if outcome.status == "unmatched" and not known.came_before(left)
        else None,
        tuple(_doubts(known, left, outcome, gone_us)),
    )


def _miss(known: Known, left: KeyRow, outcome: Outcome, inside: Came, timed: Came, came: Came) -> Miss:
    if unusable(left.time_us):
        return Miss("invalid_time")
    assert outcome.closed is not None
    if left.time_us >= open_bound(known.spec, known.times(outcome.closed)):
        return Miss("left_capped", *(inside[0][:1] if inside else ()))
    if inside:
        return missed(known, left, outcome, *inside[0])
    if timed:
        nearest = min((row for row, _ in timed), key=lambda row: abs(_beyond(known, left, row)))
        return Miss("outside_window", nearest, _beyond(known, left, nearest))
    return Miss("right_invalid_time", came[0][0]) if came else Miss("no_right_row")


def missed(known: Known, left: KeyRow, outcome: Outcome, right: KeyRow, at: int | None) -> Miss:
    """Why a right row in the window was not met."""
    assert outcome.taken is not None
    assert outcome.closed is not None
    if at is None or at > outcome.closed:
        late_us = right.written_at_us - known.records[outcome.closed].planned_at_us
        return Miss("right_late", right, late_us, None if at is None else known.at(at))
    evicted = _evicted(known, right, at, outcome.taken)
    if evicted is None:
        return Miss("right_capped", right, None, known.at(at))
    ended = any(record.ended for record in known.records[evicted : outcome.taken])
    behind_us = None if ended else known.times(outcome.taken - 1).left - left.time_us
    return Miss("left_late", right, behind_us, known.at(evicted))


def _beyond(known: Known, left: KeyRow, right: KeyRow) -> int:
    """How far a right row is outside a left row's window: negative before it, 0 inside."""
    low, high = known.window(left)
    return min(0, right.time_us - low) + max(0, right.time_us - high)


def _evicted(known: Known, right: KeyRow, taken: int, before: int) -> int | None:
    """The step before `before` in which a right row went out of reach of new left rows."""
    steps = range(taken, before)
    return next(
        (at for at in steps if right.time_us < probe_bound(known.kind_at(at).spec, known.times(at))), None
    )


def _doubts(known: Known, left: KeyRow, outcome: Outcome, gone_us: int | None) -> Iterator[Doubt]:
    if outcome.taken is None:
        return
    if outcome.taken == 0 and known.begins_late:
        yield "steps_gone"
    if known.came_before(left):
        yield "came_before"
    if gone_us is not None and not unusable(left.time_us) and gone_us >= known.window(left)[0]:
        yield "right_rows_gone"
