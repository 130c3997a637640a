"""Picks by value beside DuckDB's `arg_max` and `arg_min`, on data too large for the oracle."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from differential.test_duckdb import OTHERS, UNIFORM, joined, made, packed, query, tables
from dovetail.joins.theta.condition import values
from dovetail.joins.worth import ranks
from dovetail.model.interval import IntervalSpec
from laws.picking import DISTANCE, RIGHT
from streams import Mode

EXPRESSIONS = {"right": (RIGHT, "r.value"), "both": (DISTANCE, "abs(r.value - l.value)")}
CASES = [
    *((UNIFORM, how, pick, over) for how, pick, over in (("full", "max", "both"), ("inner", "min", "right"))),
    *((work, "left", pick, over) for work in OTHERS for pick, over in (("max", "right"), ("min", "both"))),
]


def value_columns(rows: int) -> list[pa.Array]:
    """Few values, so that many are equal; some are NaN and some null."""
    rng = np.random.default_rng(14)
    made = []
    for _ in range(2):
        reals = rng.integers(-40, 40, rows) / 4
        reals[rng.random(rows) < 0.02] = np.nan
        made.append(pa.array(reals, mask=rng.random(rows) < 0.05, from_pandas=False))
    return made


def picked_sql(work, how: str, pick: str, value: str) -> str:
    """Pairs as (left id, right id), and the rows that are in none of them."""
    sign = "-" if pick == "max" else ""
    keeps_left = "UNION ALL SELECT id, NULL FROM left_rows ANTI JOIN picked ON id = left_id"
    keeps_right = "UNION ALL SELECT NULL, id FROM right_rows ANTI JOIN picked ON id = right_id"
    alone = {"left": keeps_left, "full": f"{keeps_left} {keeps_right}"}.get(how, "")
    return f"""
        WITH picked AS (
            SELECT l.id AS left_id, coalesce(
                arg_{pick}(r.id, ({value}, {sign}r.time, {sign}r.id)) FILTER (WHERE {value} IS NOT NULL),
                arg_min(r.id, (r.time, r.id))
            ) AS right_id
            FROM left_rows l JOIN right_rows r ON l.key = r.key
             AND r.time BETWEEN l.time - ({work.before_us}) AND l.time + ({work.after_us})
            GROUP BY l.id
        )
        SELECT left_id, right_id FROM picked {alone}"""


@pytest.mark.parametrize(("work", "how", "pick", "over"), CASES, ids=lambda case: getattr(case, "name", case))
def test_without_late_rows_it_is_arg_max_and_arg_min(work, how, pick, over):
    expression, value = EXPRESSIONS[over]
    columns = value_columns(work.rows)

    def worth(left, right):
        taken = [
            {"_on_0": column.take(pa.array(rows))}
            for column, rows in zip(columns, (left, right), strict=True)
        ]
        return ranks(values(expression, *taken, len(left)), largest=pick == "max")

    spec = IntervalSpec(work.before_us, work.after_us, how, "one", pick, picked_by=expression)
    left, right, _ = joined(work, made(work), spec, worth)
    with duckdb.connect() as db:
        sides = tables(work, made(work), Mode(how, "one", pick))
        for name, table, column in zip(("left_rows", "right_rows"), sides, columns, strict=True):
            db.register(name, table.append_column("value", column))
        expected = query(db, f"SELECT *, 0 FROM ({picked_sql(work, how, pick, value)})")
    assert len(expected[0]) > work.rows // 10, "where hardly anything comes out, nothing is proved"
    assert np.array_equal(packed([left, right, np.zeros_like(left)]), packed(expected))
