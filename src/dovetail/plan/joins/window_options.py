"""Which options go together with a join within windows, and which only with one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.model.window_join import WindowShape
from dovetail.plan.joins.condition import JoinCondition
from dovetail.plan.joins.options import JoinOptions
from dovetail.plan.joins.windows import EXAMPLES, reads_bounds, window_join
from dovetail.plan.statements import CreateView, JoinOption, Program

OF_WINDOWS = ("emit", "max_session")
NOT_OF_WINDOWS = ("match", "pick", "left_cap", "right_cap")
"""A row joins with all rows of its key in a window, and all of them are held until it is over."""


def misplaced_beside(
    shape: WindowShape | None, options: Iterable[JoinOption], example: str
) -> Iterator[tuple[JoinOption, PlanError]]:
    """Options that do not go together with such windows, or (None) with a join that has none, each with an
    error; `example` is how windows are asked for."""
    for option in options:
        name = option.name
        if shape is None:
            if name in OF_WINDOWS:
                yield (
                    option,
                    PlanError(
                        f"`{name}` is for joins within windows, and this one has none",
                        expected=example,
                        hint=f"leave `{name}` out",
                    ),
                )
        elif name in NOT_OF_WINDOWS and (name, option.value) != ("match", "all"):
            yield (
                option,
                PlanError(
                    f"`{name}` is given, but a join within windows gives every pair of a window",
                    hint=f"leave `{name}` out, or join within bounds between the times instead of windows",
                ),
            )
        elif name == "max_session" and shape != "session":
            yield (
                option,
                PlanError(
                    f"`max_session` is given, but the windows are {shape.upper()}",
                    hint="leave `max_session` out",
                ),
            )


def check_window_options(
    program: Program, view: CreateView, condition: JoinCondition, how: JoinType, given: JoinOptions
) -> None:
    """Refuses what does not go together."""
    clause = condition.window
    shape = clause.shape if clause is not None else None
    for option, error in misplaced_beside(shape, view.options, EXAMPLES["tumbling"]):
        raise program.plan_error(error.what, option.span, expected=error.expected, hint=error.hint)
    if clause is not None:
        window_join(program, clause, how, given.emit, given.max_session_us)


def program_error_of_bounds(program: Program, query: exp.Select) -> PlanError:
    node = next((item for item in query.walk() if reads_bounds(item)), query)
    return program.plan_error(
        "the bounds of a window are asked for, and the join has no windows",
        node,
        expected=EXAMPLES["tumbling"],
        hint="bounds between times in the ON condition are no window that begins or ends anywhere",
    )
