"""Law: rewriting keeps the meaning. A program and its rewritten form give the same rows, read as plain SQL by DuckDB.

A join that takes every partner is an ordinary SQL join over finished streams, and so is the join between the
intermediate categories that the rewriting ends in.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from pql_texts import programs
from sqlglot import exp

from dovetail.plan.dialect import spark_sql
from dovetail.plan.statements import CreateInput, CreateTable, Program, Scribe
from dovetail.pql.compile import trace

small = st.one_of(st.none(), st.integers(0, 3))
rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 1200)), st.sampled_from(["a", "A", "b", "", None]), small, small
    ),
    max_size=8,
)


def results(program: Program, left: list[Any], right: list[Any]) -> dict[str, Counter[str]]:
    """The rows of every table of the program that has a user's name."""
    database = duckdb.connect()
    written: dict[str, str] = {}
    found = {}
    for statement in program:
        if isinstance(statement, CreateInput):
            if isinstance(statement.origin, Scribe) and statement.origin.category in written:
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
    database.close()
    return found


def _fill(database: duckdb.DuckDBPyConnection, name: str, rows: list[Any]) -> None:
    last = "s STRUCT(u INT)" if name == "left" else "z VARCHAR"
    number = "x" if name == "left" else "y"
    database.execute(f'CREATE TABLE "{name}" (t TIMESTAMP, k VARCHAR, {number} INT, {last})')
    wrapped = "{'u': ?}" if name == "left" else "?"
    insert = f"INSERT INTO \"{name}\" VALUES (TIMESTAMP '2020-01-01' + to_seconds(?), ?, ?, {wrapped})"
    if rows:
        database.executemany(insert, rows)


@settings(max_examples=50)
@given(programs(plain=True), rows, rows)
def test_rewriting_keeps_the_meaning(text: str, left: list[Any], right: list[Any]) -> None:
    steps = dict(trace(text))
    expected = results(steps["order_statements"], left, right)
    assert set(expected) <= {"o", "p"}
    assert expected
    for rule in ("eliminate_aliases", "split_joins"):
        assert results(steps[rule], left, right) == expected, rule
