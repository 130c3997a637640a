"""The batch join by DuckDB, and a comparison of the output with it: as multisets, row for row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class Database:
    """A DuckDB that ends with its test: `conftest.py` closes it.

    Whoever keeps an error keeps its traceback, the frames of the test on it, and their variables. Spark's
    gateway keeps errors until the process ends. So tests hold this object, which lets go of DuckDB's when it
    is closed, and no module names DuckDB: otherwise the run would end in DuckDB's list of objects leaked.
    """

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": 2})
        _open.append(self)

    def execute(self, sql: str) -> Any:
        return self._connection.execute(sql)

    def register(self, name: str, rows: pa.Table) -> None:
        self._connection.register(name, rows)

    def unregister(self, name: str) -> None:
        self._connection.unregister(name)

    def close(self) -> None:
        self._connection.close()
        del self._connection


_open: list[Database] = []


def close_all() -> None:
    while _open:
        _open.pop().close()


ON = (
    "l.k = r.k AND r.eventtime BETWEEN "
    "l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'"
)
"""The condition of most tests, in PQL and in DuckDB's SQL."""


def database(**tables: pa.Table | Sequence[str]) -> Database:
    """Tables by name: Arrow tables, or lists of Parquet files."""
    made = Database()
    for name, content in tables.items():
        add(made, name, content)
    return made


def add(database: Database, name: str, content: pa.Table | Sequence[str]) -> None:
    if not isinstance(content, pa.Table):
        content = pa.concat_tables([pq.ParquetFile(file).read() for file in content])
    database.register(f"{name}_given", _without_zones(content))
    database.execute(f"CREATE TABLE {name} AS FROM {name}_given")


def _without_zones(table: pa.Table) -> pa.Table:
    """All times are UTC; DuckDB needs its ICU extension, which may be missing, to compute with zones."""
    naive = [
        pa.field(field.name, pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(naive))


def differences(database: Database, found: str, expected: str) -> Mapping[str, Any]:
    """Rows too many and rows missing, with a few of each; empty if both queries give the same rows."""
    differing: dict[str, Any] = {}
    for what, one, other in (("too many", found, expected), ("missing", expected, found)):
        sql = f"({one}) EXCEPT ALL ({other})"
        rows = count(database, sql)
        if rows:
            differing[what] = rows, database.execute(f"{sql} LIMIT 3").fetchall()
    return differing


def count(database: Database, query: str) -> int:
    return int(database.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0])


def join_sql(how: str, select: str, on: str, left: str = "l", right: str = "r") -> str:
    """A join of tables `left` and `right`, called l and r in `select` and `on`."""
    if how in ("semi", "anti"):
        exists = "EXISTS" if how == "semi" else "NOT EXISTS"
        return f"SELECT {select} FROM {left} l WHERE {exists} (SELECT 1 FROM {right} r WHERE {on})"
    return f"SELECT {select} FROM {left} l {how} JOIN {right} r ON {on}"
