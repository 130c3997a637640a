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
from dovetail.model.window_join import WindowJoin, WindowShape
from dovetail.plan.dialect import call
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_node, interval_us, text_us
from dovetail.plan.joins.asked_window import AskedWindow
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
    """The window as the join is told it; what is wrong with it is underlined."""
    try:
        return AskedWindow(clause.shape, clause.length_us, clause.every_us).join(how, emit, longest_us)
    except PlanError as error:
        raise program.plan_error(error.what, clause.node, expected=error.expected, hint=error.hint) from None
