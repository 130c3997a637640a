"""STORAGE ICEBERG and FROM ICEBERG in catalogs that are servers: Hive's metastore and a REST catalog."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.connectors.kinds import open_sink
from dovetail.connectors.lake_kinds import open_lake
from dovetail.connectors.sink import Writer
from dovetail.errors import InputError, PlaceError, Unreachable
from dovetail_dev.hive_metastore import HiveMetastore
from dovetail_dev.iceberg_rest import iceberg_rest
from dovetail_dev.ports import free_port
from unit.connectors.places import sorted_rows
from unit.connectors.test_sinks import SCHEMA, batch, written

WRITER = Writer("app", "pairs", "one", "home")
BY_DAY = {"partitioned_by": ("day",)}


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with iceberg_rest(tmp_path_factory.mktemp("rest")) as address:
        yield address


@pytest.fixture(params=["hive", "rest"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Its options, with a namespace for this test alone."""
    named = {"table": f"d_{uuid.uuid4().hex[:12]}.lake", "catalog": request.param}
    if request.param == "rest":
        return named | {"uri": request.getfixturevalue("rest")}
    return named | {"uri": request.getfixturevalue("metastore").uri, "warehouse": str(tmp_path / "lake")}


def test_rows_are_written_once_and_read(catalog: dict[str, Any]) -> None:
    sink = open_sink("ICEBERG", [*catalog.items(), *BY_DAY.items()], WRITER)
    sink.check(SCHEMA)
    assert sink.last() == -1
    sink.prepare(SCHEMA)
    for number in (0, 1, 1):
        sink.commit(number, written(sink, batch(number)))
    again = open_sink("ICEBERG", [*catalog.items(), *BY_DAY.items()], WRITER)
    more = SCHEMA.append(pa.field("more", pa.int32()))
    again.prepare(more)
    again.commit(1, written(again, batch(1)))
    again.commit(2, written(again, batch(2)))
    assert again.last() == 2
    lake = open_lake("ICEBERG", catalog.items())
    assert lake.about().schema.names == more.names
    found = [lake.read(file, SCHEMA.names) for added in lake.changes(None) for file in added.files]
    assert sorted_rows(pa.concat_tables(found)) == sorted_rows(
        pa.concat_tables([batch(number) for number in range(3)])
    )


def test_a_table_that_is_missing_and_a_server_that_is_away(catalog: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="there is no Iceberg table"):
        open_lake("ICEBERG", catalog.items()).about()
    scheme = catalog["uri"].partition("://")[0]
    away = catalog | {"uri": f"{scheme}://127.0.0.1:{free_port()}"}
    with pytest.raises(Unreachable, match="cannot be reached"):
        open_sink("ICEBERG", away.items(), WRITER).check(SCHEMA)


def test_a_warehouse_in_hives_catalog(metastore: HiveMetastore, tmp_path: Path) -> None:
    """New databases are there; and STORAGE HIVE does not write into a table of Iceberg."""
    hive = {"table": f"d_{uuid.uuid4().hex[:12]}.lake", "uri": metastore.uri}
    options = hive | {"catalog": "hive", "warehouse": str(tmp_path / "lake")}
    sink = open_sink("ICEBERG", options.items(), WRITER)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    assert any((tmp_path / "lake").glob("d_*.db/lake/data/*.parquet"))
    with pytest.raises(PlaceError, match="is an Iceberg table, for STORAGE ICEBERG"):
        open_sink("HIVE", hive.items(), WRITER).check(SCHEMA)
