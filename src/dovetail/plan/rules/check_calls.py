"""What Spark's analyzer would refuse, found without Spark: functions that do not exist, and a wrong number of
arguments. Changes nothing.

A call is left alone if it has a syntax of its own (`extract`, `WITHIN GROUP`, a unit such as DAY in front),
if its arguments are named, or if the function is qualified: those Spark judges.
"""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import DovetailError
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.joins.windows import BOUNDS, is_window
from dovetail.plan.lookups import AS_OF
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.problems import Problems
from dovetail.plan.spark_functions import spark_functions
from dovetail.plan.statements import CreateInput, Program

OWN = ("pick_by", AS_OF, *BOUNDS)
"""Calls that the planner makes and Spark never sees."""


def check_calls(program: Program) -> Program:
    problems = Problems(program)
    for statement in program:
        if isinstance(statement, CreateInput):
            continue
        for call in statement.query.find_all(exp.Anonymous):
            error = _refused(program, call)
            if error is not None:
                problems.add(statement.name, error)
    problems.done()
    return program


def _refused(program: Program, call: exp.Anonymous) -> DovetailError | None:
    name, given = str(function_name(call)), arguments(call)
    if program.function(name) is not None:
        return None  # `call_functions.py` looks at these
    if name in OWN or is_window(call) or isinstance(call.parent, (exp.Dot, exp.WithinGroup)):
        return None
    if not isinstance(call.this, str) or any(_is_special(argument) for argument in given):
        return None
    known = spark_functions()
    function = known.functions.get(name)
    if function is None:
        return program.error(
            f"there is no function `{name}`",
            call,
            expected=f"a function of Spark {known.spark}",
            hint=did_you_mean(
                name, [*known.functions, *(one.name for one in program.functions)], listed=True
            ),
        )
    if function.takes(len(given)):
        return None
    has = {0: "none", 1: "one"}.get(len(given), str(len(given)))
    return program.error(
        f"`{name}` takes {function.count_words}, and this call has {has}", call, expected=function.signature
    )


def _is_special(argument: exp.Expr) -> bool:
    """It is not one value: `*`, `name => value`, DISTINCT a, b, or a unit such as DAY."""
    return isinstance(argument, (exp.Star, exp.Kwarg, exp.Distinct, exp.Var, exp.PropertyEQ))
