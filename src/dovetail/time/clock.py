"""A stream's time as commits come in: what its producer promises, a fixed delay behind its newest row, or
estimated from all rows.

Law: a clock never goes back. With a fixed delay and disorder below it, no later row is older than the clock.
An inherited time is as good as the promise: a chain of joins is as exact as its first ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dovetail.errors import CorruptFile
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.frequent_key import FrequentKey
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.sketch import EventTimeSketch, merge_sketches
from dovetail.time.estimate import Estimate, observe


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
    """`spec` None: a fixed delay. `inherits`: where a commit carries a promise, the time is that."""

    time_us: int
    max_delay_us: int
    spec: EstimateSpec | None = None
    estimate: Estimate | None = None
    inherits: bool = False

    @classmethod
    def at(
        cls,
        time_us: int,
        max_delay_us: int,
        spec: EstimateSpec | None,
        saved: Mapping[str, Any] | None,
        inherits: bool = False,
    ) -> Clock:
        """The clock as an offset has saved it."""
        estimate = saved_estimate(saved) or Estimate() if spec else None
        return cls(time_us, max_delay_us, spec, estimate, inherits)

    def after(self, commit: CommitSummary) -> Clock:
        if self.inherits and commit.promise_us is not None:
            return self.carried(commit.promise_us)
        if self.spec is None or self.estimate is None:
            time_us = advanced(self.time_us, commit.newest_us, self.max_delay_us)
            return replace(self, time_us=time_us)
        # Tasks write the segments of a commit in parallel, from different producers. Their order says nothing
        # about time, so they count as one observation; one after another, they would look like disorder.
        estimate = observe(self.estimate, self.spec, merge_sketches(commit.sketches))
        return replace(self, time_us=max(self.time_us, estimate.time_us), estimate=estimate)

    def carried(self, time_us: int) -> Clock:
        """The clock moved forward to this time, never back."""
        return replace(self, time_us=max(self.time_us, time_us))

    @property
    def saved(self) -> dict[str, Any] | None:
        """What an offset must save besides the time."""
        return self.estimate.to_json() if self.estimate else None


def advanced(time_us: int, newest_us: int | None, max_delay_us: int) -> int:
    """A fixed delay behind the largest event time seen, as in Spark's and Flink's watermarks. `newest_us` is
    the largest event time of a commit; None: it has no valid one."""
    if newest_us is None or time_us == ENDED:
        return time_us
    # NEVER means that no row has come. The smallest event times must not be mistaken for that.
    return max(time_us, newest_us - max_delay_us, NEVER + 1)


def saved_estimate(saved: Mapping[str, Any] | None) -> Estimate | None:
    """The estimate in an offset."""
    if saved is None:
        return None
    try:
        return Estimate.from_json(saved)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise CorruptFile(
            f"the saved estimate of stream time cannot be read: {error}",
            where="Spark's offset log",
            hint="restore the application's checkpoints from a copy of the home, or start in a new home",
        ) from error
