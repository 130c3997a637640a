"""Calls of the query's own functions: as many arguments as there are parameters, in their types.

    check_functions    before types are known: counts, and no such function as an aggregate
    cast_arguments     after: an argument of another type is cast, if its values can mean the same

What a call returns is noted at the call (`RETURNS`), so that `type_of` finds it wherever the call is moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from dovetail.errors import DovetailError
from dovetail.model.python_function import PythonFunction
from dovetail.plan.dialect import cast_to
from dovetail.plan.functions import RETURNS, arguments, function_name
from dovetail.plan.problems import Problems, each_statement
from dovetail.plan.scope import environment_of, relation_types
from dovetail.plan.statements import CreateInput, Program, Statement
from dovetail.plan.types import Environment, family, type_of


def check_functions(program: Program) -> Program:
    if not program.functions:
        return program
    problems = Problems(program)
    for statement in program:
        if isinstance(statement, CreateInput):
            continue
        for call in statement.query.find_all(exp.Anonymous):
            function = program.function(function_name(call))
            if function is None:
                continue
            call.meta[RETURNS] = function.returns
            if (error := _refused(program, call, function)) is not None:
                problems.add(statement.name, error)
    problems.done()
    return program


def _refused(program: Program, call: exp.Anonymous, function: PythonFunction) -> DovetailError | None:
    given, wanted = arguments(call), len(function.parameters)
    if any(isinstance(one, exp.Distinct | exp.Star | exp.Kwarg | exp.PropertyEQ) for one in given):
        return program.error(
            f"`{function.name}` takes values in the order of its parameters",
            call,
            expected=function.signature,
        )
    if isinstance(call.parent, exp.Window | exp.Filter):
        return program.error(f"`{function.name}` is not an aggregate", call, expected=function.signature)
    if len(given) == wanted:
        return None
    has = {0: "none", 1: "one"}.get(len(given), str(len(given)))
    counted = f"{wanted} argument{'' if wanted == 1 else 's'}"
    return program.error(
        f"`{function.name}` takes {counted}, and this call has {has}", call, expected=function.signature
    )


def cast_arguments(program: Program) -> Program:
    if not program.functions:
        return program
    types = relation_types(program)

    def rewrite(statement: Statement) -> Sequence[Statement]:
        if isinstance(statement, CreateInput):
            return (statement,)
        query = statement.query.copy()
        environment = environment_of(query, types)
        for call in list(query.find_all(exp.Anonymous)):
            function = program.function(function_name(call))
            if function is not None:
                _cast(program, call, function, environment)
        return (replace(statement, query=query),)

    return each_statement(program, rewrite)


def _cast(program: Program, call: exp.Anonymous, function: PythonFunction, environment: Environment) -> None:
    for argument, (name, wanted) in zip(arguments(call), function.parameters, strict=True):
        found = type_of(argument, environment)
        if found == wanted:
            continue
        if found is not None and not _can_be(found, wanted):
            raise program.error(
                f"`{name}` of `{function.name}` is {wanted}, and this is {found}",
                argument,
                expected=function.signature,
                hint=f"say how: CAST(.. AS {wanted})",
            )
        argument.replace(cast_to(argument, wanted))


def _can_be(found: str, wanted: str) -> bool:
    """Numbers become numbers, and everything simple a text, as Spark does it by itself."""
    kinds = family(found), family(wanted)
    simple = kinds[0] in ("number", "time", "string", "boolean")
    return kinds[0] == kinds[1] or (kinds[1] == "string" and simple)
