"""A stream's time as commits come in: a fixed delay behind the newest row, or estimated from all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dovetail.errors import CorruptFile
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.model.frequent_key import FrequentKey
from dovetail.model.sketch import EventTimeSketch, merge_sketches
from dovetail.time import fixed_delay
from dovetail.time.estimate import Estimate, observe


class CommitSummary(NamedTuple):
    """What is known of a commit without reading its rows. `sketches`: one for each segment."""

    rows: int
    newest_us: int | None
    sketches: tuple[EventTimeSketch, ...] = ()
    written_at_us: int = 0
    frequent: tuple[FrequentKey, ...] = ()
    first_row: int = 0  # its number in the category: how many came before


@dataclass(frozen=True)
class Clock:
    """`spec` None: a fixed delay."""

    time_us: int
    max_delay_us: int
    spec: EstimateSpec | None = None
    estimate: Estimate | None = None

    @classmethod
    def at(
        cls, time_us: int, max_delay_us: int, spec: EstimateSpec | None, saved: Mapping[str, Any] | None
    ) -> Clock:
        """The clock as an offset has it."""
        return cls(time_us, max_delay_us, spec, saved_estimate(saved) or Estimate() if spec else None)

    def after(self, commit: CommitSummary) -> Clock:
        if self.spec is None or self.estimate is None:
            time_us = fixed_delay.advance(self.time_us, commit.newest_us, self.max_delay_us)
            return replace(self, time_us=time_us)
        # Tasks wrote the segments side by side, each of other producers: their order says nothing of time.
        estimate = observe(self.estimate, self.spec, merge_sketches(commit.sketches))
        return replace(self, time_us=max(self.time_us, estimate.time_us), estimate=estimate)

    def carried(self, time_us: int) -> Clock:
        """The clock put forward, never back."""
        return replace(self, time_us=max(self.time_us, time_us))

    @property
    def saved(self) -> dict[str, Any] | None:
        """What an offset must keep of it beside the time."""
        return self.estimate.to_json() if self.estimate else None


def saved_estimate(saved: Mapping[str, Any] | None) -> Estimate | None:
    """The estimate in an offset."""
    if saved is None:
        return None
    try:
        return Estimate.from_json(saved)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise CorruptFile(
            f"an estimate of stream time that is not one: {error}",
            where="Spark's offset log",
            hint="restore the application's checkpoints from a copy of the home, or start in a new home",
        ) from error
