"""Which options go together with a join within windows, and which only with one."""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.model.interval import JoinType
from dovetail.plan.join_condition import JoinCondition
from dovetail.plan.options import JoinOptions
from dovetail.plan.statements import CreateView, Program
from dovetail.plan.window_clause import EXAMPLES, reads_bounds, window_join

OF_WINDOWS = ("emit", "max_session")
NOT_OF_WINDOWS = ("match", "pick", "left_cap", "right_cap")
"""A row joins with all rows of its key in a window, and all of them are held until it is over."""


def check_window_options(
    program: Program, view: CreateView, condition: JoinCondition, how: JoinType, given: JoinOptions
) -> None:
    """Refuses what does not go together."""
    named = {option.name: option for option in view.options}
    clause = condition.window
    if clause is None:
        for name in OF_WINDOWS:
            if name in named:
                raise program.plan_error(
                    f"`{name}` is for joins within windows, and this one has none",
                    named[name].span,
                    expected=EXAMPLES["tumbling"],
                    hint=f"leave `{name}` out",
                )
        return
    for name in NOT_OF_WINDOWS:
        if name in named and (name, named[name].value) != ("match", "all"):
            raise program.plan_error(
                f"`{name}` is given, but a join within windows gives every pair of a window",
                named[name].span,
                hint=f"leave `{name}` out, or bound the times in the ON condition instead of WITHIN",
            )
    if "max_session" in named and clause.shape != "session":
        raise program.plan_error(
            f"`max_session` is given, but the windows are {clause.shape.upper()}",
            named["max_session"].span,
            hint="leave `max_session` out",
        )
    window_join(program, clause, how, given.emit, given.max_session_us)


def program_error_of_bounds(program: Program, query: exp.Select) -> PlanError:
    node = next((item for item in query.walk() if reads_bounds(item)), query)
    return program.plan_error(
        "the bounds of a window are asked for, and the join has no windows",
        node,
        expected=EXAMPLES["tumbling"],
        hint="bounds between times in the ON condition are no window that begins or ends anywhere",
    )
