"""The windows that a join is asked for, in PQL or in Python: the one place where they are refused.

Errors name the knobs as both spell them (`every`, `max_session`), and lengths in words. Where the window was
asked for is the caller's to say.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.model.window_join import LONGEST_SESSION_US, Emit, WindowJoin, WindowShape
from dovetail.plan.interval_literal import words

EAGER_BECAUSE = "a pair is known with its second row"


@dataclass(frozen=True)
class AskedWindow:
    """`length_us`: of a session, its gap. `every_us`: of hopping windows; of others, as long."""

    shape: WindowShape
    length_us: int
    every_us: int

    def __post_init__(self) -> None:
        if self.length_us <= 0:
            what = "gap of a session" if self.shape == "session" else "window"
            raise PlanError(
                f"the {what} cannot be {words(self.length_us)}",
                expected="a length above zero, such as '10 seconds'",
            )
        if not 0 < self.every_us <= self.length_us:
            raise PlanError(
                f"windows of {words(self.length_us)} cannot begin every {words(self.every_us)}",
                expected="`every` above zero, and not above the length",
                hint="rows between two windows would be in none"
                if self.every_us > 0
                else "windows that do not overlap are TUMBLING",
            )
        WindowJoin(self.shape, self.length_us, self.every_us, self.length_us)  # it refuses the rest

    def join(self, how: JoinType, emit: str | None, longest_us: int | None) -> WindowJoin:
        """The window as the join is told it, with how its pairs come out."""
        longest = self.length_us
        if self.shape == "session":
            longest = LONGEST_SESSION_US if longest_us is None else longest_us
            if longest < self.length_us:
                raise PlanError(
                    f"the session's gap, {words(self.length_us)}, is longer than its rows are kept, "
                    f"{words(longest)}",
                    expected="a gap that is not above `max_session`",
                    hint=f"a shorter gap, or a `max_session` such as '{words(2 * self.length_us)}'",
                )
        return WindowJoin(self.shape, self.length_us, self.every_us, longest, _emit_of(self.shape, how, emit))


def _emit_of(shape: WindowShape, how: JoinType, asked: str | None) -> Emit:
    """How pairs come out; `asked` None or "auto": eager where it can be."""
    can_be_eager = shape != "session" and how == "inner"
    if asked == "eager" and not can_be_eager:
        raise PlanError(
            f'emit = "eager" is not available: {lazy_because(shape, how)}',
            expected='emit = "lazy", or "auto"',
            hint="INNER joins within TUMBLING or HOPPING windows can be eager",
        )
    if asked in (None, "auto"):
        return "eager" if can_be_eager else "lazy"
    return "eager" if asked == "eager" else "lazy"


def lazy_because(shape: WindowShape, how: JoinType) -> str:
    if shape == "session":
        return "its rows are known at its end"
    if how == "inner":
        return "as asked for"
    if how == "semi":
        return "a row comes out once"
    return "lone rows are known at its end"
