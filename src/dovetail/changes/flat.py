"""The columns and conditions of a stage, each written in terms of what the stage reads.

A stage has views on views, and a change of a name in the middle is no change of meaning. So views are put
into each other until only the stage's inputs are left. A column of a union is what it is in each part, in
order. What cannot be flattened (aggregates, window functions, subqueries) is compared as a whole: then any
difference concerns all of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import sqlglot
from sqlglot import exp

from dovetail.plan.dialect import PqlSpark, spark_sql
from dovetail.plan.physical import JoinStage, Relation, SlicerStage

_PLAIN = {"expressions", "from_", "where", "kind"}
_UNION = {"this", "expression", "distinct"}
OF_ALL, OF_ONE = "UNION_OF", "PART_OF_UNION"
"""For people as well: what a column is in the parts of a union, and a condition of one of them."""


@dataclass(frozen=True)
class Flat:
    """Output column -> SQL over the input, in order; conditions likewise, each once. `whole`: the SQL that
    could not be flattened, and then nothing is said of single columns."""

    columns: Mapping[str, str]
    conditions: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def flat(stage: SlicerStage | JoinStage) -> Flat:
    inputs: dict[str, dict[str, exp.Expr]]
    if isinstance(
        stage, JoinStage
    ):  # by side and name in the log: what the join calls them is the planner's affair
        columns: dict[str, exp.Expr] = {
            c.name: exp.column(c.source, c.side, quoted=True) for c in stage.columns
        }
        inputs = {stage.source_name: columns}
    else:
        inputs = {
            table.name: {column.name: exp.column(column.name, quoted=True) for column in table.columns}
            for table in stage.inputs
        }
    if not stage.select:  # a DataFrame: of its columns, the plan has those that rows are joined by
        return Flat({}) if not stage.views else _flat({stage.views[0].name: {}}, (), stage.views[0].sql)
    return _flat(inputs, stage.views, stage.select)


def _flat(inputs: Mapping[str, Mapping[str, exp.Expr]], views: Sequence[Relation], select: str) -> Flat:
    known: dict[str, tuple[dict[str, exp.Expr], list[exp.Expr]]] = {
        name.lower(): ({column.lower(): value for column, value in columns.items()}, [])
        for name, columns in inputs.items()
    }
    made: tuple[dict[str, exp.Expr], list[exp.Expr]] | None = None
    for name, sql in chain(((view.name, view.sql) for view in views), [("", select)]):
        made = _over(sql, known)
        if made is None:
            return Flat({}, (), (*(view.sql for view in views), select))
        known[name.lower()] = {column.lower(): value for column, value in made[0].items()}, made[1]
    assert made is not None
    columns = {name: spark_sql(value.unnest()) for name, value in made[0].items()}
    return Flat(columns, tuple(sorted({spark_sql(condition.unnest()) for condition in made[1]})))


def _over(
    sql: str, known: Mapping[str, tuple[dict[str, exp.Expr], list[exp.Expr]]]
) -> tuple[dict[str, exp.Expr], list[exp.Expr]] | None:
    return _of_query(sqlglot.parse_one(sql, dialect=PqlSpark), known)


def _of_query(
    query: exp.Expr, known: Mapping[str, tuple[dict[str, exp.Expr], list[exp.Expr]]]
) -> tuple[dict[str, exp.Expr], list[exp.Expr]] | None:
    if isinstance(query, exp.Union):
        return _of_union(query, known)
    if not isinstance(query, exp.Select) or not {n for n, value in query.args.items() if value} <= _PLAIN:
        return None
    source = query.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table) or source.this.alias:
        return None
    below = known.get(source.this.name.lower())
    if below is None:
        return None
    columns, conditions = below

    def put(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous):  # Spark's names of functions are the same in any case
            node.set("this", str(node.this).upper())
        found = columns.get(node.name.lower()) if isinstance(node, exp.Column) else None
        if found is None:
            return node
        return found.copy() if isinstance(found, exp.Column | exp.Literal) else exp.paren(found.copy())

    made: dict[str, exp.Expr] = {}
    for item in query.expressions:
        if item.find(exp.Star, exp.AggFunc, exp.Window, exp.Query):
            return None
        value = item.this if isinstance(item, exp.Alias) else item
        made[item.alias_or_name] = value.copy().transform(put)
    where = query.args.get("where")
    return made, [*conditions, *(one.copy().transform(put) for one in _conjuncts(where))]


def _of_union(
    query: exp.Union, known: Mapping[str, tuple[dict[str, exp.Expr], list[exp.Expr]]]
) -> tuple[dict[str, exp.Expr], list[exp.Expr]] | None:
    if query.args.get("distinct") or not {name for name, value in query.args.items() if value} <= _UNION:
        return None
    parts = [_of_query(part.unnest(), known) for part in _parts(query)]
    columns = [part[0] for part in parts if part is not None]
    if len(columns) < len(parts) or len({len(one) for one in columns}) > 1:
        return None
    made: dict[str, exp.Expr] = {
        name: exp.Anonymous(this=OF_ALL, expressions=[value.copy() for value in values])
        for name, *values in zip(columns[0], *(one.values() for one in columns), strict=True)
    }
    conditions: list[exp.Expr] = [
        exp.Anonymous(this=OF_ONE, expressions=[exp.Literal.number(number), condition.copy()])
        for number, part in enumerate(parts, 1)
        for condition in (part[1] if part is not None else ())
    ]
    return made, conditions


def _parts(query: exp.Expr) -> list[exp.Expr]:
    """From left to right."""
    if isinstance(query, exp.Union) and not query.args.get("distinct"):
        return [*_parts(query.this), *_parts(query.expression)]
    return [query]


def _conjuncts(where: exp.Expr | None) -> list[exp.Expr]:
    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
