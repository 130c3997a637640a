"""Arguments of types that Spark's analyzer would refuse, where the types are declared or known from a
source: what is inferred may be otherwise when the source is there. Changes nothing."""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import PqlError
from dovetail.plan.functions import arguments, function_name
from dovetail.plan.problems import Problems
from dovetail.plan.scope import environment_of, relation_types
from dovetail.plan.spark_argument_types import refuses
from dovetail.plan.spark_functions import spark_functions
from dovetail.plan.statements import CreateInput, Program
from dovetail.plan.types import Environment, type_of

ORDINALS = ("first", "second", "third")


def check_argument_types(program: Program) -> Program:
    problems = Problems(program)
    types = relation_types(program)
    for statement in program:
        if isinstance(statement, CreateInput):
            continue
        environment = environment_of(statement.query, types)
        for call in statement.query.find_all(exp.Anonymous):
            error = _refused(program, call, environment)
            if error is not None:
                problems.add(statement.name, error)
    problems.done()
    return program


def _refused(program: Program, call: exp.Anonymous, environment: Environment) -> PqlError | None:
    name, given = str(function_name(call)), arguments(call)
    if isinstance(call.parent, exp.Dot | exp.WithinGroup) or not isinstance(call.this, str):
        return None
    for position, argument in enumerate(given):
        type_ = type_of(argument, environment)
        if type_ is None or isinstance(argument, exp.Null) or not refuses(name, len(given), position, type_):
            continue
        known = spark_functions().functions.get(name)
        which = f"the {ORDINALS[position]} argument of `{name}`" if len(given) > 1 else f"`{name}`"
        return program.error(
            f"{which} cannot be {type_}" if len(given) > 1 else f"{which} does not take {type_}",
            argument,
            expected=known.signature if known is not None else None,
            hint="CAST it to a type that the function takes",
        )
    return None
