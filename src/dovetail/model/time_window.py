"""The time window of an aggregate: which windows a row is in, as Spark's `window` and `session_window` have
them.

Window `n` is `[start + n * every, start + n * every + length)`, for whole numbers `n` of either sign; a
tumbling one has `every = length`. A session belongs to the values of the other group keys: rows of equal
keys, each less than `length` (the gap) after the one before, from the first to `length` after the last.

A window closes when stream time has come to its end: no row that is on time can be in it any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from dovetail.errors import PlanError
from dovetail.model.window_join import MOST_WINDOWS, WindowShape


@dataclass(frozen=True)
class TimeWindow:
    """`length_us`: of a session, its gap. `every_us`: differs from it only in hopping windows."""

    shape: WindowShape
    length_us: int
    every_us: int
    start_us: int = 0

    def __post_init__(self) -> None:
        if self.shape not in get_args(WindowShape):
            raise PlanError(f"unknown window {self.shape!r}", expected=" | ".join(get_args(WindowShape)))
        if self.length_us <= 0:
            raise PlanError(
                f"a time window cannot be {self.length_us} µs long",
                expected="a length above zero, such as '1 hour'",
            )
        if not 0 < self.every_us <= self.length_us:
            raise PlanError(
                f"windows of {self.length_us} µs cannot begin every {self.every_us} µs",
                expected="a slide above zero, and not above the length",
                hint="rows between two windows would be in none" if self.every_us > 0 else None,
            )
        if abs(self.start_us) >= self.every_us:
            raise PlanError(
                f"windows every {self.every_us} µs cannot be shifted by {self.start_us} µs",
                expected="a start time shorter than the slide",
            )
        if self.windows_per_row > MOST_WINDOWS:
            raise PlanError(
                f"every row would be in {self.windows_per_row:,} windows",
                expected=f"at most {MOST_WINDOWS:,}",
                hint="a longer slide, or a shorter window",
            )

    @property
    def is_session(self) -> bool:
        return self.shape == "session"

    @property
    def windows_per_row(self) -> int:
        """That a row is in, at most."""
        return -(-self.length_us // self.every_us)

    def last_start(self, time_us: int) -> int:
        """Where the last window begins that has a row of this time. Not of a session."""
        return time_us - (time_us - self.start_us) % self.every_us

    def last_end(self, time_us: int) -> int:
        """Until when a row of this time is in an open window. Not of a session."""
        return self.last_start(time_us) + self.length_us

    def first_end(self, time_us: int) -> int:
        """When the first window ends that has a row of this time. Not of a session."""
        return time_us - (time_us - self.start_us - self.length_us) % self.every_us + self.every_us

    def ends_between(self, after_us: int, upto_us: int) -> bool:
        """Whether any window ends after one moment and not after the other. Not of a session."""
        ended = (upto_us - self.length_us - self.start_us) // self.every_us
        return ended > (after_us - self.length_us - self.start_us) // self.every_us
