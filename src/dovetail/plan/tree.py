"""Small sqlglot trees: taking conditions apart, and making what rules add in the form the parser gives."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dovetail.plan.dialect import pql_sql

Signed = tuple[int, exp.Expr]
WRITTEN = "written"
"""Key of a name's metadata: how the text calls the column (alias, column) or the table (alias, relation)."""


def as_written(node: exp.Expr) -> str:
    """SQL for people, with the relations called as in the text."""

    def rename(part: exp.Expr) -> exp.Expr:
        written = part.this.meta.get(WRITTEN) if isinstance(part, exp.Column) else None
        return column(written[1], written[0]) if written else part

    return pql_sql(node.copy().transform(rename, copy=False))


def table_as_written(node: exp.Table) -> str:
    """The alias of a table in the text, or its name."""
    written = node.this.meta.get(WRITTEN)
    return str(written[0]) if written else node.name


def relation_as_written(node: exp.Table) -> str:
    written = node.this.meta.get(WRITTEN)
    return str(written[1]) if written else node.name


def name_part(alias: str) -> str:
    """An alias as a part of a relation's name: it may have characters that a name may not."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in alias)[:40]


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a conjunction, without brackets."""
    bare = node.unnest()
    if isinstance(bare, exp.And):
        return [*conjuncts(bare.this), *conjuncts(bare.expression)]
    return [bare]


def terms_of(node: exp.Expr, sign: int = 1) -> list[Signed]:
    """A sum as signed terms. Only additions, subtractions and minus signs are opened."""
    if isinstance(node, exp.Paren):
        return terms_of(node.this, sign)
    if isinstance(node, exp.Neg):
        return terms_of(node.this, -sign)
    if isinstance(node, (exp.Add, exp.Sub)):
        second = -sign if isinstance(node, exp.Sub) else sign
        return [*terms_of(node.this, sign), *terms_of(node.expression, second)]
    return [(sign, node)]


def comparisons(node: exp.Expr, *, equal: bool = False) -> list[tuple[exp.Expr, exp.Expr, bool]]:
    """A comparison as inequalities `big >= small`, or `big > small` where the flag is set; with `equal`, an
    equality is two of them. Empty for any other condition."""
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        return [(node.this, node.args["low"], False), (node.args["high"], node.this, False)]
    if isinstance(node, (exp.GTE, exp.GT)):
        return [(node.this, node.expression, isinstance(node, exp.GT))]
    if isinstance(node, (exp.LTE, exp.LT)):
        return [(node.expression, node.this, isinstance(node, exp.LT))]
    if equal and isinstance(node, exp.EQ):
        return [(node.this, node.expression, False), (node.expression, node.this, False)]
    return []


def side_of(node: exp.Expr, left: str, right: str) -> str | None:
    """`left`, `right` or `both`, by the columns in an expression; None for a constant."""
    named = {column.table.lower() for column in node.find_all(exp.Column)}
    if not named:
        return None
    if len(named) > 1:
        return "both"
    return "left" if named == {left.lower()} else "right" if named == {right.lower()} else "both"


def named(node: exp.Expr, name: str) -> exp.Alias:
    """`node AS name`."""
    return exp.Alias(this=node.copy(), alias=exp.to_identifier(name, quoted=True))


def column(name: str, relation: str | None = None) -> exp.Column:
    return exp.column(name, table=relation, quoted=True)


def table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def passed_on(names: Sequence[str], relation: str) -> list[exp.Alias]:
    """The named columns of a relation, unchanged."""
    return [named(column(name, relation), name) for name in names]


def select(items: Sequence[exp.Expr], relation: str, conditions: Sequence[exp.Expr] = ()) -> exp.Select:
    """`SELECT items FROM relation WHERE all conditions`."""
    query = exp.Select(expressions=list(items), from_=exp.From(this=table(relation)))
    if conditions:
        query.set("where", exp.Where(this=all_of(conditions)))
    return query


def all_of(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """A conjunction that nests to the left, as the parser nests it."""
    wrapped = [exp.Paren(this=c.copy()) if isinstance(c, exp.Or) else c.copy() for c in conditions]
    whole: exp.Expr = wrapped[0]
    for condition in wrapped[1:]:
        whole = exp.And(this=whole, expression=condition)
    return whole


def fresh_name(wanted: str, taken: set[str]) -> str:
    """A name for a relation that the planner adds: `wanted`, or `wanted_2`, ... if that is taken in any case.
    The name counts as taken from then on."""
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name.lower())
    return name
