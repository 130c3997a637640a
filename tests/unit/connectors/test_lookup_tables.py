"""Every kind of lookup table, each real: its version, its rows, and what it says when it cannot be read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from dovetail.connectors.lookup_kinds import LOOKUPS, open_table
from dovetail.connectors.lookup_table import LookupTable
from dovetail.errors import DovetailError, Unreachable
from dovetail_dev.postgres_server import Postgres
from unit.connectors.places import PostgresPlace

ROWS = pa.table({"id": [1, 2], "name": ["one", "two"]})
MORE = pa.table({"id": [3], "name": ["three"]})


class Written:
    """A table of one kind that the test fills. `put` adds rows."""

    def __init__(self, kind: str, folder: Path, server: Postgres) -> None:
        self.kind, self.folder, self.server, self.parts = kind, folder, server, 0
        self.path = str(folder / "users")
        self.postgres = PostgresPlace(server)
        self.options: dict[str, Any] = {
            "PARQUET": {"path": self.path},
            "DELTA": {"path": self.path},
            "DUCKDB": {"path": f"{self.path}.db", "table": "users"},
            "POSTGRES": self.postgres.options,
        }[kind]

    def open(self, **more: Any) -> LookupTable:
        return open_table(self.kind, (self.options | more).items())

    def put(self, rows: pa.Table) -> None:
        match self.kind:
            case "PARQUET":
                os.makedirs(f"{self.path}/part={self.parts}", exist_ok=True)
                pq.write_table(rows, f"{self.path}/part={self.parts}/rows.parquet")
            case "DELTA":
                write_deltalake(self.path, rows, mode="append")
            case "DUCKDB":
                with duckdb.connect(f"{self.path}.db") as db:
                    db.register("rows", rows)
                    db.execute("CREATE TABLE IF NOT EXISTS users AS FROM rows LIMIT 0")
                    db.execute("INSERT INTO users FROM rows")
            case "POSTGRES":
                name = self.options["table"]
                self.postgres.ask(f'CREATE TABLE IF NOT EXISTS "{name}" (id bigint, name text)')
                for row in rows.to_pylist():
                    self.postgres.ask(f"INSERT INTO \"{name}\" VALUES ({row['id']}, '{row['name']}')")
        self.parts += 1


@pytest.fixture(params=list(LOOKUPS))
def table(request: pytest.FixtureRequest, tmp_path: Path, postgres: Postgres) -> Written:
    made = Written(request.param, tmp_path, postgres)
    made.put(ROWS)
    return made


def read(table: LookupTable, *columns: str) -> list[tuple[Any, ...]]:
    rows = pa.Table.from_batches(table.batches(columns, table.version()))
    return sorted(zip(*(rows[name].to_pylist() for name in columns), strict=True))


def test_rows_and_versions(table: Written) -> None:
    opened = table.open()
    before = opened.version()
    assert read(opened, "name", "id") == [("one", 1), ("two", 2)]
    assert opened.version() == before
    table.put(MORE)
    assert read(opened, "id") == [(1,), (2,), (3,)]
    assert before is None or opened.version() != before
    if table.kind == "PARQUET":
        assert read(opened, "id", "part") == [(1, 0), (2, 0), (3, 1)]
    if table.kind == "DELTA":
        assert pa.Table.from_batches(opened.batches(["id"], before)).num_rows == 2, "as of that version"


def test_a_column_that_is_not_there(table: Written) -> None:
    with pytest.raises(DovetailError, match="age"):
        read(table.open(), "id", "age")


def test_a_table_that_is_not_there(table: Written) -> None:
    missing = {"PARQUET": "path", "DELTA": "path", "DUCKDB": "path", "POSTGRES": "table"}[table.kind]
    words = {
        "PARQUET": "there are no Parquet files",
        "DELTA": "there is no Delta table",
        "DUCKDB": "the database does not exist",
        "POSTGRES": 'relation "nowhere" does not exist',
    }
    with pytest.raises(DovetailError, match=words[table.kind]):
        read(table.open(**{missing: "nowhere"}), "id")


def test_a_server_that_is_away(tmp_path: Path) -> None:
    away = {"connection": "postgresql://user:word@localhost:1/db", "table": "users"}
    with pytest.raises(Unreachable, match="PostgreSQL cannot be reached") as refused:
        read(open_table("POSTGRES", away.items()), "id")
    assert refused.value.where == "FROM POSTGRES"
