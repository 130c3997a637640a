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
from pyarrow import dataset

from dovetail.connectors.hive_types import arrow_type
from dovetail.connectors.kinds import open_sink
from dovetail.connectors.metastore import Metastore
from dovetail.connectors.sink import Sink, Writer
from dovetail_dev.hive_metastore import HiveMetastore
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

    def rows(self, **which: Any) -> pa.Table:
        found: pa.Table = self._scan(**which).to_arrow()
        return found

    def files(self) -> list[str]:
        return [task.file.file_path for task in self._scan().plan_files()]

    def _scan(self, **which: Any) -> Any:
        from pyiceberg.catalog import load_catalog

        known = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
        there = {name: os.environ[variable] for name, variable in known.items() if variable in os.environ}
        catalog = load_catalog("dovetail", type="sql", uri=self.options["uri"], **there)
        return catalog.load_table("results.pairs").scan(**which)


@dataclass
class HivePlace:
    """Each in a database of its own, with its folder here. `rows` reads as Hive does: files of the partitions
    that the metastore knows, but no names that begin with `_` or `.`."""

    folder: Path
    server: HiveMetastore
    kind: str = "HIVE"

    def __post_init__(self) -> None:
        self.path = self.folder / "hive"
        self.database = f"d_{uuid.uuid4().hex[:12]}"
        self.options = {
            "table": f"{self.database}.pairs",
            "uri": self.server.uri,
            "path": str(self.path),
        }

    def rows(self) -> pa.Table:
        with self.client() as client:
            table = client.get_table(*self.names)
            keys = table.partitionKeys
            found = client.get_partitions(*self.names, -1) if keys else []
        read = [self._read(part.sd, keys, part.values) for part in found] if keys else [self._read(table.sd)]
        return pa.concat_tables(read) if read else pa.table({})

    def partitions(self) -> list[str]:
        with self.client() as client:
            names: list[str] = client.get_partition_names(*self.names, -1)
            return sorted(names)

    def files(self) -> list[str]:
        return [
            str(file.relative_to(self.path))
            for file in self.path.rglob("*.parquet")
            if "_dovetail" not in file.parts
        ]

    def client(self) -> Any:
        return Metastore(self.options["uri"], "the tests' table").client()

    @property
    def names(self) -> list[str]:
        return str(self.options["table"]).split(".")

    @staticmethod
    def _read(sd: Any, keys: Any = (), values: Any = ()) -> pa.Table:
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in sd.cols])
        old_times = dataset.ParquetReadOptions(coerce_int96_timestamp_unit="us")
        form = dataset.ParquetFileFormat(read_options=old_times)
        folder = dataset.dataset(sd.location.removeprefix("file:"), schema=schema, format=form)
        names = ["/".join(Path(file).parts) for file in folder.files]
        assert not any("/_" in name or "/." in name for name in names), "the reader passes over these"
        table = folder.to_table()
        for key, value in zip(keys, values, strict=True):
            said = None if value == "__HIVE_DEFAULT_PARTITION__" else value
            column = pa.repeat(pa.scalar(said, pa.string()), table.num_rows).cast(arrow_type(key.type))
            table = table.append_column(key.name, column)
        return table


def sorted_rows(rows: pa.Table) -> list[Mapping[str, Any]]:
    return sorted(rows.to_pylist(), key=str)
