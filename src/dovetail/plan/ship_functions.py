"""The query's own functions under the names of what they are (`PythonFunction.shipped`), as Spark will know
them."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from sqlglot import exp

from dovetail.model.python_function import PythonFunction
from dovetail.plan.functions import function_name
from dovetail.plan.statements import CreateInput, CreateTable, Program, Statement


def shipped(program: Program) -> tuple[Program, tuple[PythonFunction, ...]]:
    """The program with its calls renamed, and the functions that it calls."""
    if not program.functions:
        return program, ()
    called: dict[str, PythonFunction] = {}

    def rename(node: exp.Expr) -> exp.Expr:
        function = program.function(function_name(node)) if isinstance(node, exp.Anonymous) else None
        if function is not None:
            called[function.name] = function
            node.set("this", function.shipped)
        return node

    def renamed(statement: Statement) -> Statement:
        if isinstance(statement, CreateInput):
            return statement
        made = replace(statement, query=cast(exp.Query, statement.query.transform(rename)))
        if isinstance(made, CreateTable) and made.storage.shard is not None:
            options = [
                (name, value.transform(rename) if isinstance(value, exp.Expr) else value)
                for name, value in made.storage.options
            ]
            return replace(made, storage=replace(made.storage, options=tuple(options)))
        return made

    made = program.with_statements([renamed(statement) for statement in program])
    return made, tuple(called[name] for name in sorted(called))
