"""`SELECT a, .. QUALIFY condition` as a filter over a column that has the condition:

    SELECT a FROM (SELECT a, .., (condition) AS _qualified ..) AS _rows WHERE _qualified

Spark 4.3 has QUALIFY, but resolves it above the select list. Beside GROUP BY the columns under an aggregate
are gone there: `QUALIFY ROW_NUMBER() OVER (PARTITION BY window ORDER BY SUM(t.v)) = 1` finds no `t.v`.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from dovetail.plan.dialect import deep_trees, parse_tokens, spark_sql, tokenize
from dovetail.plan.tree import column, fresh_name, named


@lru_cache(256)
def without_qualify(sql: str) -> str:
    """The same rows in the same columns. Names in `sql` are resolved: a column of the rows has its relation
    before it."""
    if "QUALIFY" not in sql:
        return sql
    with deep_trees():
        return _filtered(sql)


def _filtered(sql: str) -> str:
    query = parse_tokens(tokenize(sql), sql)[0]
    qualify = query.args.get("qualify") if isinstance(query, exp.Select) else None
    if qualify is None:
        return sql
    assert isinstance(query, exp.Select)
    names = [item.output_name for item in query.expressions]
    kept = fresh_name("_qualified", {name.lower() for name in names})
    query.set("qualify", None)
    query.append("expressions", named(exp.Paren(this=qualify.this), kept))
    outer = exp.Select(expressions=[column(name) for name in names])
    rows = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("_rows", quoted=True)))
    outer.set("from_", exp.From(this=rows))
    outer.set("where", exp.Where(this=column(kept)))
    return spark_sql(outer)
