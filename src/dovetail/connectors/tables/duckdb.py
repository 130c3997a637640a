"""`FROM DUCKDB(path = .., table = ..)`: a table or view of a DuckDB file on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.extras import need
from dovetail.connectors.lookup_table import EVERY_TABLE, missing
from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sinks.duckdb import LOCKED
from dovetail.connectors.sql_table import TABLE, SqlTable, listed
from dovetail.errors import DovetailError, InputError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 100_000


@dataclass(frozen=True)
class DuckdbTableKind:
    name: str = "DUCKDB"
    options: tuple[Option, ...] = (
        Option("path", "text", "The database's file, on this machine.", required=True),
        TABLE,
        *EVERY_TABLE,
    )

    def validate(self, options: dict[str, Any]) -> None:
        """Any combination will do."""

    def place(self, options: dict[str, Any]) -> str:
        return f"table {options['table']} in DuckDB's {options['path']}"

    def open(self, given: Revealed) -> DuckdbTable:
        need("duckdb", "duckdb", by="FROM DUCKDB")
        return DuckdbTable(os.path.abspath(given.values["path"]), SqlTable(given.values["table"]))


@dataclass(frozen=True)
class DuckdbTable:
    path: str
    table: SqlTable

    @property
    def place(self) -> str:
        return f"table {self.table.name} in DuckDB's {self.path}"

    def version(self) -> str:
        """The file's size and time, and those of the log beside it."""
        if not os.path.exists(self.path):
            raise InputError("the database does not exist", where=self.path, expected="a file of DuckDB")
        known = [os.stat(name) for name in (self.path, f"{self.path}.wal") if os.path.exists(name)]
        return "-".join(f"{one.st_mtime_ns}.{one.st_size}" for one in known)

    def batches(self, columns: Sequence[str], version: str | None) -> Iterator[pa.RecordBatch]:
        import duckdb

        try:
            with duckdb.connect(self.path, read_only=True) as db:
                there = [row[0] for row in db.execute(f"DESCRIBE FROM {self.table.sql()}").fetchall()]
                if (error := missing(self.place, columns, there)) is not None:
                    raise error
                found = db.sql(f"SELECT {listed(columns)} FROM {self.table.sql()}")
                yield from found.to_arrow_reader(_ROWS)
        except DovetailError:
            raise
        except duckdb.Error as error:
            text = " ".join(str(error).split())[:300]
            if any(sign in text for sign in LOCKED):
                raise Unreachable(
                    "another process has the database open", where=self.path, expected="no other process"
                ) from None
            raise InputError(f"DuckDB refuses: {text}", where=self.place) from None
