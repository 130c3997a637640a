"""`WITHIN TUMBLING '10 seconds'` as a tree: a condition of its own in ON, which rules treat as any other.

    ON l.k = r.k WITHIN HOPPING '10 seconds' EVERY '2 seconds' OF l.at, r.at
    ON l.k = r.k AND within_hopping(l.at, r.at, INTERVAL '10' SECONDS, INTERVAL '2' SECONDS)

Both can be written; the second is how programs are rendered. The two times may be missing until
`name_window_times` has found them. `window_start` and `window_end` are the bounds of the window that rows
came out of, known after the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
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
_CALLS = {f"within_{shape}": shape for shape in SHAPES}


@dataclass(frozen=True)
class WindowClause:
    """The window of a join as its text has it. `node` is the condition that said so."""

    shape: WindowShape
    length_us: int
    every_us: int
    left_time: exp.Expr | None
    right_time: exp.Expr | None
    node: exp.Expr


def is_window(node: exp.Expr) -> bool:
    return function_name(node) in _CALLS


def reads_bounds(node: exp.Expr) -> bool:
    """Whether an expression needs to know which window it is in."""
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
            expected="perhaps two times, then " + ("length and EVERY" if wanted == 2 else "the length"),
            hint=f"for example: {EXAMPLES[shape]}",
        )
    try:
        found = [_length_us(part) for part in lengths]
    except NotAnInterval as error:
        raise program.plan_error(
            f"the window cannot have this length: {error}",
            node,
            expected="a fixed length: weeks, days, hours, minutes, seconds and parts of them",
            hint=f"for example: {EXAMPLES[shape]}",
        ) from None
    left, right = times or (None, None)
    return WindowClause(shape, found[0], found[-1], left, right, node)


def _length_us(node: exp.Expr) -> int:
    if isinstance(node, exp.Literal) and node.is_string:
        return text_us(str(node.this))
    return interval_us(node)


def window_join(
    program: Program, clause: WindowClause, how: JoinType, emit: str | None, longest_us: int | None
) -> WindowJoin:
    """The window as the join is told it, with how its pairs come out."""
    length, every = words(clause.length_us), words(clause.every_us)
    try:
        if clause.shape == "session":
            longest = LONGEST_SESSION_US if longest_us is None else longest_us
            if 0 < longest < clause.length_us:
                raise PlanError(
                    f"the session's gap, {length}, is longer than its rows are kept, {words(longest)}",
                    expected="a gap that is not above `max_session`",
                    hint=f"a shorter gap, or WITH (max_session = INTERVAL '{words(2 * clause.length_us)}')",
                )
        else:
            longest = clause.length_us
            if clause.length_us > 0 and not 0 < clause.every_us <= clause.length_us:
                raise PlanError(
                    f"windows of {length} cannot begin every {every}",
                    expected="EVERY above zero, and not above the length",
                    hint="rows between two windows would be in none"
                    if clause.every_us > 0
                    else "for windows that do not overlap write TUMBLING",
                )
        return WindowJoin(
            clause.shape, clause.length_us, clause.every_us, longest, emit_of(clause.shape, how, emit)
        )
    except PlanError as error:
        what = error.what
        if clause.length_us <= 0:
            what = f"the {'gap of a session' if clause.shape == 'session' else 'window'} cannot be {length}"
        raise program.plan_error(what, clause.node, expected=error.expected, hint=error.hint) from None


def emit_of(shape: WindowShape, how: JoinType, asked: str | None) -> Emit:
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


EAGER_BECAUSE = "a pair is known with its second row"
