"""A join in a CREATE TABLE moves into a view of its own, which the table then reads. Where the table also
aggregates, `lift_joined_groups` does that.

CREATE TABLE o AS SELECT .. FROM l JOIN r ON .. STORAGE ..
CREATE VIEW o_joined AS SELECT .. FROM l JOIN r ON ..; CREATE TABLE o AS SELECT * FROM o_joined STORAGE ..
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.problems import each_statement
from dovetail.plan.rules.lift_joined_groups import joins_and_groups
from dovetail.plan.statements import CreateTable, CreateView, Program, Statement
from dovetail.plan.tree import fresh_name, select


def lift_joins(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        joins = isinstance(statement, CreateTable) and statement.query.args.get("joins")
        if isinstance(statement, CreateTable) and joins and not joins_and_groups(statement.query):
            name = fresh_name(f"{statement.name}_joined", taken)
            yield CreateView(name, statement.query, statement.options, statement.span)
            statement = replace(statement, query=select([exp.Star()], name), options=())
        yield statement

    return each_statement(program, rewrite)
