"""Windows that a join is within: `WITHIN TUMBLING '10 seconds'` in PQL, `dovetail.Tumbling(...)` in Python.

In a program the clause is one more condition of ON, so that rules treat its columns like any others:

    ON l.k = r.k WITHIN HOPPING '10 seconds' EVERY '2 seconds' OF l.at, r.at
    ON l.k = r.k AND within_hopping(l.at, r.at, INTERVAL '10' SECONDS, INTERVAL '2' SECONDS)

Both can be written; programs are rendered as the second. The two times may be missing until
`name_window_times` has found them. `window_start` and `window_end`, the bounds of the window that a result
comes from, are known after the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType, Match
from dovetail.model.window_join import LONGEST_SESSION_US, Emit, WindowJoin, WindowShape
from dovetail.plan.dialect import call
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_node, interval_us, text_us, words
from dovetail.plan.statements import Program

SHAPES: tuple[WindowShape, ...] = ("tumbling", "hopping", "session")
EXAMPLES = {
    "tumbling": "WITHIN TUMBLING '10 seconds'",
    "hopping": "WITHIN HOPPING '10 seconds' EVERY '2 seconds'",
    "session": "WITHIN SESSION '30 seconds'",
}
BOUNDS = ("window_start", "window_end")
TIME_NAMES = ("eventtime", "event_time", "time", "timestamp", "ts")
"""What an event time is called, where its type does not say that it is one."""
EAGER_BECAUSE = "a pair is known with its second row"
_CALLS = {f"within_{shape}": shape for shape in SHAPES}


@dataclass(frozen=True)
class AskedWindow:
    """A window as PQL and Python ask for it. Its errors use words that both share (`every`, `max_session`);
    the caller adds the place. `length_us` of a session is its gap; `every_us` differs from it only in
    hopping windows."""

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
                expected="`every` above zero and at most the length",
                hint="rows between two windows would be in none"
                if self.every_us > 0
                else "windows that do not overlap are TUMBLING",
            )
        WindowJoin(self.shape, self.length_us, self.every_us, self.length_us)  # it checks the rest

    def join(self, how: JoinType, match: Match, emit: str | None, longest_us: int | None) -> WindowJoin:
        """The window of a join, with when its pairs are emitted."""
        longest = self.length_us
        if self.shape == "session":
            longest = LONGEST_SESSION_US if longest_us is None else longest_us
            if longest < self.length_us:
                raise PlanError(
                    f"the session's gap of {words(self.length_us)} is longer than `max_session`, "
                    f"{words(longest)}",
                    expected="a gap of at most `max_session`",
                    hint=f"a shorter gap, or a `max_session` such as '{words(2 * self.length_us)}'",
                )
        return WindowJoin(self.shape, self.length_us, self.every_us, longest, self._emit(how, match, emit))

    def _emit(self, how: JoinType, match: Match, asked: str | None) -> Emit:
        can_be_eager = self.shape != "session" and how == "inner" and match == "all"
        if asked == "eager" and not can_be_eager:
            raise PlanError(
                f'emit = "eager" is not available: {lazy_because(self.shape, how, match)}',
                expected='emit = "lazy" or "auto"',
                hint="INNER joins within TUMBLING or HOPPING windows that return all partners can be eager",
            )
        return "eager" if can_be_eager and asked != "lazy" else "lazy"


def lazy_because(shape: WindowShape, how: JoinType, match: Match) -> str:
    if shape == "session":
        return "its rows are known at its end"
    if match == "one" and how not in ("semi", "anti"):
        return "partners are picked at its end"
    if how == "inner":
        return "by option"
    return "a row comes out once" if how == "semi" else "unmatched rows are known at its end"


@dataclass(frozen=True)
class WindowClause:
    """WITHIN as a join's text has it. `node` is the condition in ON."""

    window: AskedWindow
    left_time: exp.Expr | None
    right_time: exp.Expr | None
    node: exp.Expr

    @property
    def length_us(self) -> int:
        return self.window.length_us

    def join(
        self, program: Program, how: JoinType, match: Match, emit: str | None, longest_us: int | None
    ) -> WindowJoin:
        try:
            return self.window.join(how, match, emit, longest_us)
        except PlanError as error:
            raise program.placed(error, self.node) from None


def is_window(node: exp.Expr) -> bool:
    return function_name(node) in _CALLS


def reads_bounds(node: exp.Expr) -> bool:
    """Whether an expression reads the bounds of its window."""
    return any(function_name(part) in BOUNDS for part in node.walk())


def window_call(
    shape: WindowShape, times: Sequence[exp.Expr], length_us: int, every_us: int | None
) -> exp.Expr:
    lengths = [length_us] if every_us is None else [length_us, every_us]
    return call(f"within_{shape}", *times, *(interval_node(us) for us in lengths))


def read_window(program: Program, node: exp.Expr) -> WindowClause:
    """The window that a condition asks for."""
    shape = _CALLS[str(function_name(node))]
    given = arguments(node)
    wanted = 2 if shape == "hopping" else 1
    times, lengths = given[:-wanted], given[-wanted:]
    if len(times) not in (0, 2) or len(lengths) != wanted:
        raise program.plan_error(
            f"within_{shape} has {len(given)} arguments",
            node,
            expected="optionally two times, then " + ("length and EVERY" if wanted == 2 else "the length"),
            hint=f"for example: {EXAMPLES[shape]}",
        )
    left, right = times or (None, None)
    try:
        found = [_length_us(part) for part in lengths]
        return WindowClause(AskedWindow(shape, found[0], found[-1]), left, right, node)
    except NotAnInterval as error:
        raise program.plan_error(
            f"the window cannot have this length: {error}",
            node,
            expected="a fixed length: weeks, days, hours, minutes, seconds or fractions of a second",
            hint=f"for example: {EXAMPLES[shape]}",
        ) from None
    except PlanError as error:
        raise program.placed(error, node) from None


def _length_us(node: exp.Expr) -> int:
    if isinstance(node, exp.Literal) and node.is_string:
        return text_us(str(node.this))
    return interval_us(node)
