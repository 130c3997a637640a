"""`SELECT DISTINCT ON (window(..), k) .. ORDER BY x`, as PostgreSQL and DuckDB write it, becomes

    SELECT .. QUALIFY ROW_NUMBER() OVER (PARTITION BY window(..), k ORDER BY x) = 1

Without ORDER BY the row with the smallest time is kept.
"""

from __future__ import annotations

from sqlglot import exp

from dovetail.plan.dialect import call
from dovetail.plan.functions import TIME_WINDOWS, arguments, function_name


def without_distinct_on(query: exp.Query) -> None:
    for select in list(query.find_all(exp.Select)):
        distinct = select.args.get("distinct")
        keys = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
        if keys is None or select.args.get("qualify") is not None:
            continue
        partition = [key.copy() for key in (keys.expressions if isinstance(keys, exp.Tuple) else [keys])]
        order = select.args.get("order") or _by_time(partition)
        first = exp.Window(this=call("ROW_NUMBER"), partition_by=partition, order=order, over="OVER")
        select.set("qualify", exp.Qualify(this=exp.EQ(this=first, expression=exp.Literal.number(1))))
        select.set("distinct", None)
        select.set("order", None)


def _by_time(partition: list[exp.Expr]) -> exp.Order | None:
    windows = [node for key in partition for node in key.walk() if function_name(node) in TIME_WINDOWS]
    times = [arguments(window)[0] for window in windows[:1] if arguments(window)]
    return exp.Order(expressions=[exp.Ordered(this=time.copy()) for time in times]) if times else None
