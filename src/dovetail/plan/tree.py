"""Small sqlglot trees that rules make, in the form the parser would give them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def named(node: exp.Expr, name: str) -> exp.Alias:
    """`node AS name`."""
    return exp.Alias(this=node.copy(), alias=exp.to_identifier(name, quoted=True))


def column(name: str, relation: str | None = None) -> exp.Column:
    return exp.column(name, table=relation, quoted=True)


def table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def passed_on(names: Sequence[str], relation: str) -> list[exp.Alias]:
    """Columns of a relation as they are."""
    return [named(column(name, relation), name) for name in names]


def select(items: Sequence[exp.Expr], relation: str, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """`SELECT items FROM relation WHERE all conditions`."""
    query = exp.Select(expressions=list(items), from_=exp.From(this=table(relation)))
    if conditions:
        query.set("where", exp.Where(this=all_of(conditions)))
    return query


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """A conjunction that leans to the left, as the parser makes it."""
    wrapped = [exp.Paren(this=c.copy()) if isinstance(c, exp.Or) else c.copy() for c in conditions]
    whole: exp.Expr = wrapped[0]
    for condition in wrapped[1:]:
        whole = exp.And(this=whole, expression=condition)
    return whole
