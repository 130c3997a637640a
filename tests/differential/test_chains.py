"""Chains of two, three and five joins equal DuckDB's batch result, row for row.

Twice: the rewritten program, read as plain SQL by DuckDB; and the application itself, run in this process.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

import dovetail.local
from differential.chains import (
    HOWS,
    INPUTS,
    KEPT,
    Chain,
    ChainedJoin,
    batch_result,
    random_chain,
    random_rows,
)
from dovetail.plan.dialect import spark_sql
from dovetail.plan.physical import ScribeSource
from dovetail.plan.statements import CreateInput, CreateTable, Program
from dovetail.pql.compile import trace
from laws.effort import some

ROWS = 60
WITHIN = """CREATE MACRO within_tumbling(a, b, width) AS
    time_bucket(width, a) = time_bucket(width, b)"""


def rewritten_result(program: Program, tables: dict[str, pa.Table]) -> Counter[tuple[object, ...]]:
    """What the statements that the rules end in give as SQL."""
    written: dict[str, str] = {}
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(WITHIN)
        for name, table in tables.items():
            database.register(f"{name}_rows", table)
        for statement in program:
            if isinstance(statement, CreateInput):
                source = f"{statement.name}_rows"
                if isinstance(statement.origin, ScribeSource):
                    source = written[statement.origin.category]
                database.execute(f'CREATE VIEW "{statement.name}" AS FROM "{source}"')
                continue
            query = sqlglot.parse_one(spark_sql(statement.query), dialect="spark")
            for join in query.find_all(exp.Join):
                if join.kind in ("SEMI", "ANTI"):
                    join.set("side", None)
            text = query.sql(dialect="duckdb", identify=True)
            database.execute(f'CREATE TEMP TABLE "{statement.name}" AS {text}')
            if isinstance(statement, CreateTable):
                written[statement.storage.category or ""] = statement.name
        return Counter(database.execute("FROM o").fetchall())


@pytest.mark.parametrize("joins", [2, 3, 5])
@pytest.mark.parametrize("seed", some(range(40), 15))
def test_the_rewriting_keeps_the_meaning(seed: int, joins: int) -> None:
    random = Random(1_000 * joins + seed)
    chain = random_chain(random, joins)
    tables = random_rows(random, ROWS)
    program = dict(trace(chain.pql("/nowhere")))["split_joins"]
    assert rewritten_result(program, tables) == batch_result(chain, tables), chain


@pytest.mark.parametrize("joins", [2, 3, 5])
@pytest.mark.parametrize("seed", some(range(6), 2))
def test_the_application_equals_duckdb(seed: int, joins: int, tmp_path: Path) -> None:
    random = Random(2_000 * joins + seed)
    chain = random_chain(random, joins, plain=True, hows=("INNER", "LEFT") if seed % 2 else HOWS)
    tables = random_rows(random, ROWS)
    expected = batch_result(chain, tables)
    for name, table in tables.items():
        (tmp_path / name).mkdir()
        pq.write_table(table.slice(0, ROWS // 2), tmp_path / name / "0.parquet")
        pq.write_table(table.slice(ROWS // 2), tmp_path / name / "1.parquet")
    (found,) = dovetail.local.run(chain.pql(str(tmp_path))).values()
    assert Counter(zip(*found.to_pydict().values(), strict=True)) == expected, chain


def test_the_random_chains_have_what_is_difficult() -> None:
    """Rows come out, and times are read from relations that may be missing."""
    found = over_missing = 0
    for seed in range(40):
        random = Random(3_000 + seed)
        chain = random_chain(random, 3)
        found += bool(batch_result(chain, random_rows(random, ROWS)))
        over_missing += any(
            join.how in KEPT and join.time and chain.joins[join.time - 1].how in ("LEFT", "FULL")
            for join in chain.joins
        )
    assert found > 30
    assert over_missing > 3


def test_a_self_join_and_one_input_in_three_joins(tmp_path: Path) -> None:
    random = Random(7)
    tables = random_rows(random, ROWS)
    chain = Chain("s0", tuple(ChainedJoin("LEFT", "s0", 0, 0, 5, 5) for _ in range(3)))
    for name in INPUTS:
        (tmp_path / name).mkdir()
        pq.write_table(tables[name], tmp_path / name / "0.parquet")
    (found,) = dovetail.local.run(chain.pql(str(tmp_path))).values()
    assert Counter(zip(*found.to_pydict().values(), strict=True)) == batch_result(chain, tables)
