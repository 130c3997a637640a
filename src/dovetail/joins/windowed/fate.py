"""What happened to the left rows of one key in their windows, and why: as in `interval/fate.py`, one window
at a time.

    l is alone in a window that is over.  ...                             then
    the window was over when l came                                       l came too late
    a right row of the key in it came when it was over                    r came too late
    of a session: r came when one of its own would have been over         r came too late for any session
    of a session: r had left with a session of its own when l came        l came too late for it
    of a session: r is near enough, but the session was cut before it     the longest a session may last
    there is none in it, but one outside                                  outside: the nearest is named
    there is none with a time, or none at all                             nothing to match
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from dovetail.joins.interval.replay import steps_taken
from dovetail.joins.known import At, Came, Doubt, Known, Match, Status, gone_us
from dovetail.joins.picking import PickingOf
from dovetail.joins.rows.key_rows import KeyRow
from dovetail.joins.windowed.replay import Picks, Stay, WindowOutcome, window_replay
from dovetail.model.join_kind import WindowedJoin
from dovetail.model.offset import NEVER
from dovetail.model.time_codes import unusable
from dovetail.model.window_join import WindowJoin

WindowReason = Literal[
    "left_late",
    "right_late",
    "right_late_for_any",
    "right_let_go",
    "session_cut",
    "outside_window",
    "right_invalid_time",
    "no_right_row",
]


class WindowMiss(NamedTuple):
    """`right` is the row that the reason is about. `by_us`: how far outside the window it is (negative:
    before it); how long after the end of the window it was written (negative: before that, but it was taken
    later); how far one of the two rows was behind when it came (None: the streams had ended). `at`: when
    the right row was taken or let go."""

    reason: WindowReason
    right: KeyRow | None = None
    by_us: int | None = None
    at: At | None = None


class InWindow(NamedTuple):
    """A left row in one of its windows. `over` None: it is not over."""

    start_us: int
    end_us: int
    over: At | None
    matches: tuple[Match, ...]
    miss: WindowMiss | None

    @property
    def status(self) -> Status:
        if self.matches:
            return "matched"
        return "open" if self.over is None else "unmatched"


@dataclass(frozen=True)
class WindowFate:
    """For a row that can have no partner for its time or key there are no windows, and `invalid` says why."""

    left: KeyRow
    taken: At | None
    windows: tuple[InWindow, ...]
    doubts: tuple[Doubt, ...]

    @property
    def invalid(self) -> str | None:
        return unusable(self.left.time_us)

    @property
    def status(self) -> Status:
        """As a whole: matched if it is in one of its windows, open if one of them is."""
        if self.taken is None:
            return "not_taken"
        found = {window.status for window in self.windows}
        every: tuple[Status, ...] = ("matched", "open")
        return next((status for status in every if status in found), "unmatched")


def window_fates(known: Known, wanted: Sequence[KeyRow], picking_of: PickingOf) -> list[WindowFate]:
    """The fate of some of the left rows of the key."""
    window, rows = known.window_join, (known.left.rows, known.right.rows)
    kinds = [kind for at in range(len(known.records)) if isinstance(kind := known.kind_at(at), WindowedJoin)]
    emits = [kind.window.emit for kind in kinds]
    by_kind = {kind: Picks() for kind in kinds}
    for kind in by_kind:
        if kind.match == "one" and kind.spec.emits_pairs:
            comparing = picking_of(kind.spec)
            by_kind[kind] = Picks(kind.pick, None if comparing is None else comparing.worth(*rows))
    outcomes = window_replay(
        known.spec, window, known.records, *rows, emits, [by_kind[kind] for kind in kinds]
    )
    stops = [record.right.stop for record in known.records]
    came = list(zip(known.right.rows, steps_taken(known.right.rows, stops), strict=True))
    explaining = _Explaining(known, window, came)
    return [explaining.fate(row, outcomes[row.row]) for row in wanted]


class _Explaining:
    def __init__(self, known: Known, window: WindowJoin, came: Came) -> None:
        self.known = known
        self.window = window
        self.came = came
        self.timed = [one for one in came if not unusable(one[0].time_us)]
        self.right = {row.row: row for row, _ in came}
        self.gone_us = gone_us(known, lambda times: window.needed_since(*times))

    def fate(self, left: KeyRow, outcome: WindowOutcome) -> WindowFate:
        stays = sorted(outcome.stays.values(), key=lambda stay: stay.start_us)
        return WindowFate(
            left,
            None if outcome.taken is None else self.known.at(outcome.taken),
            tuple(self._in_window(left, outcome, stay) for stay in stays),
            tuple(self._doubts(left, outcome, stays)),
        )

    def _in_window(self, left: KeyRow, outcome: WindowOutcome, stay: Stay) -> InWindow:
        known = self.known
        before = known.came_before(left)
        partners = [
            (row, at)
            for row, at in stay.partners
            if not (before and self.right[row].commit < known.filled[1])  # they met by the query before
        ]
        return InWindow(
            stay.start_us,
            stay.end_us,
            None if stay.closed is None else known.at(stay.closed),
            tuple(Match(self.right[row], known.at(at)) for row, at in partners),
            None
            if stay.closed is None or partners or before
            else self._miss(left, outcome.taken or 0, stay, stay.closed),
        )

    def _miss(self, left: KeyRow, taken: int, stay: Stay, closed: int) -> WindowMiss:
        inside = [(row, at) for row, at in self.timed if self._beyond(stay, row) == 0]
        late_us = self._late_us(left, taken, stay.end_us)
        if late_us is not None:
            met = [row for row, at in inside if at is not None and at <= taken]
            return WindowMiss("left_late", met[0] if met else None, late_us)
        if inside:
            return self._missed(left, taken, closed, *inside[0])
        if self.timed:
            nearest = min((row for row, _ in self.timed), key=lambda row: abs(self._beyond(stay, row)))
            return WindowMiss("outside_window", nearest, self._beyond(stay, nearest))
        return WindowMiss("right_invalid_time", self.came[0][0]) if self.came else WindowMiss("no_right_row")

    def _missed(self, left: KeyRow, taken: int, closed: int, right: KeyRow, at: int | None) -> WindowMiss:
        """Why a right row that ought to be in the window was not met."""
        known = self.known
        if at is None or at > closed:
            late_us = right.written_at_us - known.records[closed].planned_at_us
            return WindowMiss("right_late", right, late_us, None if at is None else known.at(at))
        late = self._late_us(right, at, right.time_us + self.window.length_us)
        if late is not None:
            return WindowMiss("right_late_for_any", right, late, known.at(at))
        gone = next((n for n in range(at, taken) if self._left_by(right, n)), None)
        if gone is not None:
            behind_us = None if self._ended(gone, taken) else known.times(taken - 1).left - left.time_us
            return WindowMiss("right_let_go", right, behind_us, known.at(gone))
        return WindowMiss("session_cut", right, None, known.at(at))

    def _late_us(self, row: KeyRow, taken: int, end_us: int) -> int | None:
        """How long a window that ends at `end_us` was over when the row came; None: it was not."""
        passed_us = self._passed_us(taken)
        over = passed_us > end_us if self.window.is_session else passed_us >= end_us
        return passed_us - end_us if over else None

    def _passed_us(self, taken: int) -> int:
        """What both stream times had passed before a step."""
        if taken == 0 or self.known.records[taken - 1].ended:
            return NEVER
        return min(self.known.times(taken - 1))

    def _left_by(self, right: KeyRow, at: int) -> bool:
        """A session that the row was the last of was over in a step."""
        return right.time_us < min(self.known.times(at)) - self.window.length_us

    def _ended(self, since: int, until: int) -> bool:
        return any(record.ended for record in self.known.records[since:until])

    def _beyond(self, stay: Stay, right: KeyRow) -> int:
        """How far a right row is outside a window: negative before it, 0 inside. A session would reach to
        what is within its gap."""
        low, high = stay.start_us, stay.end_us - 1
        if self.window.is_session:
            low, high = stay.start_us - self.window.length_us, stay.end_us
        return min(0, right.time_us - low) + max(0, right.time_us - high)

    def _doubts(self, left: KeyRow, outcome: WindowOutcome, stays: Sequence[Stay]) -> Iterator[Doubt]:
        if outcome.taken is None:
            return
        if outcome.taken == 0 and self.known.begins_late:
            yield "steps_gone"
        if self.known.came_before(left):
            yield "came_before"
        reach_us = self.window.length_us if self.window.is_session else 0
        if self.gone_us is not None and any(self.gone_us >= stay.start_us - reach_us for stay in stays):
            yield "right_rows_gone"
