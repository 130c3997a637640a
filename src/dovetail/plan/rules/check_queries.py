"""What a query may contain. Changes nothing; refuses what streams cannot do.

Joins are at the top level of a view or table. Aggregates, DISTINCT and window functions are over a time
window. Nothing may need the end of the stream (ORDER BY, LIMIT, and these without a window).
"""

from __future__ import annotations

from sqlglot import exp

from dovetail.connectors.kinds import SINKS
from dovetail.connectors.options import MERGE_EVERY, with_defaults
from dovetail.errors import PlanError
from dovetail.plan.aggregates import early_us, time_windows, window_call
from dovetail.plan.functions import TIME_WINDOWS, aggregates_in, function_name
from dovetail.plan.joins.condition import JOIN_TYPES
from dovetail.plan.problems import Problems
from dovetail.plan.scope import is_simple
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program
from dovetail.slicing.input_files import is_local

ENDLESS = {
    "order": "ORDER BY",
    "sort": "SORT BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "DISTINCT",
}
FOREIGN_WINDOWS = {
    "tumble": "window(eventtime, '1 hour')",
    "hop": "window(eventtime, '1 hour', '10 minutes')",
    "session": "session_window(eventtime, '5 minutes')",
}
"""Windows as Flink SQL groups by them, and ours."""
LEFT_OUT = {
    "distinct": "make rows distinct within a time window: "
    "SELECT DISTINCT window(eventtime, '1 hour').start AS since, key FROM ...",
    "limit": "the first rows of each time window: "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY window(eventtime, '1 hour') ORDER BY x DESC) <= 10",
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
            if not statement.columns:
                problems.add(statement.name, _no_columns(program, statement))
            continue
        with problems.of(statement.name):
            _endless(program, statement)
        with problems.of(statement.name):
            _joins(program, statement)
        with problems.of(statement.name):
            _aggregates(program, statement)
        if isinstance(statement, CreateTable):
            with problems.of(statement.name):
                _storage(program, statement)
    problems.done()
    return program


def _no_columns(program: Program, table: CreateInput) -> PlanError:
    return program.plan_error(
        f"the columns of `{table.name}` are not known",
        table.span,
        expected="a source that is there, or a list of columns",
        hint=f"name them: CREATE INPUT TABLE {table.name} (a INT, b STRING) FROM ...",
    )


def _endless(program: Program, statement: CreateView | CreateTable) -> None:
    query, windowed = statement.query, window_call(statement) is not None
    for select in query.find_all(exp.Select, exp.SetOperation):
        for clause, words in ENDLESS.items():
            found = select.args.get(clause)
            if windowed and clause == "distinct":
                _distinct(program, query)
            elif found is not None and found is not False:
                union = isinstance(select, exp.SetOperation) and clause == "distinct"
                what = "UNION without ALL" if union else words
                raise program.plan_error(
                    f"{what} needs the end of the stream, which never comes",
                    found if isinstance(found, exp.Expr) and list(found.find_all(exp.Column)) else query,
                    hint="write UNION ALL" if union else LEFT_OUT.get(clause, "leave it out"),
                )
    over = query.find(exp.Window)
    if over is not None and not windowed:
        joined = isinstance(query, exp.Select) and query.args.get("joins")
        raise program.plan_error(
            "a query cannot both join and rank"
            if joined
            else "window functions (OVER) need the end of the stream, which never comes",
            over,
            expected="OVER (PARTITION BY window(eventtime, '1 hour'), ...), over one relation by name",
            hint="join in a CREATE VIEW, and rank in a statement that selects from it"
            if joined
            else "rank within a time window, or aggregate over one: GROUP BY window(eventtime, '1 hour')",
        )


def _distinct(program: Program, query: exp.Expr) -> None:
    """Over groups or ranked rows it would be a second step."""
    if query.args.get("distinct") is None:
        return
    beside = query.args.get("group") or query.find(exp.Window)
    call = next(iter(time_windows(query)), None)
    if beside is not None or function_name(call or query) == "session_window":
        raise program.plan_error(
            "DISTINCT cannot stand beside GROUP BY, window functions or sessions",
            beside or call,
            expected="SELECT DISTINCT window(eventtime, '1 hour').start AS since, key FROM ...",
            hint="group by the columns that should be distinct, or use a second view",
        )


def _joins(program: Program, statement: CreateView | CreateTable) -> None:
    query = statement.query
    joins = list(query.find_all(exp.Join))
    if not joins:
        return
    top = query.args.get("joins") or [] if isinstance(query, exp.Select) else []
    nested = [join for join in joins if not any(join is other for other in top)]
    if nested or not is_simple(query):
        raise program.plan_error(
            "a streaming join must be at the top level of a query and join relations by name",
            (nested or joins)[0],
            expected="SELECT ... FROM a JOIN b ON ... JOIN c ON ...",
            hint="put each subquery into a view of its own",
        )
    for join in joins:
        _join_kind(program, join)


def _join_kind(program: Program, join: exp.Join) -> None:
    kind = " ".join(filter(None, (join.method, join.side, join.kind))).upper()
    has_on = join.args.get("on") is not None
    if kind in JOIN_TYPES and has_on:
        return
    what = f"a {kind} JOIN is not available" if kind not in JOIN_TYPES else "the join has no ON condition"
    if kind in ("", "CROSS") and not has_on:
        what = "no condition joins the two relations"
    raise program.plan_error(what, join, expected=f"{JOIN_KINDS} ... ON key = key AND window")


def _aggregates(program: Program, statement: CreateView | CreateTable) -> None:
    query = statement.query
    if isinstance(statement, CreateView) and early_us(statement) is not None:
        raise program.plan_error(
            "early results are allowed only in CREATE TABLE",
            next(one.span for one in statement.options if one.name == "early"),
            hint="a query over this view would take them for more rows",
        )
    calls = aggregates_in(query)
    groups = list(query.find_all(exp.Group))
    if not calls and not groups:
        return
    at = calls[0] if calls else groups[0]
    if not is_simple(query):
        raise program.plan_error(
            "an aggregation must read one relation by name",
            at,
            expected="SELECT ... FROM view GROUP BY window(eventtime, '1 hour'), ...",
            hint="put the subquery into a view",
        )
    where = query.args.get("where")
    if where is not None and aggregates_in(where):
        raise program.error("WHERE cannot contain an aggregate", aggregates_in(where)[0], hint="use HAVING")
    for call in calls:
        inner = [node for node in aggregates_in(call) if node is not call]
        if inner:
            raise program.error("an aggregate inside an aggregate", inner[0], hint="aggregate in two steps")
    grouped = groups[0].expressions if groups else []
    nested = [node for item in grouped for node in aggregates_in(item)]
    if nested:
        raise program.error("GROUP BY cannot contain an aggregate", nested[0])
    if groups and any(groups[0].args.get(key) for key in ("grouping_sets", "cube", "rollup", "all")):
        raise program.plan_error(
            "GROUP BY can only have plain expressions",
            groups[0],
            hint="write one CREATE TABLE for each grouping",
        )
    windows = [item for item in grouped if function_name(item) in TIME_WINDOWS]
    foreign = next((item for item in grouped if function_name(item) in FOREIGN_WINDOWS), None)
    if foreign is not None and not windows:
        raise program.plan_error(
            f"{str(function_name(foreign)).upper()} is not available",
            foreign,
            expected=FOREIGN_WINDOWS[str(function_name(foreign))],
        )
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
            f"the application itself uses categories that start with `{program.application}.`",
            table.span,
            hint="choose another category name",
        )
    kind = SINKS.get(table.storage.kind)
    if kind is None and table.storage.get(MERGE_EVERY.name) and not is_local(table.storage.get("path")):
        raise program.plan_error(
            f"STORAGE {table.storage.kind} merges files on local disk only",
            table.storage.place(MERGE_EVERY.name) or table.span,
            hint=f"leave {MERGE_EVERY.name} out, or write to DELTA or ICEBERG: theirs are merged anywhere",
        )
    if kind is not None:
        try:
            kind.validate(with_defaults(kind.options, table.storage.values))
        except PlanError as error:
            raise program.placed(error, table.storage.span or table.span) from None
