"""What a window join is asked to do: which windows a row is in, and when its pairs come out.

Tumbling and hopping windows are numbered: window `n` is `[n * every, n * every + length)`; a tumbling one has
`every = length`. Rows of both sides with equal keys match once for every window that holds both. A session
belongs to a key: rows of both sides, each at most `length` (the gap) after the one before, from the first to
`length` after the last. One that lasts longer than `longest` is cut there: so state and log stay bounded.

A window is over when both stream times have passed its end: what is on time cannot be in it any more.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from dovetail.errors import PlanError

WindowShape = Literal["tumbling", "hopping", "session"]

Emit = Literal["lazy", "eager"]
"""`lazy`: a window is joined when it is over. `eager`: a pair comes out as soon as both rows are in."""

MOST_WINDOWS = 1_000
"""That one row may be in: it is joined in each of them."""
LONGEST_SESSION_US = 24 * 60 * 60 * 1_000_000
NEVER, ENDED = -(2**63), 2**63 - 1
_LOWEST, _HIGHEST = -(2**62), 2**62


@dataclass(frozen=True)
class WindowJoin:
    """`length_us`: of a session, its gap. `every_us` and `longest_us`: where they have no say, as long."""

    shape: WindowShape
    length_us: int
    every_us: int
    longest_us: int
    emit: Emit = "lazy"

    def __post_init__(self) -> None:
        for name, given, allowed in (("window", self.shape, WindowShape), ("emit", self.emit, Emit)):
            if given not in get_args(allowed):
                raise PlanError(f"unknown {name} {given!r}", expected=" | ".join(get_args(allowed)))
        if self.length_us <= 0:
            what = "the gap of a session" if self.shape == "session" else "a window"
            raise PlanError(
                f"{what} cannot be {self.length_us} µs long",
                expected="a length above zero, such as '10 seconds'",
            )
        if not 0 < self.every_us <= self.length_us:
            raise PlanError(
                f"windows of {self.length_us} µs cannot begin every {self.every_us} µs",
                expected="`every` above zero, and not above the length",
                hint="rows between two windows would be in none"
                if self.every_us > 0
                else "windows that do not overlap are TUMBLING",
            )
        if -(-self.length_us // self.every_us) > MOST_WINDOWS:
            raise PlanError(
                f"every row would be in {-(-self.length_us // self.every_us):,} windows",
                expected=f"at most {MOST_WINDOWS:,}",
                hint="a longer `every`, or bounds between the times instead of windows",
            )
        if self.longest_us < self.length_us:
            raise PlanError(
                f"the gap of a session, {self.length_us} µs, is longer than the log keeps the rows of one, "
                f"{self.longest_us} µs",
                expected="a gap that is not above `max_session`",
                hint="a longer `max_session`, or a shorter gap",
            )

    @property
    def is_session(self) -> bool:
        return self.shape == "session"

    @property
    def replayable(self) -> bool:
        """Which rows are held follows from the log and the stream times alone. Of sessions it does not: which
        rows have left depends on what came late."""
        return not self.is_session

    def last_over(self, time_us: int) -> int:
        """The number of the last window that is over when both stream times have come to this."""
        if time_us in (NEVER, ENDED):
            return _LOWEST // self.every_us if time_us == NEVER else _HIGHEST // self.every_us
        return (time_us - self.length_us) // self.every_us

    def needed_since(self, left_time_us: int, right_time_us: int) -> int:
        """The event time from which on rows may be held."""
        time_us = min(left_time_us, right_time_us)
        if time_us in (NEVER, ENDED):
            return _LOWEST if time_us == NEVER else ENDED
        if self.is_session:
            return time_us - self.longest_us
        return (self.last_over(time_us) + 1) * self.every_us

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def tumbling(length_us: int, emit: Emit = "lazy") -> WindowJoin:
    return WindowJoin("tumbling", length_us, length_us, length_us, emit)


def hopping(length_us: int, every_us: int, emit: Emit = "lazy") -> WindowJoin:
    return WindowJoin("hopping", length_us, every_us, length_us, emit)


def session(gap_us: int, longest_us: int = LONGEST_SESSION_US) -> WindowJoin:
    return WindowJoin("session", gap_us, gap_us, longest_us)
