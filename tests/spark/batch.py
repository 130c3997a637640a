"""The batch join by DuckDB, and the comparison of what came out with it: as multisets, row for row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq


def database(**tables: pa.Table | Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Tables by name: Arrow tables, or lists of Parquet files."""
    connection = duckdb.connect(config={"threads": 2})
    for name, content in tables.items():
        add(connection, name, content)
    return connection


def add(connection: duckdb.DuckDBPyConnection, name: str, content: pa.Table | Sequence[str]) -> None:
    if not isinstance(content, pa.Table):
        content = pa.concat_tables([pq.ParquetFile(file).read() for file in content])
    connection.register(f"{name}_given", _without_zones(content))
    connection.execute(f"CREATE TABLE {name} AS FROM {name}_given")


def _without_zones(table: pa.Table) -> pa.Table:
    """All times are UTC; DuckDB reckons with zones only where its ICU extension can be had."""
    naive = [
        pa.field(field.name, pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(naive))


def differences(connection: duckdb.DuckDBPyConnection, found: str, expected: str) -> Mapping[str, Any]:
    """Rows too many and rows missing, with a few of each; empty if both queries give the same rows."""
    told: dict[str, Any] = {}
    for what, one, other in (("too many", found, expected), ("missing", expected, found)):
        sql = f"({one}) EXCEPT ALL ({other})"
        count = connection.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0][0]
        if count:
            told[what] = count, connection.execute(f"{sql} LIMIT 3").fetchall()
    return told


def count(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0])


def join_sql(how: str, select: str, on: str, left: str = "l", right: str = "r") -> str:
    """A join of tables `left` and `right`, called l and r in `select` and `on`."""
    if how in ("semi", "anti"):
        exists = "EXISTS" if how == "semi" else "NOT EXISTS"
        return f"SELECT {select} FROM {left} l WHERE {exists} (SELECT 1 FROM {right} r WHERE {on})"
    return f"SELECT {select} FROM {left} l {how} JOIN {right} r ON {on}"
