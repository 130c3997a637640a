"""Every relation that a query reads exists, nothing reads itself, and readers stand after what they read."""

from __future__ import annotations

from sqlglot import exp

from dovetail.plan.nearest import did_you_mean
from dovetail.plan.problems import Problems
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
            for statement in _on_a_cycle(waiting):
                problems.add(
                    statement.name,
                    program.error(
                        f"`{statement.name}` reads itself, directly or through other views",
                        statement.span,
                        expected="a view that reads input tables and views declared apart from it",
                    ),
                )
            problems.done()
        first = ready[0]
        ordered.append(first)
        waiting.remove(first)
    return program.with_statements(ordered)


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
                    "a query reads input tables and views of its own application only",
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
                    f"`{found.name}` is a table: its rows leave the application",
                    table,
                    expected="an input table or a view",
                    hint=f"make what `{found.name}` selects a view, and read the view from both places",
                ),
            )
    if not tables_in(query) and not problems.found:
        problems.add(
            name, program.error(f"`{name}` reads no input", program_span(program, name), expected="FROM ...")
        )


def program_span(program: Program, name: str) -> exp.Expr | None:
    statement = program.get(name)
    return None if statement is None or isinstance(statement, CreateInput) else statement.query


def _on_a_cycle(waiting: list[Statement]) -> list[Statement]:
    """The statements that can reach themselves."""
    graph = {s.name.lower(): [name.lower() for name in reads(s)] for s in waiting}

    def reaches_itself(name: str) -> bool:
        seen: set[str] = set()
        todo = list(graph[name])
        while todo:
            at = todo.pop()
            if at == name:
                return True
            if at in graph and at not in seen:
                seen.add(at)
                todo.extend(graph[at])
        return False

    return [s for s in waiting if reaches_itself(s.name.lower())]
