"""Checks that every relation exists and none reads itself, and puts readers after what they read."""

from __future__ import annotations

from sqlglot import exp

from dovetail.errors import PqlError
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.problems import Problems, read_by
from dovetail.plan.statements import CreateInput, CreateTable, Program, Statement, reads, tables_in


def order_statements(program: Program) -> Program:
    problems = Problems(program)
    for statement in program:
        if not isinstance(statement, CreateInput):
            _check_tables(program, statement.name, statement.query, problems)
    problems.done()
    ordered: list[Statement] = []
    waiting = list(program)
    while waiting:
        known = {statement.name.lower() for statement in ordered}
        ready = [s for s in waiting if all(name.lower() in known for name in reads(s))]
        if not ready:
            for statement in waiting:
                if statement.name.lower() in read_by(program, statement.name):
                    problems.add(statement.name, _cycle(program, statement))
            problems.done()
        ordered.append(ready[0])
        waiting.remove(ready[0])
    return program.with_statements(ordered)


def _cycle(program: Program, statement: Statement) -> PqlError:
    return program.error(
        f"`{statement.name}` reads itself, directly or through other views",
        statement.span,
        expected="a view that reads only input tables and other views",
    )


def _check_tables(program: Program, name: str, query: exp.Expr, problems: Problems) -> None:
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    readable = [s.name for s in program if not isinstance(s, CreateTable)]
    for table in query.find_all(exp.Table):
        if table.name.lower() in own:
            continue
        if not isinstance(table.this, exp.Identifier) or table.db:
            problems.add(
                name,
                program.error(
                    "a query can read only input tables and views of its own application",
                    table,
                    expected="a name declared by CREATE INPUT TABLE or CREATE VIEW",
                    hint="declare outside data with CREATE INPUT TABLE ... FROM SCRIBE(..) or FILES(..)",
                ),
            )
            continue
        found = program.get(table.name)
        if found is None:
            problems.add(
                name,
                program.error(
                    f"there is no input table or view `{table.name}`",
                    table,
                    hint=did_you_mean(table.name, readable),
                ),
            )
        elif isinstance(found, CreateTable):
            problems.add(
                name,
                program.error(
                    f"`{found.name}` is a table, and tables cannot be read",
                    table,
                    expected="an input table or a view",
                    hint=f"put the query of `{found.name}` into a view, and read that view from both places",
                ),
            )
    if not tables_in(query) and not problems.found:
        problems.add(name, program.error(f"`{name}` reads no input", query, expected="FROM ..."))
