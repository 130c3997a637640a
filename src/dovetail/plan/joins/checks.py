"""What a join may not be: options that do not apply to it, and combinations that cannot run on streams."""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import PlanError
from dovetail.plan.joins.condition import JoinView
from dovetail.plan.joins.options import unsuitable
from dovetail.plan.joins.picks import check_pick
from dovetail.plan.joins.windows import EXAMPLES, reads_bounds
from dovetail.plan.problems import Problems
from dovetail.plan.statements import Program


def check_join(program: Program, join: JoinView) -> None:
    """Raises all errors in the join's options, or the first of its other errors."""
    problems = Problems()
    clause = join.condition.window
    shape = clause.window.shape if clause is not None else None
    for option, error in unsuitable(join.kind, shape, join.view.options, EXAMPLES["tumbling"]):
        problems.add(None, program.placed(error, option.span))
    problems.done()
    check_pick(program, join)
    if clause is not None:
        clause.join(program, join.how, join.options.match, join.options.emit, join.options.max_session_us)
    if join.condition.is_theta:
        _check_theta(program, join)


def _check_theta(program: Program, join: JoinView) -> None:
    condition, given = join.condition, join.options
    if not (condition.both or condition.left_only or condition.right_only):
        raise program.plan_error(
            "the join has no equality and no other condition between the two sides",
            join.on,
            expected="an equality, such as l.key = r.key, or any condition, such as abs(l.x - r.a) <= 10",
            hint="to join every pair within the window, say so: AND l.key IS NOT NULL",
        )
    if given.rows is not None and given.match == "one" and given.pick != "first":
        raise program.plan_error(
            f'pick = "{given.pick}" chooses by event time, but this join counts rows',
            next(option.span for option in join.view.options if option.name == "pick"),
            expected='pick = "first"',
            hint="leave `pick` out, or use a time window",
        )


def no_bounds(program: Program, query: exp.Select) -> PlanError:
    """The query reads the bounds of a window, and its join has none."""
    return program.plan_error(
        "the query reads window_start or window_end, but the join has no windows",
        next((item for item in query.walk() if reads_bounds(item)), query),
        expected=EXAMPLES["tumbling"],
        hint="bounds between times in ON are relative to each row, so they have no start or end",
    )
