"""`STORAGE DUCKDB`: a table in a DuckDB file, for one machine.

    tasks    write Parquet files into a folder beside the database: only one process may open that
    driver   opens the database, and in one transaction claims the batch and reads the files

Between two batches the database is closed, so that others can read it. While they have it open, the next
batch waits for them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.data_files import DataFiles, named
from dovetail.connectors.extras import need
from dovetail.connectors.options import EVERY, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.connectors.sql_table import KEY, NEWEST, PROGRESS, TABLE, SqlTable, quoted, require_key
from dovetail.errors import DovetailError, PlaceError, PlanError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_WIDER = {
    "TINYINT": ("SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE"),
    "SMALLINT": ("INTEGER", "BIGINT", "HUGEINT", "DOUBLE"),
    "INTEGER": ("BIGINT", "HUGEINT", "DOUBLE"),
    "BIGINT": ("HUGEINT",),
    "FLOAT": ("DOUBLE",),
}
LOCKED = (
    "lock on file",
    "Conflicting lock",
    "already open",
    "different configuration",
    "file handle conflict",  # another thread of this process opens or closes it just now
    "Conflict on",  # or has changed the same rows: nothing of this transaction counts
)


@dataclass(frozen=True)
class DuckdbKind:
    name: str = "DUCKDB"
    one_machine: bool = True
    options: tuple[Option, ...] = (
        Option("path", "text", "The database's file, on this machine.", required=True),
        TABLE,
        KEY,
        NEWEST,
        EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        require_key(options)
        if "://" in options["path"]:
            raise PlanError("STORAGE DUCKDB writes to this machine only", expected="the path of a file")

    def place(self, options: dict[str, Any]) -> str:
        return f"table {options['table']} in DuckDB's {options['path']}"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        need("duckdb", "duckdb", by=f"STORAGE {self.name}")
        return DuckdbSink(os.path.abspath(given.values["path"]), SqlTable.of(given.values), writer)


@dataclass(frozen=True)
class DuckdbSink:
    path: str
    table: SqlTable
    writer: Writer

    @property
    def place(self) -> str:
        return f"table {self.table.name} in DuckDB's {self.path}"

    @property
    def folder(self) -> str:
        who = hashlib.sha256(f"{self.writer} {self.table.name}".encode()).hexdigest()[:24]
        return f"{self.path}.dovetail/{who}"

    def check(self, schema: pa.Schema) -> None:
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            raise PlaceError(
                "the folder of the database cannot be written to", where=folder, expected="a folder of yours"
            )
        with self._transaction() as db:
            have, want = self._columns(db), _types(db, schema)
            self.table.require_columns(have, want, _WIDER, self.place)
            self.writer.require_alone(
                [row[0] for row in self._known(db, "writer", "target = $1", [self.table.name])],
                self.place,
                forget=f"its rows in {PROGRESS}",
            )

    def prepare(self, schema: pa.Schema) -> None:
        self.check(schema)
        with self._transaction() as db:
            have, want = self._columns(db), _types(db, schema)
            if not have:
                db.execute(self.table.create(want))
            for name, kind in want.items():
                if have and name not in have:
                    db.execute(f"ALTER TABLE {self.table.sql()} ADD COLUMN {quoted(name)} {kind}")
            db.execute(self.table.create_progress())
        shutil.rmtree(self.folder, ignore_errors=True)  # files of batches that never counted
        os.makedirs(self.folder)

    def output(self, schema: pa.Schema) -> DataFiles:
        return DataFiles(self.folder, schema)

    def last(self) -> int:
        with self._transaction() as db:
            found = self._known(
                db, "batch", "writer = $1 AND target = $2", [str(self.writer), self.table.name]
            )
        return int(found[0][0]) if found else -1

    def commit(self, batch: int, written: Sequence[str]) -> None:
        files = [os.path.join(self.folder, file.path) for file in named(written)]
        with self._transaction() as db:
            if db.execute(self.table.claim(), [str(self.writer), self.table.name, batch]).fetchall():
                columns = [row[0] for row in db.execute("DESCRIBE FROM read_parquet($1)", [files]).fetchall()]
                db.execute(self.table.insert(columns, "read_parquet($1)"), [files])
        for file in files:
            with suppress(OSError):
                os.remove(file)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        import duckdb

        try:
            with duckdb.connect(self.path) as db:
                db.execute("BEGIN")
                yield db
                db.execute("COMMIT")
        except duckdb.Error as error:
            raise self._said(error) from None

    def _said(self, error: Exception) -> DovetailError:
        text = " ".join(str(error).split())[:300]
        if any(sign in text for sign in LOCKED):
            return Unreachable(
                "another process has the database open", where=self.path, expected="no other process"
            )
        return PlaceError(f"DuckDB refuses: {text}", where=self.place)

    def _columns(self, db: Any) -> dict[str, str]:
        rows = db.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = $1 AND schema_name = $2 "
            "AND database_name = current_database()",
            [self.table.plain, self.table.schema or "main"],
        )
        return dict(rows.fetchall())

    def _known(self, db: Any, what: str, where: str, values: list[Any]) -> list[Any]:
        there = "SELECT 1 FROM duckdb_tables() WHERE table_name = $1 AND schema_name = $2"
        if not db.execute(there, [PROGRESS, self.table.schema or "main"]).fetchall():
            return []
        rows = db.execute(f"SELECT {what} FROM {self.table.sql(PROGRESS)} WHERE {where}", values)
        return list(rows.fetchall())


def _types(db: Any, schema: pa.Schema) -> dict[str, str]:
    """As DuckDB itself would store them."""
    db.register("dovetail_columns", schema.empty_table())
    found = {row[0]: row[1] for row in db.execute("DESCRIBE FROM dovetail_columns").fetchall()}
    db.unregister("dovetail_columns")
    return found
