"""What is special about tables of Hive: files that are moved after the commit, partitions that a metastore
has to know, and tables of others."""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from dovetail.connectors.hive_types import arrow_type, hive_type
from dovetail.connectors.metastore import addresses_of
from dovetail.connectors.sinks.hive import HiveKind, HiveSink
from dovetail.connectors.table_folder import plain
from dovetail.errors import CorruptFile, PlaceError, PlanError, StateError, Unreachable
from dovetail_dev.hive_metastore import HiveMetastore
from dying import crash_everywhere
from unit.connectors.places import HivePlace, open_place, sorted_rows
from unit.connectors.test_sinks import SCHEMA, batch, written

BY_DAY = {"partitioned_by": ("day",)}
DAYS = ["day=1969-12-31", "day=2024-02-29", "day=__HIVE_DEFAULT_PARTITION__"]
ORDER = ["k", "word", "day"]
"""Hive has the columns of partitions last."""


@pytest.fixture
def place(tmp_path: Path, metastore: HiveMetastore) -> HivePlace:
    return HivePlace(tmp_path, metastore)


def expected(*numbers: int) -> Any:
    return sorted_rows(pa.concat_tables([batch(number) for number in numbers]).select(ORDER))


def test_partitions_are_in_the_metastore(place: HivePlace) -> None:
    sink = open_place(place, **BY_DAY)
    sink.check(SCHEMA)
    assert not place.path.exists(), "a check changes nothing"
    sink.prepare(SCHEMA)
    assert place.partitions() == []
    sink.commit(0, written(sink, batch(0)))
    assert place.partitions() == DAYS
    sink.commit(1, written(sink, batch(1)))
    assert place.partitions() == DAYS
    assert sorted_rows(place.rows()) == expected(0, 1)
    assert {os.path.dirname(file) for file in place.files()} == set(DAYS)
    with place.client() as client:
        table = client.get_table(*place.names)
        part = client.get_partition_by_name(*place.names, DAYS[1])
    assert (table.tableType, [key.name for key in table.partitionKeys]) == ("EXTERNAL_TABLE", ["day"])
    assert part.values == ["2024-02-29"]
    assert part.sd.location == f"file:{place.path}/{DAYS[1]}"


def test_a_crash_anywhere_in_a_commit(tmp_path: Path, metastore: HiveMetastore) -> None:
    """Whatever died when, the next run with the same batch ends with every row once."""
    places: dict[str, HivePlace] = {}

    def prepare(home: str) -> Any:
        places[home] = place = HivePlace(Path(home), metastore)
        sink = open_place(place, **BY_DAY)
        sink.prepare(SCHEMA)
        sink.commit(0, written(sink, batch(0)))
        return sink, written(sink, batch(1))

    def action(made: Any) -> None:
        sink, said = made
        sink.commit(1, said)

    def check(home: str) -> None:
        place = places[home]
        found = sorted_rows(place.rows())
        assert all(row in found for row in expected(0))
        assert all(row in expected(0, 1) for row in found)
        again = open_place(place, **BY_DAY)
        assert again.last() in (0, 1)
        again.prepare(SCHEMA)
        counts = again.last() == 1
        assert sorted_rows(place.rows()) == (expected(0, 1) if counts else expected(0))
        again.commit(1, written(again, batch(1)))
        assert sorted_rows(place.rows()) == expected(0, 1)
        assert again.last() == 1
        shutil.rmtree(home)

    points = crash_everywhere(tmp_path, prepare, action, check)
    assert points > 15


def test_a_crash_anywhere_while_the_next_run_finishes_a_batch(
    tmp_path: Path, metastore: HiveMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: dict[str, HivePlace] = {}

    def prepare(home: str) -> Any:
        places[home] = place = HivePlace(Path(home), metastore)
        sink = open_place(place, **BY_DAY)
        sink.prepare(SCHEMA)
        with monkeypatch.context() as patch:
            patch.setattr(HiveSink, "roll_forward", lambda *_: None)  # it died right after the commit
            sink.commit(0, written(sink, batch(0)))
        assert place.rows().num_rows == 0
        return open_place(place, **BY_DAY)

    def action(sink: Any) -> None:
        sink.prepare(SCHEMA)

    def check(home: str) -> None:
        open_place(places[home], **BY_DAY).prepare(SCHEMA)
        assert sorted_rows(places[home].rows()) == expected(0)
        shutil.rmtree(home)

    assert crash_everywhere(tmp_path, prepare, action, check) > 8


def test_files_are_such_as_old_hives_read(place: HivePlace) -> None:
    """Times in 96 bits, Snappy, and no columns of partitions."""
    at = pa.array([datetime.datetime(2024, 2, 29, 23, 59, 59, 999999)], pa.timestamp("us"))
    rows = pa.table({"at": at.cast(pa.timestamp("us", "UTC")), "day": pa.array([0], pa.date32())})
    sink = open_place(place, **BY_DAY)
    sink.prepare(rows.schema)
    sink.commit(0, written(sink, rows))
    (file,) = place.path.glob("day=1970-01-01/*.parquet")
    about = parquet.ParquetFile(file).metadata
    (column,) = [about.row_group(0).column(at) for at in range(about.num_columns)]
    assert (column.path_in_schema, column.physical_type, column.compression) == ("at", "INT96", "SNAPPY")
    assert place.rows().to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("call", ["get_partitions_by_names", "add_partitions_req"])
def test_a_metastore_that_goes_away_in_a_commit(
    place: HivePlace, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymetastore.hive_metastore.ThriftHiveMetastore import Client
    from thrift.transport.TTransport import TTransportException

    sink = open_place(place, **BY_DAY)
    sink.prepare(SCHEMA)
    said = written(sink, batch(0))

    def away(*_: Any) -> None:
        raise TTransportException(message="gone")

    with monkeypatch.context() as patch:
        patch.setattr(Client, call, away)
        with pytest.raises(Unreachable, match=r"metastore of Hive table .* cannot be reached: gone"):
            sink.commit(0, said)
    assert place.partitions() == []
    again = open_place(place, **BY_DAY)
    counted = call == "add_partitions_req"
    assert again.last() == (0 if counted else -1)
    again.prepare(SCHEMA)
    assert place.partitions() == (DAYS if counted else [])
    again.commit(0, written(again, batch(0)))
    assert sorted_rows(place.rows()) == expected(0)


def test_a_metastore_that_is_away(tmp_path: Path) -> None:
    server = HiveMetastore(tmp_path)
    sink = open_place(HivePlace(tmp_path, server))
    with pytest.raises(Unreachable, match=r"the metastore of Hive table .* cannot be reached") as said:
        sink.check(SCHEMA)
    assert server.uri in str(said.value)
    with pytest.raises(Unreachable):
        sink.last()


def test_one_of_several_metastores_answers(tmp_path: Path, metastore: HiveMetastore) -> None:
    place = HivePlace(tmp_path, metastore)
    place.options["uri"] = f"{HiveMetastore(tmp_path).uri},{metastore.uri}"
    sink = open_place(place)
    sink.prepare(SCHEMA)
    assert sink.last() == -1


def test_a_partition_that_was_dropped_stays_so(place: HivePlace) -> None:
    sink = open_place(place, **BY_DAY)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    with place.client() as client:
        client.drop_partition_by_name(*place.names, DAYS[1], False)
    shutil.rmtree(place.path / DAYS[1])
    again = open_place(place, **BY_DAY)
    again.prepare(SCHEMA)
    again.commit(0, written(again, batch(0)))
    assert place.partitions() == [DAYS[0], DAYS[2]]


def test_new_columns_reach_old_partitions(place: HivePlace) -> None:
    sink = open_place(place, **BY_DAY)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    more = batch(1).append_column("More", pa.array([[1], None, [], [2, 3]], pa.list_(pa.int32())))
    changed = open_place(place, **BY_DAY)
    changed.prepare(more.schema)
    changed.commit(1, written(changed, more))
    with place.client() as client:
        parts = client.get_partitions(*place.names, -1)
    assert {tuple((one.name, one.type) for one in part.sd.cols) for part in parts} == {
        (("k", "bigint"), ("word", "string"), ("more", "array<int>"))
    }
    open_place(place, **BY_DAY).check(SCHEMA)


def test_the_metastore_finds_a_folder(place: HivePlace, metastore: HiveMetastore) -> None:
    del place.options["path"]
    sink = open_place(place, table=place.options["table"].upper())
    sink.check(SCHEMA)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    assert sorted_rows(place.rows()) == sorted_rows(batch(0))
    assert (metastore.warehouse / f"{place.database}.db/pairs").is_dir()


def test_a_partition_that_is_elsewhere_keeps_its_folder(place: HivePlace) -> None:
    """Rows go where the metastore says that the partition is, as long as that is in the table."""
    sink = open_place(place, **BY_DAY)
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, batch(0)))
    (place.path / "moved").mkdir()

    def relocate(where: Path) -> None:
        with place.client() as client:
            part = client.get_partition_by_name(*place.names, DAYS[1])
            part.sd.location = f"file:{where}"
            client.alter_partition(*place.names, part)

    relocate(place.path / "moved")
    sink.commit(1, written(sink, batch(1)))
    assert any((place.path / "moved").iterdir())
    relocate(place.folder / "outside")
    with pytest.raises(PlaceError, match=r"a partition of Hive table .* is elsewhere"):
        sink.commit(2, written(sink, batch(2)))
    assert sink.last() == 1, "it did not count"


def _text(table: Any) -> None:
    table.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"


def _iceberg(table: Any) -> None:
    table.parameters["table_type"] = "ICEBERG"


def _bucketed(table: Any) -> None:
    table.sd.bucketCols, table.sd.numBuckets = ["k"], 4


def _view(table: Any) -> None:
    table.tableType = "VIRTUAL_VIEW"


def _varchar(table: Any) -> None:
    table.sd.cols[-1].type = "varchar(10)"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_text, "is not stored as Parquet, but as TextInputFormat"),
        (_iceberg, "is an Iceberg table"),
        (_bucketed, "is bucketed"),
        (_view, "is a view"),
        (_varchar, "has type varchar"),
    ],
)
def test_tables_of_other_kinds_are_refused(
    place: HivePlace, change: Callable[[Any], None], says: str
) -> None:
    open_place(place).prepare(SCHEMA)
    with place.client() as client:
        table = client.get_table(*place.names)
        client.drop_table(*place.names, False)
        change(table)
        client.create_table(table)
    with pytest.raises(PlaceError, match=says):
        open_place(place).check(SCHEMA)


def test_a_folder_of_others_is_refused(place: HivePlace) -> None:
    place.path.mkdir()
    (place.path / "a.parquet").touch()
    with pytest.raises(PlaceError, match="has files, and the metastore knows no such table"):
        open_place(place).check(SCHEMA)
    place.path.joinpath("a.parquet").unlink()
    open_place(place).prepare(SCHEMA)
    with pytest.raises(PlaceError, match="is elsewhere"):
        open_place(place, path=str(place.folder / "other")).check(SCHEMA)
    with pytest.raises(PlanError, match="differ in upper and lower case only"):
        open_place(place).check(pa.schema([("k", pa.int64()), ("K", pa.int64())]))


def test_a_file_that_is_lost_and_a_document_that_is_damaged(
    place: HivePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = open_place(place)
    sink.prepare(SCHEMA)
    said = written(sink, batch(0))
    with monkeypatch.context() as patch:
        patch.setattr(HiveSink, "roll_forward", lambda *_: None)
        sink.commit(0, said)
    (staged,) = place.path.glob("_dovetail/staged/*/*.parquet")
    kept = staged.read_bytes()
    staged.unlink()
    with pytest.raises(StateError, match=r"a file of .* is lost"):
        open_place(place).prepare(SCHEMA)
    staged.write_bytes(kept)
    open_place(place).prepare(SCHEMA)
    assert sorted_rows(place.rows()) == sorted_rows(batch(0))
    (note,) = place.path.glob("_dovetail/writers/*.json")
    whole = note.read_bytes()
    assert json.loads(whole)["format"] == "dovetail.hive_writer"
    for damaged in (whole[:-9], whole.replace(b'"batch":0', b'"batch":7'), b""):
        note.write_bytes(damaged)
        for use in (lambda: sink.check(SCHEMA), sink.last, lambda: sink.commit(1, [])):
            with pytest.raises(CorruptFile):
                use()


@pytest.mark.parametrize(
    ("location", "opened"),
    [
        ("file:/w/a b#c?d%20", "/w/a b#c?d%20"),
        ("file:///w/t/", "/w/t"),
        ("file://localhost/w/t", "/w/t"),
        ("/w/../w/t", "/w/t"),
        ("a:b", os.path.abspath("a:b")),
        ("s3a://bucket/w/t/", "s3://bucket/w/t"),
        ("s3n://bucket", "s3://bucket"),
        ("hdfs://name:8020/w", "hdfs://name:8020/w"),
    ],
)
def test_locations_as_they_are_opened(location: str, opened: str) -> None:
    assert plain(location) == opened


def test_types_there_and_back() -> None:
    plain = [pa.int8(), pa.int64(), pa.float32(), pa.bool_(), pa.date32(), pa.string(), pa.binary()]
    for kind in (*plain, pa.decimal128(12, 3), pa.timestamp("us", "UTC")):
        assert arrow_type(hive_type(kind)) == kind
    nested = pa.struct([("A", pa.list_(pa.int32())), ("b", pa.map_(pa.string(), pa.float64()))])
    assert hive_type(nested) == "struct<a:array<int>,b:map<string,double>>"
    assert arrow_type("array<int>") is None
    with pytest.raises(PlanError, match="Hive has no type for"):
        hive_type(pa.duration("s"))


@pytest.mark.parametrize("uri", ["http://x:1", "thrift://", "thrift://x:port", "thrift://a:1,b:2", ""])
def test_what_is_no_metastore(uri: str) -> None:
    with pytest.raises(PlanError, match="names no metastore"):
        addresses_of(uri)
    with pytest.raises(PlanError, match="names no table of Hive"):
        HiveKind().validate({"table": "pairs", "uri": "thrift://a"})
