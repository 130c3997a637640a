"""`STORAGE JDBC`: a database by its JDBC address.

To write every row once, a sink has to know the transactions and the bulk load of its database. So the address
is translated, and Java's driver is not used: `jdbc:postgresql://` is `STORAGE POSTGRES`. Other databases are
refused, with what can be written instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from dovetail.connectors.options import EVERY, Option
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sink import Sink, Writer
from dovetail.connectors.sinks.postgres import PostgresKind
from dovetail.connectors.sql_table import KEY, NEWEST, TABLE, require_key
from dovetail.errors import PlanError

_POSTGRES = re.compile(r"jdbc:postgresql:(//)?(.*)", re.DOTALL)
_AS_LIBPQ_SAYS = {
    "ssl": "sslmode",
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
}


@dataclass(frozen=True)
class JdbcKind:
    name: str = "JDBC"
    one_machine: bool = False
    options: tuple[Option, ...] = (
        Option(
            "url", "text", "The database: `jdbc:postgresql://host:5432/database`.", required=True, secret=True
        ),
        TABLE,
        Option("user", "text", "Name of the user."),
        Option("password", "secret", "The user's password.", secret=True),
        KEY,
        NEWEST,
        EVERY,
    )

    def validate(self, options: dict[str, Any]) -> None:
        require_key(options)
        if isinstance(options["url"], str):  # else it is a secret, and nobody knows before the start
            _require_known(options["url"])

    def place(self, options: dict[str, Any]) -> str:
        return PostgresKind().place(options)

    def open(self, given: Revealed, writer: Writer) -> Sink:
        values = dict(given.values)
        values["connection"] = connection(values["url"], values["user"], values["password"])
        hidden = {*given.hidden, *(quote(one, safe="") for one in given.hidden)}
        return PostgresKind().open(Revealed(values, tuple(sorted(hidden, key=len, reverse=True))), writer)


def connection(url: str, user: str | None = None, password: str | None = None) -> str:
    """An address as libpq reads it."""
    _require_known(url)
    found = _POSTGRES.fullmatch(url)
    assert found is not None
    place, _, asked = found[2].partition("?")
    place = place if found[1] else f"/{place}"  # `jdbc:postgresql:database` is on this machine
    given = {_AS_LIBPQ_SAYS.get(name, name): value for name, value in parse_qsl(asked)}
    if given.get("sslmode") in ("true", "false"):
        given["sslmode"] = "verify-full" if given["sslmode"] == "true" else "disable"
    given |= {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    return f"postgresql://{place}{'?' if given else ''}{urlencode(given, quote_via=quote)}"


def _require_known(url: str) -> None:
    if not _POSTGRES.fullmatch(url):
        kind = ":".join(url.split(":")[:2])[:40]
        raise PlanError(
            f"STORAGE JDBC does not know how to write every row once to `{kind}`",
            expected="jdbc:postgresql://host:5432/database",
            hint="let the database read Parquet files, a Kafka topic or an Iceberg table, "
            "or write to it with a sink of your own: docs/how-to/sinks.md",
        )
