"""Subqueries in FROM and JOIN, and common table expressions, become views of their own.

    CREATE VIEW v AS WITH c AS (..) SELECT .. FROM (SELECT ..) AS q JOIN c ON ..
    CREATE VIEW v_c AS ..; CREATE VIEW v_q AS SELECT ..;
    CREATE VIEW v AS SELECT .. FROM v_q AS q JOIN v_c AS c ON ..

So whatever can be a view can be written in place, at any depth: a join over a join, an aggregate over a
filter. A query that a join or an aggregate does not read is left to Spark, which has subqueries itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from dovetail.plan.functions import aggregates_in
from dovetail.plan.problems import each_statement
from dovetail.plan.statements import CreateInput, CreateTable, CreateView, Program, Statement
from dovetail.plan.tree import fresh_name, name_part


def lift_queries(program: Program) -> Program:
    taken = {statement.name.lower() for statement in program}

    def rewrite(statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, CreateInput) or not _needs_names(statement.query):
            yield statement
            return
        yield from _Lifting(statement, taken).statements()

    return each_statement(program, rewrite)


def _needs_names(query: exp.Expr) -> bool:
    """It joins or aggregates, and reads something that has no name of its own in the program."""
    nested = query.args.get("with_") is not None or any(_lifted(select) for select in _selects(query))
    works = query.find(exp.Join, exp.Group, exp.Window) is not None or bool(aggregates_in(query))
    renamed = any(alias.columns for alias in query.find_all(exp.TableAlias))  # `AS q (a, b)`
    return nested and works and not renamed


def _selects(query: exp.Expr) -> list[exp.Select]:
    return list(query.find_all(exp.Select))


def _lifted(select: exp.Select) -> list[exp.Subquery]:
    source = select.args.get("from_")
    read = [source.this if source else None, *(join.this for join in select.args.get("joins") or [])]
    return [node for node in read if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query)]


class _Lifting:
    """The views that one statement's query is split into."""

    def __init__(self, statement: CreateView | CreateTable, taken: set[str]) -> None:
        self.statement, self.taken = statement, taken
        self.made: list[Statement] = []

    def statements(self) -> list[Statement]:
        query = self._flat(self.statement.query.copy(), {})
        return [*self.made, replace(self.statement, query=query)]

    def _flat(self, query: exp.Query, known: dict[str, str]) -> exp.Query:
        """The query over names only. `known`: views that stand for the common table expressions around it."""
        known = dict(known)
        given = query.args.get("with_")
        if given is not None:
            for cte in given.expressions:
                known[cte.alias.lower()] = self._view(cte.alias, cte.this, known)
            query.set("with_", None)
        for table in list(query.find_all(exp.Table)):
            name = known.get(table.name.lower())
            if name is not None and not table.db and _belongs_to(table, query):
                alias = table.alias or table.name
                table.replace(_read(name, alias, table))
        for select in _selects(query):
            for subquery in _lifted(select):
                if _belongs_to(subquery, query):
                    name = self._view(subquery.alias or "query", subquery.this, known)
                    subquery.replace(_read(name, subquery.alias or name, subquery))
        return query

    def _view(self, alias: str, query: exp.Query, known: dict[str, str]) -> str:
        name = fresh_name(f"{self.statement.name}_{name_part(alias)}", self.taken)
        flat = self._flat(query.copy(), known)
        self.made.append(CreateView(name, flat, (), self.statement.span, self.statement.name))
        return name


def _belongs_to(node: exp.Expr, query: exp.Query) -> bool:
    """It is read by this query, or by a part of its union, and not by a subquery that is lifted by itself."""
    above = node.parent
    while above is not None and above is not query:
        if isinstance(above, exp.Subquery) and isinstance(above.parent, (exp.From, exp.Join)):
            return False
        above = above.parent
    return above is query


def _read(name: str, alias: str, place: exp.Expr) -> exp.Table:
    made = exp.Table(this=exp.to_identifier(name, quoted=True))
    made.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    for node in place.walk():
        if node._meta and "start" in node._meta:
            made.this.meta.update({"start": node._meta["start"], "end": node._meta["end"]})
            break
    return made
