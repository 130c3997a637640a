"""`FROM POSTGRES(connection = .., table = ..)`: a table of PostgreSQL, read by one statement, so of one
moment. The server does not say whether a table has changed: each refresh reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.extras import need
from dovetail.connectors.lookup_table import EVERY_TABLE
from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sinks.postgres import CONNECTION, Server
from dovetail.connectors.sql_table import TABLE, SqlTable, listed

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PostgresTableKind:
    name: str = "POSTGRES"
    options: tuple[Option, ...] = (CONNECTION, TABLE, *EVERY_TABLE)

    def validate(self, options: dict[str, Any]) -> None:
        """Any combination will do."""

    def place(self, options: dict[str, Any]) -> str:
        return f"table {options['table']} in PostgreSQL"

    def open(self, given: Revealed) -> PostgresTable:
        need("postgres", "adbc_driver_postgresql.dbapi", by="FROM POSTGRES")
        server = Server(given.values["connection"], given, "FROM POSTGRES")
        return PostgresTable(server, SqlTable(given.values["table"]))


@dataclass(frozen=True)
class PostgresTable:
    server: Server
    table: SqlTable

    @property
    def place(self) -> str:
        return f"table {self.table.name} in PostgreSQL"

    def version(self) -> None:
        return None

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]:
        with self.server.transaction() as cursor:
            cursor.execute(f"SELECT {listed(columns)} FROM {self.table.sql()}")
            yield from cursor.fetch_record_batch()
