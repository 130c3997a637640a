"""What happened to left rows of a theta join, and why: as in `interval/fate.py`.

l is a miss.  A right row in its window, for which the condition holds ...   then
... came when l was closed                                                   it came too late
... had been let go when l came                                              l came too late
there are rows in the window, but the condition holds for none               which part fails how often
there are none in the window, but it holds for one outside                   the nearest is named
it holds for none that the log has                                           nothing to match
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dovetail.errors import LogTruncated
from dovetail.joins.interval.fate import missed
from dovetail.joins.interval.replay import Outcome
from dovetail.joins.known import At, Doubt, Known, Match, Status, gone_us
from dovetail.joins.picking import Comparison, Picking, picking_of
from dovetail.joins.rows.key_rows import KeyRow, row_numbers, rows_at
from dovetail.joins.state import probe_bound
from dovetail.joins.theta.candidates import Beyond, Candidates, candidates
from dovetail.joins.theta.replay import theta_replay
from dovetail.joins.theta.step import Turn
from dovetail.joins.theta.turns import Entered, turns_of
from dovetail.log.category import Category
from dovetail.model.offset import NEVER
from dovetail.model.theta import Operand, Theta
from dovetail.model.theta_text import condition_text, conjuncts
from dovetail.model.time_codes import unusable

_ATTEMPTS = 5
MOST_SHOWN = 100
"""Partners of a row that are shown; a theta join may find any number."""
ThetaReason = Literal[
    "invalid_time", "right_late", "left_late", "condition_fails", "outside_window", "no_right_row"
]


class Outside(NamedTuple):
    """A right row outside the window for which the condition holds. `by`: how far, in microseconds or rows
    (negative: before it)."""

    right: KeyRow
    by: int


class ThetaMiss(NamedTuple):
    """`right`: the row that the reason is about; where the condition fails, one in the window for which the
    fewest parts of it do. `by_us` and `at` are as for joins by interval."""

    reason: ThetaReason
    right: KeyRow | None = None
    by_us: int | None = None
    at: At | None = None
    outside: Outside | None = None


class Failing(NamedTuple):
    condition: str
    rows: int


@dataclass(frozen=True)
class ThetaFate:
    """`matched`: with how many; `matches` are the first of them. `in_window`: right rows in the window that
    the log has; for `fitting` of them the condition holds; `failing`: each part of it, and for how many it
    fails. `window`: its bounds; None where rows are counted. There `until_rows` is how many left rows have
    still to enter until it is pushed out."""

    left: KeyRow
    status: Status
    taken: At | None
    closed: At | None
    matched: int
    matches: tuple[Match, ...]
    in_window: int
    fitting: int
    failing: tuple[Failing, ...]
    miss: ThetaMiss | None
    window: tuple[int, int] | None
    counts_rows: bool
    until_rows: int | None
    doubts: tuple[Doubt, ...]
    comparison: Comparison | None = None  # of the right rows it has met, where one is picked by value

    @property
    def invalid(self) -> str | None:
        return unusable(self.left.time_us)


def theta_fates(
    known: Known,
    theta: Theta,
    left: Category,
    right: Category,
    wanted: Sequence[KeyRow],
    names: Mapping[Operand, str],
) -> list[ThetaFate]:
    """The fate of some left rows; `names`: what the operands were in the query."""
    conditions = tuple(condition_text(part, names) for part in conjuncts(theta))
    for attempt in range(_ATTEMPTS):
        try:
            picking = picking_of(known.spec, left.schema, right.schema, names)
            explaining = _Explaining(known, theta, left, right, conditions, picking)
            windows = [(row, explaining.beyond(row)) for row in wanted]
            found = candidates(theta, windows, left.schema, right)
            return [explaining.fate(row, one) for row, one in zip(wanted, found, strict=True)]
        except LogTruncated:  # removed while it was being read
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


class _Explaining:
    def __init__(
        self,
        known: Known,
        theta: Theta,
        left: Category,
        right: Category,
        conditions: tuple[str, ...],
        picking: Picking | None,
    ) -> None:
        self.known = known
        self.picking = picking
        self.theta = theta
        self.right = right
        self.conditions = conditions
        self.turns: list[list[Turn]] = turns_of(known.records, left, right) if theta.rows else []
        self.entered = Entered(self.turns)
        gone = gone_us(known, lambda times: probe_bound(known.spec, times))
        self.gone_us = NEVER if gone is None else gone

    def beyond(self, left: KeyRow) -> Beyond:
        """How far right rows are outside the window of a left row."""
        if self.theta.rows is not None:
            return self.entered.beyond(left.row, self.theta.rows)
        if unusable(left.time_us):
            return lambda _, times: np.ones(len(times), np.int64)
        low, high = self.known.window(left)
        return lambda _, times: np.minimum(0, times - low) + np.maximum(0, times - high)

    def fate(self, left: KeyRow, found: Candidates) -> ThetaFate:
        known, timed = self.known, self.theta.rows is None
        invalid = timed and unusable(left.time_us) is not None
        outcome, comparison = self._replayed(left, found)
        partners = outcome.partners[:MOST_SHOWN]
        rows = self._rows([row for row, _ in partners])
        return ThetaFate(
            left,
            outcome.status,
            None if outcome.taken is None else known.at(outcome.taken),
            None if outcome.closed is None else known.at(outcome.closed),
            len(outcome.partners),
            tuple(Match(rows[row], known.at(at)) for row, at in partners),
            found.in_window,
            len(found.fitting.rows),
            tuple(map(Failing, self.conditions, found.failing)),
            self._miss(left, outcome, found, invalid=invalid) if outcome.status == "unmatched" else None,
            known.window(left) if timed and not invalid else None,
            not timed,
            self._until_rows(left, outcome),
            tuple(self._doubts(left, outcome)),
            comparison,
        )

    def _replayed(self, left: KeyRow, found: Candidates) -> tuple[Outcome, Comparison | None]:
        """What became of the row, and what the rows that it met were worth to it."""
        records, picking = self.known.records, self.picking
        if picking is None:
            return theta_replay(self.known.spec, self.theta, records, self.turns, left, found), None
        rows = self._rows(found.fitting.rows.tolist())
        worth = picking.worth([left], [rows[row] for row in sorted(rows)])
        outcome = theta_replay(self.known.spec, self.theta, records, self.turns, left, found, worth)
        met = theta_replay(picking.everyone, self.theta, records, self.turns, left, found).partners
        return outcome, picking.comparison(left, [rows[row] for row, _ in met]) if met else None

    def _miss(self, left: KeyRow, outcome: Outcome, found: Candidates, *, invalid: bool) -> ThetaMiss:
        if invalid:
            return ThetaMiss("invalid_time")
        outside = None if found.nearest is None else Outside(self._row(found.nearest), found.by)
        if len(found.fitting.rows):
            return self._missed(left, outcome, found)
        if found.closest is not None:
            return ThetaMiss("condition_fails", self._row(found.closest), outside=outside)
        return ThetaMiss("outside_window" if outside else "no_right_row", outside=outside)

    def _missed(self, left: KeyRow, outcome: Outcome, found: Candidates) -> ThetaMiss:
        """Why a right row in the window, for which the condition holds, was not met."""
        stops = [record.right.stop for record in self.known.records]
        step = int(np.searchsorted(stops, found.fitting.commits[0], side="right"))
        at, right = step if step < len(stops) else None, self._row(int(found.fitting.rows[0]))
        assert outcome.closed is not None
        assert outcome.taken is not None
        if self.theta.rows is None or at is None or at > outcome.closed:
            miss = missed(self.known, left, outcome, right, at)
            late: ThetaReason = "right_late" if miss.reason == "right_late" else "left_late"
            return ThetaMiss(late, right, miss.by_us, miss.at)
        ended = next((n for n in range(at, outcome.taken) if self.known.records[n].ended), at)
        return ThetaMiss("left_late", right, None, self.known.at(ended))

    def _row(self, number: int) -> KeyRow:
        return self._rows([number])[number]

    def _rows(self, numbers: Sequence[int]) -> dict[int, KeyRow]:
        """Right rows by their numbers."""
        found = {row.row: row for row in rows_at(self.right, sorted(set(numbers)))}
        if gone := set(numbers) - set(found):
            raise LogTruncated(f"row {min(gone)} was removed while it was looked for", where=self.right.where)
        return found

    def _until_rows(self, left: KeyRow, outcome: Outcome) -> int | None:
        if self.theta.rows is None or outcome.taken is None or outcome.closed is not None:
            return None
        return self.theta.rows.left_rows - (self.entered.left_rows - left.row) + 1

    def _doubts(self, left: KeyRow, outcome: Outcome) -> Iterator[Doubt]:
        if outcome.taken is None:
            return
        if outcome.taken == 0 and self.known.begins_late:
            yield "steps_gone"
        if self.theta.rows is not None:
            since = self.entered.before("left", np.array([left.row]))[0] - self.theta.rows.right_rows
            if row_numbers(self.right)[0] > max(0, since):
                yield "right_rows_gone"
        elif not unusable(left.time_us) and self.gone_us >= self.known.window(left)[0]:
            yield "right_rows_gone"
