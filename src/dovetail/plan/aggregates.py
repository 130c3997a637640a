"""The time window of an aggregate, as its text has it: `window(time, length [, slide [, start]])` or
`session_window(time, gap)` in GROUP BY."""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.time_window import TimeWindow
from dovetail.model.window_join import WindowShape
from dovetail.plan.functions import TIME_WINDOWS, arguments, function_name
from dovetail.plan.interval_literal import NotAnInterval, interval_us, text_us, words
from dovetail.plan.scope import is_simple
from dovetail.plan.statements import CreateTable, Program, Statement

EXAMPLES = {"window": "window(time, '1 hour')", "session_window": "session_window(time, '5 minutes')"}


def window_call(statement: Statement) -> exp.Expr | None:
    """The time window in a table's GROUP BY."""
    if not isinstance(statement, CreateTable) or not is_simple(statement.query):
        return None
    group = statement.query.args.get("group")
    calls = [item for item in group.expressions if function_name(item) in TIME_WINDOWS] if group else []
    return calls[0] if calls else None


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
