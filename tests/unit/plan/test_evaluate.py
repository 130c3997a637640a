"""Which queries are computed on Arrow columns, and which are left to Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dovetail.plan.evaluate import compile_select, with_column
from dovetail.plan.physical import Relation

GIVEN = pa.schema(
    [
        ("k", pa.int64()),
        ("x", pa.float64()),
        ("name", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(9, 2)),
    ]
)
ROWS = pa.record_batch(
    [
        pa.array([1, 2, None], pa.int64()),
        pa.array([0.5, None, -1.0]),
        pa.array(["a", "b", None]),
        pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
        pa.array([None, None, None], pa.decimal128(9, 2)),
    ],
    schema=GIVEN,
)


def test_columns_expressions_and_conditions_through_views() -> None:
    views = [
        Relation("v", "SELECT `k` + 1 AS `n`, name, x FROM `g` WHERE k IS NOT NULL"),
        Relation("w", "SELECT v.n * 2 AS m, coalesce(name, 'none') AS name FROM v WHERE x > 0"),
    ]
    made = compile_select("SELECT name, m, price FROM w", {"g": GIVEN}, views=views)
    assert made is None, "the view has no price"
    made = compile_select("SELECT name, m FROM w", {"g": GIVEN}, views=views)
    assert made is not None
    assert made.schema == pa.schema([("name", pa.string()), ("m", pa.int64())])
    assert sorted(made.read_types) == ["k", "name", "x"]
    assert made(ROWS).to_pylist() == [{"name": "a", "m": 4}]


@pytest.mark.parametrize(
    "select",
    [
        "SELECT upper(name) AS n FROM g",  # Java and Arrow have other tables of letters
        "SELECT price + 1 AS n FROM g",
        "SELECT k * 1.5 AS n FROM g",  # a decimal
        "SELECT rand() AS n FROM g",
        "SELECT current_timestamp() AS n FROM g",
        "SELECT count(*) AS n FROM g",
        "SELECT k FROM g LIMIT 1",
        "SELECT DISTINCT k FROM g",
        "SELECT k FROM g JOIN h ON g.k = h.k",
        "SELECT k FROM other",
        "SELECT k, x AS K FROM g",
        "SELECT CAST(name AS BIGINT) AS n FROM g",
        "SELECT CAST(k AS INT) AS n FROM g",
        "SELECT name LIKE 'a_' AS n FROM g",
        "SELECT 'a\\tb' AS n FROM g",
        "SELECT NULL AS n FROM g",
        "SELECT t + INTERVAL '1' MONTH AS n FROM g",
        "SELECT name < k AS n FROM g",
        "SELECT if(k = 0, 0, 1 / k) AS n FROM g",  # Spark divides for some rows only
        "SELECT coalesce(x, k + 1) AS n FROM g",
        "SELECT (k > 0 OR k + 1 > 0) AS n FROM g",
        "SELECT explode(array(k)) AS n FROM g",
        "SELECT k FROM g WHERE k",
        "not SQL at all",
    ],
)
def test_left_to_spark(select: str) -> None:
    assert compile_select(select, {"g": GIVEN}) is None


def test_what_may_fail_needs_ansi_mode() -> None:
    relations = {"g": GIVEN}
    assert compile_select("SELECT k + 1 AS n FROM g", relations) is not None
    assert compile_select("SELECT k + 1 AS n FROM g", relations, ansi=False) is None
    assert compile_select("SELECT x + 1 AS n FROM g", relations, ansi=False) is not None


def test_one_more_column_in_front() -> None:
    made = compile_select("SELECT k + 1 AS n, name FROM g", {"g": GIVEN})
    assert made is not None
    wider = with_column("n % 2", "_hash", made)
    assert wider is not None
    assert wider.schema.names == ["_hash", "n", "name"]
    assert wider(ROWS).column("_hash").to_pylist() == [0, 1, None]
    assert with_column("upper(name)", "_hash", made) is None
    assert with_column("k", "_hash", made) is None, "only what the query gives"
