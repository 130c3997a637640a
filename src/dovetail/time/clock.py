"""A stream's time as commits come in: what its producer promises, a fixed delay behind its front, or an
estimate from all rows.

Law: a clock never goes back. With a fixed delay and disorder below it, no later row is older than the clock.
This holds because a front (`front.py`) is the newest row that others confirm, and so at most the newest row.
An inherited time is as good as the promise: a chain of joins is as exact as its first ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from dovetail.errors import CorruptFile
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.frequent_key import FrequentKey
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.sketch import EventTimeSketch, merge_sketches
from dovetail.time.estimate import Estimate, observe
from dovetail.time.front import Front, SeenCommit, is_front

_Kept = TypeVar("_Kept", Estimate, Front)


class CommitSummary(NamedTuple):
    """What is known about a commit without reading its rows. `sketches`: one per segment."""

    rows: int
    newest_us: int | None
    sketches: tuple[EventTimeSketch, ...] = ()
    written_at_us: int = 0
    frequent: tuple[FrequentKey, ...] = ()
    first_row: int = 0  # its number in the category, so how many rows came before
    promise_us: int | None = None  # what its producers promise about rows still to come; None: nothing


@dataclass(frozen=True)
class Clock:
    """`spec` None: a fixed delay behind the front, which `confirmed_by` rows must have reached. `inherits`:
    where a commit carries a promise, the time is that."""

    time_us: int
    max_delay_us: int
    spec: EstimateSpec | None = None
    estimate: Estimate | None = None
    confirmed_by: int = 1
    front: Front | None = None
    inherits: bool = False

    @classmethod
    def at(
        cls,
        time_us: int,
        max_delay_us: int,
        spec: EstimateSpec | None,
        saved: Mapping[str, Any] | None,
        confirmed_by: int = 1,
        inherits: bool = False,
    ) -> Clock:
        """The clock as an offset has saved it. Where it has saved nothing, or what another kind of stream
        time needs, the time is kept and the rest starts empty."""
        if spec is not None:
            estimate = saved_estimate(saved) or Estimate()
            return cls(time_us, max_delay_us, spec, estimate, inherits=inherits)
        front = saved_front(saved) or Front()
        return cls(time_us, max_delay_us, confirmed_by=confirmed_by, front=front, inherits=inherits)

    def after(self, commit: CommitSummary) -> Clock:
        if self.inherits and commit.promise_us is not None:
            return self.carried(commit.promise_us)
        if self.spec is None or self.estimate is None:
            front = (self.front or Front()).after(_seen(commit), self.confirmed_by, self.max_delay_us)
            time_us = advanced(self.time_us, front.time_us, self.max_delay_us)
            return replace(self, time_us=time_us, front=front)
        # Tasks write the segments of a commit in parallel, from different producers. Their order says nothing
        # about time, so they count as one observation; one after another, they would look like disorder.
        written_us = commit.written_at_us or None
        estimate = observe(self.estimate, self.spec, merge_sketches(commit.sketches), written_us)
        return replace(self, time_us=max(self.time_us, estimate.time_us), estimate=estimate)

    def carried(self, time_us: int) -> Clock:
        """The clock moved forward to this time, never back."""
        return replace(self, time_us=max(self.time_us, time_us))

    def settled(self) -> Clock:
        """The clock of a stream that is idle. Nobody will confirm its last rows, so those that are not ahead
        of the log's clock are believed: otherwise three rows would hold windows open for ever."""
        if self.front is None or self.front.reached_us == NEVER:
            return self
        return self.carried(advanced(self.time_us, self.front.reached_us, self.max_delay_us))

    @property
    def held_back(self) -> int | None:
        """About how many recent rows are so far ahead of the front that they would move time beyond it."""
        if self.front is None:
            return None
        front_us = self.front.time_us
        return self.front.rows_beyond(front_us if front_us == NEVER else front_us + self.max_delay_us)

    @property
    def saved(self) -> dict[str, Any] | None:
        """What an offset must save besides the time."""
        if self.estimate is not None:
            return self.estimate.to_json()
        return self.front.to_json() if self.front and self.confirmed_by > 1 else None


def advanced(time_us: int, front_us: int, max_delay_us: int) -> int:
    """A fixed delay behind the front. In Spark's and Flink's watermarks the front is the newest row."""
    if front_us == NEVER or time_us == ENDED:
        return time_us
    # NEVER means that no row has come. The smallest event times must not be mistaken for that.
    return max(time_us, front_us - max_delay_us, NEVER + 1)


def _seen(commit: CommitSummary) -> SeenCommit:
    """Without sketches, all rows of a commit count as being as new as its newest."""
    sketches = commit.sketches
    if not sketches and commit.newest_us is not None and commit.rows:
        newest_us = commit.newest_us
        sketches = (EventTimeSketch(commit.rows, 0, newest_us, newest_us, (0,), (commit.rows,)),)
    return SeenCommit(sketches, commit.written_at_us or None)


def saved_estimate(saved: Mapping[str, Any] | None) -> Estimate | None:
    """The estimate in an offset, if it has one."""
    return None if saved is None or is_front(saved) else _read(Estimate, saved)


def saved_front(saved: Mapping[str, Any] | None) -> Front | None:
    """The front in an offset, if it has one."""
    return _read(Front, saved) if saved is not None and is_front(saved) else None


def _read(kept: type[_Kept], saved: Mapping[str, Any]) -> _Kept:
    try:
        return kept.from_json(saved)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise CorruptFile(
            f"what an offset has saved of stream time cannot be read: {error}",
            where="Spark's offset log",
            hint="restore the application's checkpoints from a copy of the home, or start in a new home",
        ) from error
