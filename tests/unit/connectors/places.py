"""Every kind of sink, each with its real server or library: how a test opens one, and what is there then."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from dovetail.connectors.kinds import open_sink
from dovetail.connectors.sink import Sink, Writer
from dovetail_dev.postgres_server import Postgres


class Place(Protocol):
    """`options` as a query would give them."""

    kind: str
    options: dict[str, Any]

    def rows(self) -> pa.Table: ...


def open_place(
    place: Place, checkpoint: str = "one", application: str = "app", home: str = "home", **more: Any
) -> Sink:
    options = place.options | more
    return open_sink(place.kind, options.items(), Writer(application, "pairs", checkpoint, home))


@dataclass
class PostgresPlace:
    server: Postgres
    kind: str = "POSTGRES"

    def __post_init__(self) -> None:
        self.options = {"connection": self.server.uri, "table": f"t_{uuid.uuid4().hex[:12]}"}

    def rows(self) -> pa.Table:
        return self.ask(f'SELECT * FROM "{self.options["table"]}"')

    def ask(self, sql: str) -> pa.Table:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.server.uri) as db, db.cursor() as cursor:
            cursor.execute(sql)
            found: pa.Table = cursor.fetch_arrow_table()
            db.commit()
            return found


@dataclass
class DuckdbPlace:
    folder: Path
    kind: str = "DUCKDB"

    def __post_init__(self) -> None:
        self.options = {"path": str(self.folder / "results.db"), "table": "pairs"}

    def rows(self) -> pa.Table:
        with duckdb.connect(self.options["path"], read_only=True) as db:
            return db.sql("FROM pairs").to_arrow_table()


@dataclass
class DeltaPlace:
    folder: Path
    kind: str = "DELTA"

    def __post_init__(self) -> None:
        self.options = {"path": str(self.folder / "delta")}

    def rows(self) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(self.options["path"]).to_pyarrow_table()

    def files(self) -> list[str]:
        from deltalake import DeltaTable

        return list(DeltaTable(self.options["path"]).file_uris())


@dataclass
class IcebergPlace:
    folder: Path
    kind: str = "ICEBERG"

    def __post_init__(self) -> None:
        self.options = {
            "table": "results.pairs",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": str(self.folder / "lake"),
        }

    def rows(self) -> pa.Table:
        found: pa.Table = self._scan().to_arrow()
        return found

    def files(self) -> list[str]:
        return [task.file.file_path for task in self._scan().plan_files()]

    def _scan(self) -> Any:
        from pyiceberg.catalog import load_catalog

        known = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
        there = {name: os.environ[variable] for name, variable in known.items() if variable in os.environ}
        catalog = load_catalog("dovetail", type="sql", uri=self.options["uri"], **there)
        return catalog.load_table("results.pairs").scan()


def sorted_rows(rows: pa.Table) -> list[Mapping[str, Any]]:
    return sorted(rows.to_pylist(), key=str)
