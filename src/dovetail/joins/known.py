"""What is known about some rows afterwards: the rows themselves, the recorded steps, and what retention has
removed. Every kind of join explains its rows from this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from dovetail.joins.rows.key_rows import KeyRow, KeyRows
from dovetail.joins.streams import Times
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind
from dovetail.model.step_record import StepRecord
from dovetail.model.window_join import WindowJoin

Status = Literal["not_taken", "open", "matched", "unmatched"]

Doubt = Literal["steps_gone", "right_rows_gone", "came_before"]
"""`steps_gone`: the steps in which the row came are no longer on record. `right_rows_gone`: retention has
removed right rows that may have been partners. `came_before`: the row came before the join began afresh, and
something may have come out of it by the query before."""


VersionAt = Callable[[int, int], int | None]
"""The version of the application that ran a step: its number and when it was planned. None: not known."""


class At(NamedTuple):
    """A step, and when it was planned; or one before it that is no longer on record. `version`: the one of
    the application that ran it, where that is known."""

    step: int
    planned_at_us: int
    or_before: bool = False
    version: int | None = None


class Match(NamedTuple):
    right: KeyRow
    at: At


class Known(NamedTuple):
    """Everything known about a key: its rows on both sides, and the recorded steps without a gap."""

    join_kind: JoinKind
    records: Sequence[StepRecord]
    left: KeyRows
    right: KeyRows
    kinds: Mapping[int, JoinKind] = {}
    """What the join was, by the numbers of its queries; one that is not here is `join_kind`."""
    version_at: VersionAt = lambda step, planned_at_us: None
    filled: tuple[int, int] = (0, 0)
    """Commits of left and right rows that came before the join began afresh."""
    whole: bool = False
    """What comes out of these is this join's alone: see `JoinConfig`."""

    def fills(self, at: int) -> bool:
        """A step that took rows from before the join began: nothing came out of it."""
        record = self.records[at]
        return record.left.start < self.filled[0] or record.right.start < self.filled[1]

    def came_before(self, left: KeyRow) -> bool:
        """The query before may have answered the row."""
        return not self.whole and left.commit < self.filled[0]

    def kind_at(self, at: int) -> JoinKind:
        """What the join was in a step."""
        return self.kinds.get(self.records[at].query, self.join_kind)

    def as_of(self, at: At | None) -> Known:
        """The same, seen from a step: the join is what it was then. None: what it is now."""
        if at is None:
            return self
        return self._replace(join_kind=self.kind_at(at.step - self.records[0].step))

    @property
    def spec(self) -> IntervalSpec:
        return self.join_kind.spec

    @property
    def window_join(self) -> WindowJoin:
        assert self.join_kind.windows is not None
        return self.join_kind.windows

    @property
    def begins_late(self) -> bool:
        """The log has rows that came before the first record."""
        if not self.records or self.records[0].step == 1:
            return False
        first = self.records[0]
        return first.left.start > self.left.first_commit or first.right.start > self.right.first_commit

    @property
    def sure_since(self) -> At | None:
        """What rows met is known if they came after this step; None: it is known for all rows in the log."""
        return self.at(0)._replace(or_before=False) if self.begins_late else None

    def window(self, left: KeyRow) -> tuple[int, int]:
        return left.time_us - self.spec.before_us, left.time_us + self.spec.after_us

    def times(self, at: int) -> Times:
        return Times(self.records[at].left.time_us, self.records[at].right.time_us)

    def at(self, at: int) -> At:
        step, planned_at_us = self.records[at].step, self.records[at].planned_at_us
        return At(step, planned_at_us, at == 0 and self.begins_late, self.version_at(step, planned_at_us))


Came = Sequence[tuple[KeyRow, int | None]]
"""Right rows, each with the step that took it."""


def gone_us(known: Known, needed_since: Callable[[Times], int]) -> int | None:
    """No right row that retention has removed was newer than this; None: it has removed none.

    For recorded commits the newest time is known. Of others we know that no later left row could reach them:
    `needed_since` says from which time on right rows are needed at given stream times.
    """
    first = known.right.first_commit
    taken = {one.commit: one.newest_us for record in known.records for one in record.right.taken}
    recorded = [newest_us for commit, newest_us in taken.items() if commit < first]
    bounds = [newest_us for newest_us in recorded if newest_us is not None]
    if len(recorded) < first:
        bounds += [needed_since(known.times(at)) - 1 for at in range(len(known.records))]
    return max(bounds, default=None)
