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
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from dovetail.errors import LogTruncated
from dovetail.joins.interval.fate import missed
from dovetail.joins.interval.replay import Outcome
from dovetail.joins.known import At, Doubt, Known, Match, Status, gone_us
from dovetail.joins.picking import Comparison, Picking, everyone, picking_of
from dovetail.joins.rows.key_rows import KeyRow, row_numbers, rows_at
from dovetail.joins.state import probe_bound
from dovetail.joins.theta.candidates import Beyond, Candidates, candidates
from dovetail.joins.theta.replay import OperandRows, theta_replay
from dovetail.joins.theta.step import Turn
from dovetail.joins.theta.turns import Entered, turns_of
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind, ThetaJoin
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
    known: Known, left: Category, right: Category, wanted: Sequence[KeyRow], names: Mapping[Operand, str]
) -> list[ThetaFate]:
    """The fate of some left rows; `names`: what the operands were in the query."""
    for attempt in range(_ATTEMPTS):
        try:
            explaining = _Explaining(known, left, right, names)
            return [explaining.fate(row, found) for row, found in explaining.candidates(wanted)]
        except LogTruncated:  # removed while it was being read
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


Found = Mapping[ThetaJoin, Candidates]
"""By what the join has been."""


class _Explaining:
    def __init__(self, known: Known, left: Category, right: Category, names: Mapping[Operand, str]) -> None:
        self.known, self.left, self.right, self.names = known, left, right, names
        self.kinds = [theta_of(known.kind_at(at)) for at in range(len(known.records))]
        now = theta_of(known.join_kind)
        self.turns: list[list[Turn]] = turns_of(known.records, left, right) if now.theta.rows else []
        self.entered = Entered(self.turns)
        gone = gone_us(known, lambda times: probe_bound(known.spec, times))
        self.gone_us = NEVER if gone is None else gone

    def candidates(self, wanted: Sequence[KeyRow]) -> Iterator[tuple[KeyRow, Found]]:
        """For each of the rows, by all that the join has been."""
        kinds = list(dict.fromkeys([theta_of(self.known.join_kind), *self.kinds]))
        thetas = [kind.theta for kind in kinds]
        by_kind = [
            candidates(
                kind.theta,
                [(row, self._beyond(kind, row)) for row in wanted],
                self.left.schema,
                self.right,
                thetas,
            )
            for kind in kinds
        ]
        for row, found in zip(wanted, zip(*by_kind, strict=True), strict=True):
            yield row, dict(zip(kinds, found, strict=True))

    def _beyond(self, kind: ThetaJoin, left: KeyRow) -> Beyond:
        """How far right rows are outside the window of a left row."""
        if kind.theta.rows is not None:
            return self.entered.beyond(left.row, kind.theta.rows)
        if unusable(left.time_us):
            return lambda _, times: np.ones(len(times), np.int64)
        low, high = self.known._replace(join_kind=kind).window(left)
        return lambda _, times: np.minimum(0, times - low) + np.maximum(0, times - high)

    def fate(self, left: KeyRow, by_kind: Found) -> ThetaFate:
        outcome, comparison = self._replayed(left, by_kind)
        outcome.partners = [(row, at) for row, at in outcome.partners if not self.known.fills(at)]
        known = self.known if outcome.closed is None else self.known.as_of(self.known.at(outcome.closed))
        kind = theta_of(known.join_kind)
        found, timed = by_kind[kind], kind.theta.rows is None
        conditions = (condition_text(part, self.names) for part in conjuncts(kind.theta))
        invalid = timed and unusable(left.time_us) is not None
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
            tuple(map(Failing, conditions, found.failing)),
            self._miss(known, left, outcome, found, invalid=invalid)
            if outcome.status == "unmatched" and not known.came_before(left)
            else None,
            known.window(left) if timed and not invalid else None,
            not timed,
            self._until_rows(kind.theta, left, outcome),
            tuple(self._doubts(kind.theta, left, outcome)),
            comparison,
        )

    def _replayed(self, left: KeyRow, by_kind: Found) -> tuple[Outcome, Comparison | None]:
        """What became of the row, and what the rows that it met were worth to it."""
        records, operands = self.known.records, OperandRows(left, list(by_kind.values()))
        pickings = {kind.spec: one for kind in by_kind if (one := self._picking(kind.spec)) is not None}
        if not pickings:
            return theta_replay(self.kinds, records, self.turns, left, operands), None
        rows = self._rows(operands.right.tolist())
        worths = {
            spec: one.worth([left], [rows[row] for row in sorted(rows)]) for spec, one in pickings.items()
        }
        outcome = theta_replay(self.kinds, records, self.turns, left, operands, worths)
        picking = pickings.get(self.known.spec)
        if picking is None:
            return outcome, None
        all_met = [replace(kind, spec=everyone(kind.spec)) for kind in self.kinds]
        partners = theta_replay(all_met, records, self.turns, left, operands).partners
        met = [rows[row] for row in dict.fromkeys(row for row, _ in partners)]
        return outcome, picking.comparison(left, met) if met else None

    def _picking(self, spec: IntervalSpec) -> Picking | None:
        return picking_of(spec, self.left.schema, self.right.schema, self.names)

    def _miss(
        self, known: Known, left: KeyRow, outcome: Outcome, found: Candidates, *, invalid: bool
    ) -> ThetaMiss:
        if invalid:
            return ThetaMiss("invalid_time")
        outside = None if found.nearest is None else Outside(self._row(found.nearest), found.by)
        if len(found.fitting.rows):
            return self._missed(known, left, outcome, found)
        if found.closest is not None:
            return ThetaMiss("condition_fails", self._row(found.closest), outside=outside)
        return ThetaMiss("outside_window" if outside else "no_right_row", outside=outside)

    def _missed(self, known: Known, left: KeyRow, outcome: Outcome, found: Candidates) -> ThetaMiss:
        """Why a right row in the window, for which the condition holds, was not met."""
        stops = [record.right.stop for record in self.known.records]
        step = int(np.searchsorted(stops, found.fitting.commits[0], side="right"))
        at, right = step if step < len(stops) else None, self._row(int(found.fitting.rows[0]))
        assert outcome.closed is not None
        assert outcome.taken is not None
        if theta_of(known.join_kind).theta.rows is None or at is None or at > outcome.closed:
            miss = missed(known, left, outcome, right, at)
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

    def _until_rows(self, theta: Theta, left: KeyRow, outcome: Outcome) -> int | None:
        if theta.rows is None or outcome.taken is None or outcome.closed is not None:
            return None
        return theta.rows.left_rows - (self.entered.left_rows - left.row) + 1

    def _doubts(self, theta: Theta, left: KeyRow, outcome: Outcome) -> Iterator[Doubt]:
        if outcome.taken is None:
            return
        if outcome.taken == 0 and self.known.begins_late:
            yield "steps_gone"
        if self.known.came_before(left):
            yield "came_before"
        if theta.rows is not None:
            since = self.entered.before("left", np.array([left.row]))[0] - theta.rows.right_rows
            if row_numbers(self.right)[0] > max(0, since):
                yield "right_rows_gone"
        elif not unusable(left.time_us) and self.gone_us >= self.known.window(left)[0]:
            yield "right_rows_gone"


def theta_of(kind: JoinKind) -> ThetaJoin:
    assert isinstance(kind, ThetaJoin)
    return kind
