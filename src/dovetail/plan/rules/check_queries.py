"""What a query may hold, by where it stands. Changes nothing; refuses what streams cannot do.

Joins stand at the top of a view, one a view; aggregates stand in a table, over a time window; what needs
the end of the stream (ORDER BY, LIMIT, DISTINCT, window functions) stands nowhere.
"""

from __future__ import annotations

from sqlglot import exp

from dovetail.plan.functions import TIME_WINDOWS, aggregates_in, function_name
from dovetail.plan.problems import Problems
from dovetail.plan.scope import is_simple
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program

ENDLESS = {
    "order": "ORDER BY",
    "sort": "SORT BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "DISTINCT",
}
JOIN_KINDS = "INNER, LEFT [OUTER], RIGHT [OUTER], FULL [OUTER], LEFT SEMI or LEFT ANTI JOIN"


def check_queries(program: Program) -> Program:
    problems = Problems(program)
    tables = [s for s in program if isinstance(s, CreateTable)]
    if not tables:
        problems.add(
            None,
            program.error(
                "the application has no output",
                None,
                expected="at least one CREATE TABLE ... STORAGE ...",
                hint="CREATE TABLE result AS SELECT * FROM some_view STORAGE CONSOLE;",
            ),
        )
    for statement in program:
        if isinstance(statement, CreateInput):
            continue
        with problems.of(statement.name):
            _endless(program, statement.query)
        with problems.of(statement.name):
            _joins(program, statement)
        with problems.of(statement.name):
            _aggregates(program, statement)
        if isinstance(statement, CreateTable):
            with problems.of(statement.name):
                _storage(program, statement)
    problems.done()
    return program


def _endless(program: Program, query: exp.Expr) -> None:
    for select in query.find_all(exp.Select, exp.SetOperation):
        for clause, words in ENDLESS.items():
            found = select.args.get(clause)
            if found is not None and found is not False:
                union = isinstance(select, exp.SetOperation) and clause == "distinct"
                what = "UNION without ALL" if union else words
                raise program.plan_error(
                    f"{what} needs the end of the stream, which never comes",
                    found if isinstance(found, exp.Expr) and list(found.find_all(exp.Column)) else query,
                    hint="write UNION ALL" if union else "leave it out",
                )
    over = query.find(exp.Window)
    if over is not None:
        raise program.plan_error(
            "window functions (OVER) need the end of the stream, which never comes",
            over,
            hint="aggregate over time instead: GROUP BY window(eventtime, '1 hour'), in a CREATE TABLE",
        )


def _joins(program: Program, statement: CreateView | CreateTable) -> None:
    query = statement.query
    joins = list(query.find_all(exp.Join))
    if not joins:
        return
    top = query.args.get("joins") or [] if isinstance(query, exp.Select) else []
    if isinstance(statement, CreateTable):
        raise program.plan_error(
            "a join stands in a view, not in a table",
            joins[0],
            hint=f"CREATE VIEW {statement.name}_joined AS the join, and select from it here",
        )
    if len(joins) > 1:
        raise program.plan_error(
            f"there are {len(joins)} joins in one view",
            joins[1],
            expected="one join a view",
            hint="join two streams in a view, and join that view with the third in another",
        )
    if joins[0] not in top or not is_simple(query):
        raise program.plan_error(
            "a streaming join joins two relations by name, at the top of a view",
            joins[0],
            expected="CREATE VIEW v AS SELECT ... FROM a JOIN b ON ...",
            hint="put each subquery into a view of its own",
        )
    _join_kind(program, joins[0])
    for clause in ("group", "having"):
        if query.args.get(clause) is not None:
            raise program.plan_error(
                "a join view does not aggregate",
                query.args[clause],
                hint="aggregate in a CREATE TABLE that selects from the view",
            )


def _join_kind(program: Program, join: exp.Join) -> None:
    kind = " ".join(filter(None, (join.method, join.side, join.kind))).upper()
    allowed = {"", "INNER", "LEFT", "LEFT OUTER", "RIGHT", "RIGHT OUTER", "FULL", "FULL OUTER"}
    allowed |= {"LEFT SEMI", "LEFT ANTI", "SEMI", "ANTI"}
    if kind not in allowed or join.args.get("using") or join.args.get("on") is None:
        what = f"a {kind} JOIN is not available" if kind not in allowed else "the join has no ON condition"
        if join.args.get("using"):
            what = "USING is not available: the window needs an ON condition"
        if kind in ("", "CROSS") and join.args.get("on") is None and not join.args.get("using"):
            what = "the two relations are not joined by a condition"
        raise program.plan_error(what, join, expected=f"{JOIN_KINDS} ... ON key = key AND window")


def _aggregates(program: Program, statement: CreateView | CreateTable) -> None:
    query = statement.query
    calls = aggregates_in(query)
    groups = list(query.find_all(exp.Group))
    if not calls and not groups:
        return
    at = calls[0] if calls else groups[0]
    if isinstance(statement, CreateView):
        raise program.plan_error(
            "aggregates stand in a CREATE TABLE, not in a view",
            at,
            hint="select the plain rows here, and aggregate in the CREATE TABLE that reads this view",
        )
    if not is_simple(query):
        raise program.plan_error(
            "an aggregation reads one relation by name",
            at,
            expected="SELECT ... FROM view GROUP BY window(eventtime, '1 hour'), ...",
            hint="put the subquery into a view",
        )
    where = query.args.get("where")
    if where is not None and aggregates_in(where):
        raise program.error("an aggregate cannot stand in WHERE", aggregates_in(where)[0], hint="use HAVING")
    for call in calls:
        inner = [node for node in aggregates_in(call) if node is not call]
        if inner:
            raise program.error("an aggregate inside an aggregate", inner[0], hint="aggregate in two steps")
    grouped = groups[0].expressions if groups else []
    nested = [node for item in grouped for node in aggregates_in(item)]
    if nested:
        raise program.error("an aggregate cannot stand in GROUP BY", nested[0])
    if groups and any(groups[0].args.get(key) for key in ("grouping_sets", "cube", "rollup", "all")):
        raise program.plan_error(
            "GROUP BY takes plain expressions", groups[0], hint="write one CREATE TABLE for each grouping"
        )
    windows = [item for item in grouped if function_name(item) in TIME_WINDOWS]
    if len(windows) != 1:
        raise program.plan_error(
            "an aggregation over a stream needs a time window"
            if not windows
            else "two time windows in one GROUP BY",
            at,
            expected="one window(time, length) in GROUP BY",
            hint="for example: GROUP BY window(eventtime, '1 hour'), key",
        )


def _storage(program: Program, table: CreateTable) -> None:
    category = table.storage.category or ""
    if category.lower().startswith(f"{program.application.lower()}."):
        raise program.plan_error(
            f"categories that start with `{program.application}.` are the application's own",
            table.span,
            hint="choose another category name",
        )
