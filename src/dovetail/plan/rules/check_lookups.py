"""What a lookup join may be. Changes nothing; refuses what a table in memory cannot do."""

from __future__ import annotations

from sqlglot import exp

from dovetail.connectors.lookup_table import VALID_FROM
from dovetail.plan.functions import function_name
from dovetail.plan.lookups import AS_OF, as_of, is_lookup, lookup_table
from dovetail.plan.physical import TableSource
from dovetail.plan.problems import Problems
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program

_EXAMPLE = "FROM stream AS s JOIN TABLE {name} AS u ON s.key = u.key"
_KINDS = ("", "INNER", "LEFT", "LEFT OUTER")


def check_lookups(program: Program) -> Program:
    problems = Problems(program)
    for statement in program:
        if isinstance(statement, CreateInput):
            continue
        with problems.of(statement.name):
            _only_joined(program, statement)
        for number, join in enumerate(statement.query.args.get("joins") or []):
            with problems.of(statement.name):
                _join(program, statement, number, join)
        with problems.of(statement.name):
            _no_as_of_elsewhere(program, statement)
    problems.done()
    return program


def _only_joined(program: Program, statement: CreateView | CreateTable) -> None:
    for table in statement.query.find_all(exp.Table):
        if lookup_table(program, table.name) is not None and not isinstance(table.parent, exp.Join):
            raise program.plan_error(
                f"`{table.name}` is a lookup table, and no stream",
                table,
                expected=_EXAMPLE.format(name=table.name),
                hint="CREATE INPUT TABLE reads a stream of rows",
            )


def _join(program: Program, statement: CreateView | CreateTable, number: int, join: exp.Join) -> None:
    when = as_of(join)
    if not is_lookup(program, join):
        if when is not None:
            raise program.plan_error(
                f"`{join.this.name}` is not a lookup table, so it has no versions",
                when,
                expected="a table of CREATE LOOKUP TABLE, with valid_from",
                hint="two streams are joined by bounds on their times, or WITHIN a window",
            )
        return
    name = join.this.name
    kind = " ".join(filter(None, (join.method, join.side, join.kind))).upper()
    if kind not in _KINDS:
        raise program.plan_error(
            f"a {kind} JOIN with lookup table `{name}` is not available",
            join,
            expected="JOIN TABLE or LEFT JOIN TABLE: each row of the stream decides what is looked up",
        )
    option = next((one for one in statement.options if one.join == number), None)
    if option is not None:
        raise program.plan_error(
            f"a lookup join takes no option, and this one has `{option.name}`",
            option.span,
            hint="CREATE LOOKUP TABLE says how often the table is read, and how large it may be",
        )
    table = lookup_table(program, name)
    assert table is not None
    assert isinstance(table.origin, TableSource)
    versioned = bool(table.origin.get(VALID_FROM.name))
    if when is not None and not versioned:
        raise program.plan_error(
            f"lookup table `{name}` has no versions: it does not say since when a row holds",
            when,
            expected="valid_from = column, in CREATE LOOKUP TABLE",
            hint="leave FOR SYSTEM_TIME out to look rows up in the table as it is now",
        )
    if when is None and versioned:
        raise program.plan_error(
            f"lookup table `{name}` has versions, and the join does not say as of when",
            join,
            expected=f"JOIN TABLE {name} FOR SYSTEM_TIME AS OF s.eventtime ON ...",
            hint="leave valid_from out of CREATE LOOKUP TABLE if every row of the table is meant",
        )


def _no_as_of_elsewhere(program: Program, statement: CreateView | CreateTable) -> None:
    joins = statement.query.args.get("joins") or []
    known = [id(when) for join in joins if (when := as_of(join)) is not None]
    for node in statement.query.find_all(exp.Anonymous):
        if function_name(node) == AS_OF and id(node) not in known:
            raise program.plan_error(
                f"{AS_OF} stands in the ON of a lookup join only",
                node,
                expected="JOIN TABLE t FOR SYSTEM_TIME AS OF s.eventtime ON ...",
            )
