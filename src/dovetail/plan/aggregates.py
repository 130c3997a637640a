"""The time window of an aggregate, as its text has it: `window(time, length [, slide [, start]])` or
`session_window(time, gap)`. It is in GROUP BY, or where a query has none, in PARTITION BY of its window
functions, or in the list of a SELECT DISTINCT."""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.time_window import TimeWindow
from dovetail.model.window_join import WindowShape
from dovetail.plan.functions import TIME_WINDOWS, arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us, text_us, words
from dovetail.plan.scope import is_simple
from dovetail.plan.statements import CreateInput, Program, Statement

WINDOW_CLOSED = "window_closed"
"""The column by which a query with early results tells them from the final ones."""
OPTIONS = ("early", "max_delay")
"""The options of an aggregate, `WITH (...)` behind it."""
EXAMPLES = {"window": "window(time, '1 hour')", "session_window": "session_window(time, '5 minutes')"}


def window_call(statement: Statement) -> exp.Expr | None:
    """The time window that a statement works on: its rows come when the window closes."""
    if isinstance(statement, CreateInput) or not is_simple(statement.query):
        return None
    if statement.query.args.get("joins"):
        return None
    return next(iter(time_windows(statement.query)), None)


def time_windows(query: exp.Expr) -> list[exp.Expr]:
    """The calls of time windows in the place where they say what a query works on."""
    group = query.args.get("group")
    if group is not None:
        return [item for item in group.expressions if function_name(item) in TIME_WINDOWS]
    over = list(query.find_all(exp.Window))
    places = [part for node in over for part in node.args.get("partition_by") or []]
    if not over and query.args.get("distinct") is not None:
        places = query.expressions
    return [node for place in places for node in place.walk() if function_name(node) in TIME_WINDOWS]


def early_us(statement: Statement) -> int | None:
    """How often a statement looks at windows that are still open."""
    given = {} if isinstance(statement, CreateInput) else {one.name: one.value for one in statement.options}
    return int(given["early"]) if "early" in given else None


def read_window(program: Program, call: exp.Expr) -> TimeWindow:
    """The window that a call asks for."""
    name, given = str(function_name(call)), arguments(call)
    most = 4 if name == "window" else 2
    if not 2 <= len(given) <= most:
        raise program.error(
            "the time window has no length" if len(given) < 2 else "the time window has too many arguments",
            call,
            expected=EXAMPLES[name],
        )
    lengths = [_length_us(program, part) for part in given[1:]]
    try:
        if name == "session_window":
            return TimeWindow("session", lengths[0], lengths[0])
        every_us = lengths[1] if len(lengths) > 1 else lengths[0]
        shape: WindowShape = "tumbling" if every_us == lengths[0] else "hopping"
        return TimeWindow(shape, lengths[0], every_us, lengths[2] if len(lengths) > 2 else 0)
    except PlanError as error:
        raise program.placed(error, call) from None


def _length_us(program: Program, node: exp.Expr) -> int:
    try:
        if isinstance(node, exp.Literal) and node.is_string:
            return text_us(str(node.this))
        return interval_us(node)
    except NotAnInterval as error:
        raise program.error(
            f"the length of the time window is not a fixed one: {error}", node, expected="such as '1 hour'"
        ) from error


def time_window_words(window: TimeWindow) -> str:
    """`windows of 1 hour`, `windows of 1 hour every 10 minutes`, `sessions with gaps of 5 minutes`."""
    if window.is_session:
        return f"sessions with gaps of {words(window.length_us)}"
    every = f" every {words(window.every_us)}" if window.shape == "hopping" else ""
    start = f", from {words(window.start_us)}" if window.start_us else ""
    return f"windows of {words(window.length_us)}{every}{start}"
