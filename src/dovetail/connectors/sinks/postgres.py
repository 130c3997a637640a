"""`STORAGE POSTGRES`: a table in PostgreSQL.

    tasks    COPY their rows into a table beside it, each under a name of its own
    driver   one transaction: the batch is claimed, its rows are moved to the table

The table in between is not logged: that halves what the server writes, and its rows are gone if the server
dies. So a task says how many rows it has written, and a batch of which some are gone is written again.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.connectors.extras import need
from dovetail.connectors.options import EVERY, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.connectors.sql_table import (
    KEY,
    NEWEST,
    PROGRESS,
    TABLE,
    SqlTable,
    listed,
    quoted,
    require_key,
    unsupported,
)
from dovetail.errors import DovetailError, PlaceError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

_PART = "_dovetail_part"
_GONE = (
    "Connection refused",
    "timed out",
    "timeout expired",
    "starting up",
    "shutting down",
    "recovery mode",
    "closed the connection",
    "terminating connection",
    "Connection reset",
    "No route to host",
    "could not translate host name",
    "too many clients",
    "no connection to the server",
    "deadlock detected",
    "could not serialize",
)
"""How libpq says that the server is no use now, and may be in a moment. Its errors of connecting have no
SQLSTATE; the server's own have one, and words in any language."""
_GONE_STATES = ("08", "40", "53", "57P")
"""Connection, serialization and deadlock, resources, shutting down."""
_WIDER = {
    "smallint": ("integer", "bigint", "numeric", "double precision"),
    "integer": ("bigint", "numeric", "double precision"),
    "bigint": ("numeric",),
    "real": ("double precision",),
    "text": ("character varying",),
}


CONNECTION = Option(
    "connection",
    "text",
    "Address of the server, as for libpq: `postgresql://user:password@host:5432/database`.",
    required=True,
    secret=True,
)


@dataclass(frozen=True)
class PostgresKind:
    name: str = "POSTGRES"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        CONNECTION,
        TABLE,
        KEY,
        NEWEST,
        EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        require_key(options)

    def place(self, options: dict[str, Any]) -> str:
        return f"table {options['table']} in PostgreSQL"

    def open(self, given: Revealed, writer: Writer) -> Sink:
        need("postgres", "adbc_driver_postgresql.dbapi", by=f"STORAGE {self.name}")
        server = Server(given.values["connection"], given)
        return PostgresSink(server, SqlTable.of(given.values), writer)


@dataclass(frozen=True)
class Server:
    """`given` hides what is secret in the server's own words. `by`: what needs the server."""

    connection: str = field(repr=False)
    given: Revealed = field(repr=False)
    by: str = "STORAGE POSTGRES"

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor. All that it does counts at the end, or nothing."""
        from adbc_driver_manager import Error
        from adbc_driver_postgresql import dbapi

        try:
            with (
                closing(dbapi.connect(self.connection)) as connection,
                closing(connection.cursor()) as cursor,
            ):
                yield cursor
                connection.commit()
        except Error as error:
            raise self._said(error) from None

    def _said(self, error: Exception) -> DovetailError:
        text = " ".join(self.given.hide(error).split())
        said = re.sub(r"^\w+: |\[libpq\] |.*ERROR: | \. SQLSTATE: .*", "", text)[:300]
        state = getattr(error, "sqlstate", None) or ""
        if state.startswith(_GONE_STATES) if state else any(sign in text for sign in _GONE):
            return Unreachable(
                f"PostgreSQL cannot be reached: {said}",
                where=self.by,
                expected="a server that answers at the address of `connection`",
            )
        return PlaceError(
            f"PostgreSQL refuses: {said}",
            where=self.by,
            hint="check `connection`, and what its user may do",
        )


@dataclass(frozen=True)
class PostgresSink:
    server: Server
    table: SqlTable
    writer: Writer

    @property
    def place(self) -> str:
        return f"table {self.table.name} in PostgreSQL"

    @property
    def between(self) -> str:
        """The table that tasks write to. Names have at most 63 characters."""
        return f"dovetail_{hashlib.sha256(f'{self.writer} {self.table.name}'.encode()).hexdigest()[:24]}"

    def check(self, schema: pa.Schema) -> None:
        want = types(schema)
        with self.server.transaction() as cursor:
            have = self._columns(cursor)
            if have:
                self.table.require_columns(have, want, _WIDER, self.place)
                self._require_key(cursor)
            others = [row[0] for row in self._known(cursor, "writer", "target = $1", [self.table.name])]
        forget = f"its rows in {PROGRESS}"
        self.writer.require_alone(others, self.place, forget=forget)

    def prepare(self, schema: pa.Schema) -> None:
        self.check(schema)
        want = types(schema)
        with self.server.transaction() as cursor:
            have = self._columns(cursor)
            if not have:
                cursor.execute(self.table.create(want))
            for name, kind in want.items():
                if have and name not in have:
                    cursor.execute(f"ALTER TABLE {self.table.sql()} ADD COLUMN {quoted(name)} {kind}")
            cursor.execute(self.table.create_progress())
            between = self.table.sql(self.between)
            columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in want.items())
            cursor.execute(f"DROP TABLE IF EXISTS {between}")
            cursor.execute(f"CREATE UNLOGGED TABLE {between} ({_PART} text, {columns})")

    def output(self, schema: pa.Schema) -> PostgresRows:
        return PostgresRows(self.server, self.table.schema, self.between)

    def last(self) -> int:
        with self.server.transaction() as cursor:
            found = self._known(
                cursor, "batch", "writer = $1 AND target = $2", [str(self.writer), self.table.name]
            )
        return int(found[0][0]) if found else -1

    def commit(self, batch: int, written: Sequence[str]) -> None:
        parts = {part: (rows, columns) for part, rows, columns in map(json.loads, written)}
        columns = next(iter(parts.values()))[1]
        between = self.table.sql(self.between)
        with self.server.transaction() as cursor:
            cursor.execute(self.table.claim(), [str(self.writer), self.table.name, batch])
            if not cursor.fetchall():
                return
            cursor.execute(f"SELECT count(*) FROM {between} WHERE {_PART} = ANY($1)", [list(parts)])
            if cursor.fetchall()[0][0] != sum(rows for rows, _ in parts.values()):
                raise Unreachable(
                    f"PostgreSQL has lost rows of batch {batch} before they counted: it is written again",
                    where=self.place,
                )
            rows = f"{between} WHERE {_PART} = ANY($1)"
            cursor.execute(self.table.insert(columns, rows), [list(parts)])
        with suppress(DovetailError), self.server.transaction() as cursor:  # only to save room
            cursor.execute("SET LOCAL lock_timeout = '1s'")
            cursor.execute(f"TRUNCATE {between}")

    def _columns(self, cursor: Any) -> dict[str, str]:
        cursor.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
            [self.table.sql()],
        )
        return dict(cursor.fetchall())

    def _known(self, cursor: Any, what: str, where: str, values: list[Any]) -> list[Any]:
        cursor.execute("SELECT to_regclass($1) IS NOT NULL", [self.table.sql(PROGRESS)])
        if not cursor.fetchall()[0][0]:
            return []
        cursor.execute(f"SELECT {what} FROM {self.table.sql(PROGRESS)} WHERE {where}", values)
        return list(cursor.fetchall())

    def _require_key(self, cursor: Any) -> None:
        """An index that says that a key is there once: PostgreSQL replaces rows by no other."""
        if not self.table.key:
            return
        cursor.execute(
            "SELECT array_to_string(array_agg(a.attname ORDER BY a.attname), ',') FROM pg_index i "
            "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
            "WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL "
            "GROUP BY i.indexrelid",
            [self.table.sql()],
        )
        if ",".join(sorted(self.table.key)) not in [row[0] for row in cursor.fetchall()]:
            raise PlaceError(
                f"{self.place} has no unique index on {', '.join(self.table.key)}",
                where=self.place,
                hint=f"CREATE UNIQUE INDEX ON {self.table.sql()} ({listed(self.table.key)})",
            )


@dataclass(frozen=True)
class PostgresRows:
    """What a task does. Its rows are there under a name that only its text has."""

    server: Server
    schema: str | None
    table: str

    def write(self, rows: Iterable[pa.RecordBatch]) -> str | None:
        import pyarrow as pa

        part, count, columns = uuid.uuid4().hex, 0, []
        with self.server.transaction() as cursor:
            for batch in rows:
                if not batch.num_rows:
                    continue
                count, columns = count + batch.num_rows, batch.schema.names
                named = pa.repeat(pa.scalar(part), batch.num_rows)
                wide = batch.add_column(0, _PART, named)
                cursor.adbc_ingest(self.table, wide, mode="append", db_schema_name=self.schema)
        return json.dumps([part, count, columns]) if count else None


def types(schema: pa.Schema) -> dict[str, str]:
    """The columns of a table for these rows, as `format_type` calls them."""
    return {field.name: _type(field) for field in schema}


def _type(field: pa.Field) -> str:
    from pyarrow import types as kinds

    kind = field.type
    by_width = {8: "smallint", 16: "smallint", 32: "integer", 64: "bigint"}
    if kinds.is_signed_integer(kind):
        return by_width[kind.bit_width]
    if kinds.is_timestamp(kind):
        return "timestamp with time zone" if kind.tz else "timestamp without time zone"
    known = (
        (kinds.is_boolean, "boolean"),
        (kinds.is_float32, "real"),
        (kinds.is_float64, "double precision"),
        (kinds.is_string, "text"),
        (kinds.is_large_string, "text"),
        (kinds.is_binary, "bytea"),
        (kinds.is_large_binary, "bytea"),
        (kinds.is_date32, "date"),
        (kinds.is_decimal128, "numeric"),
    )
    for is_one, name in known:
        if is_one(kind):
            return name
    raise unsupported(field, "POSTGRES")
