"""Delta and Iceberg tables on S3, and how files are moved there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.connectors.table_folder import TableFolder, plain
from dovetail.errors import StateError, Unreachable
from dovetail_dev.s3_server import BUCKET, s3_server
from unit.connectors.places import DeltaPlace, IcebergPlace, Place, open_place, sorted_rows
from unit.connectors.test_sinks import SCHEMA, batch, written


def test_tables_on_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server(tmp_path) as server:
        for name, value in {**server.environment, "AWS_ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(name, value)
        delta, iceberg = DeltaPlace(tmp_path), IcebergPlace(tmp_path)
        delta.options["path"] = f"s3://{BUCKET}/delta"
        iceberg.options["warehouse"] = f"s3://{BUCKET}/lake"
        places: list[Place] = [delta, iceberg]
        for place in places:
            sink = open_place(place, partitioned_by=("day",))
            sink.check(SCHEMA)
            sink.prepare(SCHEMA)
            for number in (0, 1, 1):
                sink.commit(number, written(sink, batch(number)))
            assert sink.last() == 1
            assert sorted_rows(place.rows()) == sorted_rows(pa.concat_tables([batch(0), batch(1)]))


def test_files_that_are_moved_on_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 copies and then deletes: whoever dies in between leaves both."""
    with s3_server(tmp_path) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        folder = TableFolder(plain(f"s3a://{BUCKET}/warehouse/t/"), "a table")
        assert folder.url == f"s3://{BUCKET}/warehouse/t"
        assert folder.is_empty()
        folder.require_writable()
        for name in "abc":
            folder.replace(f"_hidden/{name}", name.encode())
        folder.sync(["_hidden/a"])
        assert not folder.is_empty()
        moves = [(f"_hidden/{name}", f"day=1/{name}") for name in "ab"]
        folder.move(moves)
        folder.replace("_hidden/b", b"b")  # as if it had not been deleted
        folder.move(moves)
        assert [folder.read(f"day=1/{name}") for name in "ab"] == [b"a", b"b"]
        assert folder.names("_hidden") == ["c"]
        with folder.alone("_hidden/lock"):
            folder.clear("_hidden")
        assert folder.names("_hidden") == []
        with pytest.raises(StateError, match=r"a file of a table is lost"):
            folder.move([("_hidden/c", "day=1/c")])
    with pytest.raises(Unreachable, match="the files of a table cannot be worked on"):
        folder.read("day=1/a")
