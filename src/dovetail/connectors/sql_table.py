"""A table in a database, as SQL that PostgreSQL and DuckDB both speak.

Law: the row of `dovetail_progress` that names a writer's last batch changes in the same transaction as the
rows. A writer that finds its batch there already does nothing.

With a `key`, a row replaces the one that has its key. Of several rows in a batch the one with the largest
`newest` wins, and it replaces only a row that is not newer; without `newest`, one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.connectors.options import Option
from dovetail.errors import PlaceError, PlanError

if TYPE_CHECKING:
    import pyarrow as pa

PROGRESS = "dovetail_progress"
TABLE = Option("table", "text", "The table, with its schema if needed: `sales.clicks`.", required=True)
KEY = Option("key", "columns", "Replace rows that have the same values here. Default: rows are added.")
NEWEST = Option("newest", "columns", "With a key: the row with the larger value here wins.")


@dataclass(frozen=True)
class SqlTable:
    """`name` as the query writes it. Names of columns are kept as they are."""

    name: str
    key: tuple[str, ...] = ()
    newest: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> SqlTable:
        return cls(given["table"], tuple(given["key"] or ()), tuple(given["newest"] or ()))

    @property
    def schema(self) -> str | None:
        return self.name.rpartition(".")[0] or None

    @property
    def plain(self) -> str:
        return self.name.rpartition(".")[2]

    def sql(self, name: str | None = None) -> str:
        """This table, or another one beside it."""
        return ".".join(quoted(part) for part in (self.schema, name or self.plain) if part)

    def create(self, types: Mapping[str, str]) -> str:
        columns = [f"{quoted(name)} {kind}" for name, kind in types.items()]
        if self.key:
            columns.append(f"PRIMARY KEY ({listed(self.key)})")
        return f"CREATE TABLE {self.sql()} ({', '.join(columns)})"

    def create_progress(self) -> str:
        return (
            f"CREATE TABLE IF NOT EXISTS {self.sql(PROGRESS)} "
            "(writer TEXT, target TEXT, batch BIGINT NOT NULL, PRIMARY KEY (writer, target))"
        )

    def claim(self) -> str:
        """Parameters: writer, target, batch. Gives a row if the batch is new."""
        return (
            f"INSERT INTO {self.sql(PROGRESS)} AS known (writer, target, batch) VALUES ($1, $2, $3) "
            "ON CONFLICT (writer, target) DO UPDATE SET batch = excluded.batch "
            "WHERE known.batch < excluded.batch RETURNING batch"
        )

    def insert(self, columns: Sequence[str], rows: str) -> str:
        """Rows of a query, or of a table with what follows FROM, into this table."""
        names = listed(columns)
        if not self.key:
            return f"INSERT INTO {self.sql()} ({names}) SELECT {names} FROM {rows}"
        key = listed(self.key)
        order = "".join(f", {quoted(name)} DESC NULLS LAST" for name in self.newest)
        others = [quoted(name) for name in columns if name not in self.key]
        taken = ", ".join(f"{name} = excluded.{name}" for name in others)
        does = f"UPDATE SET {taken}" if taken else "NOTHING"
        mine, theirs = (
            ", ".join(f"{side}.{quoted(name)}" for name in self.newest) for side in ("excluded", "kept")
        )
        newer = f" WHERE ({mine}) >= ({theirs}) OR ({theirs}) IS NULL" if self.newest and taken else ""
        return (
            f"INSERT INTO {self.sql()} AS kept ({names}) SELECT DISTINCT ON ({key}) {names} FROM {rows} "
            f"ORDER BY {key}{order} ON CONFLICT ({key}) DO {does}{newer}"
        )

    def require_columns(
        self,
        have: Mapping[str, str],
        want: Mapping[str, str],
        wider: Mapping[str, tuple[str, ...]],
        place: str,
    ) -> None:
        """The columns that are there must take what comes: their own type, or one that is wider."""
        wrong = {
            name: (have[name], kind)
            for name, kind in want.items()
            if name in have and have[name] != kind and have[name] not in wider.get(kind, ())
        }
        if wrong:
            name, (found, kind) = next(iter(wrong.items()))
            raise PlaceError(
                f"column {name} of {place} has type {found}, and the query gives {kind}",
                where=place,
                expected=f"{name} {kind}",
                hint="CAST the column in the query, give it another name, or write to another table",
            )


def require_key(options: Mapping[str, Any]) -> None:
    if options["newest"] and not options["key"]:
        raise PlanError("`newest` says which row of a key wins, and there is no key", expected="key = ..")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def unsupported(field: pa.Field, storage: str) -> PlanError:
    return PlanError(
        f"STORAGE {storage} has no type for column {field.name}, which is {field.type}",
        expected="numbers, texts, bytes, booleans, dates and times",
        hint="turn it into text with to_json(..), or take its fields out into columns of their own",
    )
