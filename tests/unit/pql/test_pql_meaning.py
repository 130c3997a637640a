"""Law: rewriting keeps the meaning. DuckDB, reading both as plain SQL, gives the same rows for a program and
for what the rules make of it.

A join that takes every partner is an ordinary SQL join over finished streams, and so is the join between the
intermediate categories that the rewriting ends in.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from pql_texts import HOWS, programs
from sqlglot import exp

from dovetail.plan.dialect import spark_sql
from dovetail.plan.physical import ScribeSource
from dovetail.plan.statements import CreateInput, CreateTable, Program
from dovetail.pql.compile import trace


def rows(seed: int) -> list[tuple[Any, ...]]:
    """Few keys and whole seconds close together: many matches, many of them on a bound, and nulls."""
    random = Random(seed)
    return [
        (
            random.choice([*range(40), None]),
            random.choice(["a", "A", "b", "c", "", None]),
            random.choice([0, 1, 2, 3, None]),
            random.choice([0, 1, None]),
        )
        for _ in range(40)
    ]


def results(program: Program, left: list[Any], right: list[Any]) -> dict[str, Counter[str]]:
    """The rows of every table of the program that has a user's name."""
    with duckdb.connect() as database:
        return _results(program, left, right, database)


def _results(
    program: Program, left: list[Any], right: list[Any], database: duckdb.DuckDBPyConnection
) -> dict[str, Counter[str]]:
    written: dict[str, str] = {}
    found = {}
    for statement in program:
        if isinstance(statement, CreateInput):
            if isinstance(statement.origin, ScribeSource) and statement.origin.category in written:
                source = written[statement.origin.category]
                database.execute(f'CREATE VIEW "{statement.name}" AS SELECT * FROM "{source}"')
            else:
                _fill(database, statement.name, left if statement.name == "left" else right)
            continue
        query = sqlglot.parse_one(spark_sql(statement.query), dialect="spark")
        for join in query.find_all(exp.Join):
            if join.kind in ("SEMI", "ANTI"):
                join.set("side", None)
        database.execute(f'CREATE VIEW "{statement.name}" AS {query.sql(dialect="duckdb", identify=True)}')
        if isinstance(statement, CreateTable):
            written[statement.storage.category or ""] = statement.name
            if statement.name in ("o", "p"):
                selected = database.execute(f'SELECT * FROM "{statement.name}"').fetchall()
                found[statement.name] = Counter(map(str, selected))
    return found


def _fill(database: duckdb.DuckDBPyConnection, name: str, rows: list[Any]) -> None:
    last = "s STRUCT(u INT)" if name == "left" else "z VARCHAR"
    number = "x" if name == "left" else "y"
    database.execute(f'CREATE TABLE "{name}" (t TIMESTAMP, k VARCHAR, {number} INT, {last})')
    wrapped = "{'u': ?}" if name == "left" else "?"
    insert = f"INSERT INTO \"{name}\" VALUES (TIMESTAMP '2020-01-01' + to_seconds(?), ?, ?, {wrapped})"
    if rows:
        database.executemany(insert, rows)


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=6)
@given(st.data())
def test_rewriting_keeps_the_meaning(how: str, data: st.DataObject) -> None:
    steps = dict(trace(data.draw(programs(how=how, plain=True))))
    left, right = rows(1), rows(2)
    expected = results(steps["order_statements"], left, right)
    for rule in ("eliminate_aliases", "split_joins"):
        assert results(steps[rule], left, right) == expected, rule


@pytest.mark.parametrize("how", HOWS)
def test_the_rows_are_such_that_every_join_has_results(how: str) -> None:
    text = f"""CREATE APPLICATION app;
    CREATE INPUT TABLE left (t, k, x, s STRUCT<u: INT>) FROM SCRIBE("left");
    CREATE INPUT TABLE right (t, k, y, z) FROM SCRIBE("right");
    CREATE VIEW v AS SELECT l.k AS k FROM left AS l {how} JOIN right AS r
    ON l.k = r.k AND r.t BETWEEN l.t - INTERVAL 2 SECONDS AND l.t + INTERVAL 3 SECONDS;
    CREATE TABLE o AS SELECT k FROM v STORAGE NOOP;"""
    assert results(dict(trace(text))["split_joins"], rows(1), rows(2))["o"].total() > 0
