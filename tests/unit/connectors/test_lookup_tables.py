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
from pyarrow import fs
from pyiceberg.catalog import load_catalog

from dovetail.connectors.lookup_kinds import LOOKUPS, open_table
from dovetail.connectors.lookup_table import LookupTable
from dovetail.connectors.secret import Revealed
from dovetail.connectors.sinks.postgres import Server
from dovetail.connectors.tables.parquet import ParquetTable
from dovetail.errors import DovetailError, InputError, PlaceError, Unreachable
from dovetail_dev.door import door_to
from dovetail_dev.postgres_server import Postgres
from dovetail_dev.s3_server import BUCKET, S3, s3_server
from unit.connectors.places import IcebergPlace, PostgresPlace

ROWS = pa.table({"id": [1, 2], "name": ["one", "two"]})
MORE = pa.table({"id": [3], "name": ["three"]})


class Written:
    """A table of one kind that the test fills. `put` adds rows."""

    def __init__(self, kind: str, folder: Path, server: Postgres) -> None:
        self.kind, self.folder, self.server, self.parts = kind, folder, server, 0
        self.path = str(folder / "users")
        self.postgres, self.iceberg = PostgresPlace(server), IcebergPlace(folder)
        self.options: dict[str, Any] = {
            "PARQUET": {"path": self.path},
            "DELTA": {"path": self.path},
            "ICEBERG": self.iceberg.options,
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
            case "ICEBERG":
                there = {"uri": self.options["uri"], "warehouse": f"file://{self.options['warehouse']}"}
                catalog = load_catalog("dovetail", type="sql", **there)
                catalog.create_namespace_if_not_exists("results")
                catalog.create_table_if_not_exists("results.pairs", rows.schema).append(rows)
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
    if table.kind in ("DELTA", "ICEBERG"):
        assert pa.Table.from_batches(opened.batches(["id"], before)).num_rows == 2, "as of that version"


def test_a_column_that_is_not_there(table: Written) -> None:
    with pytest.raises(DovetailError, match="age"):
        read(table.open(), "id", "age")


def test_a_table_that_is_not_there(table: Written) -> None:
    missing = {"POSTGRES": "table", "ICEBERG": "table"}.get(table.kind, "path")
    words = {
        "PARQUET": "there are no Parquet files",
        "DELTA": "there is no Delta table",
        "ICEBERG": "there is no Iceberg table",
        "DUCKDB": "the database does not exist",
        "POSTGRES": 'relation "nowhere" does not exist',
    }
    with pytest.raises(DovetailError, match=words[table.kind]):
        read(table.open(**{missing: "nowhere" if table.kind != "ICEBERG" else "results.nowhere"}), "id")


def test_an_iceberg_table_that_nobody_has_written_to_and_a_column_that_came_later(tmp_path: Path) -> None:
    place = IcebergPlace(tmp_path)
    there = {"uri": place.options["uri"], "warehouse": f"file://{place.options['warehouse']}"}
    catalog = load_catalog("dovetail", type="sql", **there)
    catalog.create_namespace("results")
    table = catalog.create_table("results.pairs", ROWS.schema)
    opened = open_table("ICEBERG", place.options.items())
    assert list(opened.batches(["id"], opened.version())) == []
    table.append(ROWS)
    version = opened.version()
    with table.update_schema() as change:
        change.union_by_name(pa.schema([*ROWS.schema, ("age", pa.int32())]))
    found = pa.Table.from_batches(opened.batches(["age", "id"], version)).sort_by("id")
    assert found.select(["id", "age"]).to_pylist() == [{"id": 1, "age": None}, {"id": 2, "age": None}]
    table.delete("id = 1")
    assert read(opened, "id") == [(2,)]


def test_parquet_files_of_several_schemas(tmp_path: Path) -> None:
    """The first file, by name, has fewer columns and a narrower type."""
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    wide = pa.table({"name": ["two"], "id": pa.array([1 << 40], pa.int64())})
    pq.write_table(wide, tmp_path / "b.parquet")
    opened = open_table("PARQUET", {"path": str(tmp_path)}.items())
    rows = pa.Table.from_batches(opened.batches(["id", "name"], opened.version()))
    assert sorted(rows.to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "name": None},
        {"id": 1 << 40, "name": "two"},
    ]
    pq.write_table(pa.table({"id": ["a text"]}), tmp_path / "c.parquet")
    with pytest.raises(InputError, match="cannot be read"):
        read(opened, "id")


def test_parquet_files_that_are_replaced_while_they_are_read(tmp_path: Path) -> None:
    """They are read again, as they are then. A file that is damaged is an error."""
    for name in ("a", "b"):
        pq.write_table(ROWS, tmp_path / f"{name}.parquet")
    opened = open_table("PARQUET", {"path": str(tmp_path)}.items())

    class Replacing(ParquetTable):
        def _files(self) -> Any:
            found = super()._files()
            (tmp_path / "a.parquet").unlink(missing_ok=True)
            return found

    with pytest.raises(Unreachable, match="changed while they were read"):
        list(Replacing(str(tmp_path)).batches(["id"], None))
    assert read(opened, "id") == [(1,), (2,)]
    (tmp_path / "c.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="cannot be read"):
        read(opened, "id")


def test_parquet_files_on_s3_that_are_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server(tmp_path) as server, door_to(server.port) as door:
        for name, value in S3(door.port).environment.items():
            monkeypatch.setenv(name, value)
        place = f"s3://{BUCKET}/users"
        filesystem, folder = fs.FileSystem.from_uri(place)
        filesystem.create_dir(folder)
        pq.write_table(ROWS, f"{folder}/a.parquet", filesystem=filesystem)
        opened = open_table("PARQUET", {"path": place}.items())
        version = opened.version()
        door.shut()
        with pytest.raises(Unreachable, match=r"Parquet files .* cannot be reached"):
            opened.version()
        with pytest.raises(Unreachable, match=r"Parquet files .* cannot be reached"):
            list(opened.batches(["id"], version))
        door.open()
        assert read(opened, "id") == [(1,), (2,)]


def test_a_server_that_is_away(tmp_path: Path) -> None:
    away = {"connection": "postgresql://user:word@localhost:1/db", "table": "users"}
    with pytest.raises(Unreachable, match="PostgreSQL cannot be reached") as refused:
        read(open_table("POSTGRES", away.items()), "id")
    assert refused.value.where == "FROM POSTGRES"


@pytest.mark.parametrize(
    ("state", "away"),
    [("57P01", True), ("08006", True), ("40001", True), ("53300", True), ("42501", False), ("57014", False)],
)
def test_a_server_that_speaks_another_language(postgres: Postgres, state: str, away: bool) -> None:
    """What it means is its SQLSTATE."""
    raised = (
        f"DO $$ BEGIN RAISE EXCEPTION 'Connection refused wird beendet' USING ERRCODE = '{state}'; END $$"
    )
    if away:
        raised = raised.replace("Connection refused ", "")
    server = Server(postgres.uri, Revealed({}), "STORAGE POSTGRES")
    with (
        pytest.raises(Unreachable if away else PlaceError, match="wird beendet"),
        server.transaction() as cursor,
    ):
        cursor.execute(raised)
